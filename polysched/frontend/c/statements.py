"""From C statements to those of the loop IR.

    for (int i = 0; i < n; i++) {              for i in 0..n:
        int k = i + 1;                 ->          A[i + 1] = A[i + 1] + f64(i32(i))
        A[k] += i;
    }

An integer that is set once, to a sum of loop variables and parameters, is replaced by it, so that subscripts stay
affine. Other scalars of the region become temporaries.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import replace

from clang.cindex import CursorKind, StorageClass

from polysched.errors import InputError, Loc
from polysched.frontend.c.expressions import Expressions
from polysched.frontend.c.file.clang import (
    Node,
    bare,
    children,
    constant,
    has_attributes,
    initialiser,
    is_integer,
    operator,
    stripped,
    unary_operator,
)
from polysched.frontend.c.file.heads import Head, Start, head_of
from polysched.frontend.c.file.names import Decl, key, variable
from polysched.frontend.c.flow.exits import (
    JUMPS,
    Exits,
    always_jumps,
    breaks,
    continues,
    flag_is_set,
    jumps,
    returns,
    without,
)
from polysched.frontend.c.flow.finals import final_value
from polysched.frontend.c.flow.inline import calls_of, inlined
from polysched.frontend.c.flow.steps import steps_in
from polysched.frontend.c.loops import no_range, range_of
from polysched.frontend.c.opaque.attempts import restore, saved
from polysched.frontend.c.opaque.endless import endless, parts_of
from polysched.frontend.c.opaque.state import Endless
from polysched.frontend.c.opaque.statements import condition as opaque_condition
from polysched.frontend.c.opaque.statements import declaration as opaque_declaration
from polysched.frontend.c.opaque.statements import statement as opaque_statement
from polysched.frontend.c.types import arithmetic, converted, dtype_of, promoted
from polysched.frontend.c.variables import is_array, is_pointer
from polysched.ir.build import conjunction
from polysched.ir.dtypes import boolean, i64
from polysched.ir.effects import may_change
from polysched.ir.node import stored, substitute
from polysched.ir.node import walk as walk_ir
from polysched.ir.nodes import (
    COMPARISONS,
    Alloc,
    Array,
    Binary,
    Call,
    Const,
    Expr,
    For,
    If,
    Load,
    Stmt,
    Store,
    Unary,
    Var,
)
from polysched.ir.text import show
from polysched.model.affine import NotAffine

_MOST_CHAINED = 128  # every type holds less


class Statements:

    def __init__(self, read: Expressions, regions: tuple[Node, ...] = ()):
        self.regions = regions  # all that is read, functions that are taken in as well
        self.read, self.source, self.variables = read, read.source, read.variables
        self.exits = Exits()
        self.inside: list[str] = []  # the functions that are being taken in

    def block(self, nodes: Iterable[Node]) -> tuple[Stmt, ...]:
        """The statements in order; what follows a jump is done where none was taken."""
        nodes = list(nodes)
        for k, node in enumerate(nodes):
            if jumps(node):
                before = tuple(stmt for each in nodes[:k] for stmt in self.statement(each))
                return (*before, *self.with_jump(node, nodes[k + 1 :]))
        return tuple(stmt for node in nodes for stmt in self.statement(node))

    def with_jump(self, node: Node, rest: list[Node]) -> tuple[Stmt, ...]:
        """A statement that may jump, and what follows it."""
        if node.kind == CursorKind.COMPOUND_STMT:
            return self.block((*children(node), *rest))
        if node.kind == CursorKind.IF_STMT:
            test, then, *other = children(node)
            if always_jumps(then):
                return (*self.hoisted(node), *self.branch_of(node, test, [then], [*other, *rest]))
            if other and always_jumps(other[0]):
                return (*self.hoisted(node), *self.branch_of(node, test, [then, *rest], other))
        if always_jumps(node):
            return self.statement(node)  # nothing comes to the rest
        before, self.exits.left = self.exits.left, []
        done = self.statement(node)
        left, self.exits.left = list(dict.fromkeys(self.exits.left)), before
        self.exits.left += left
        if not rest or not left:
            return (*done, *self.block(rest))
        cond = conjunction(map(flag_is_set, left))
        with self.read.given(cond):
            after = self.block(rest)
        return (*done, If(cond, after, (), self.source.loc(rest[0]))) if after else done

    def jump(self, node: Node) -> tuple[Stmt, ...]:
        """What it leaves behind, and the flag that ends what it guards."""
        loc, exits, before = self.source.loc(node), self.exits, tuple[Stmt, ...]()
        match node.kind:
            case CursorKind.BREAK_STMT:
                what, flag, before = "break", exits.going, exits.final
            case CursorKind.CONTINUE_STMT:
                what, flag = "continue", exits.on
            case _:
                what, flag = "return", exits.back
                if flag and exits.result and (value := children(node)):
                    before = self.hoisted(value[0])
                    before = (*before, Store(exits.result, (), self.read.value(value[0]), loc))
        if flag is None:
            hint = "put the pragmas around less, or around that loop"
            raise self.source.error(node, f"{what} leaves the region", hint)
        exits.left.append(flag)
        return (*before, Store(flag, (), Const(False, boolean), loc))

    def statement(self, node: Node) -> tuple[Stmt, ...]:
        """The statement; where the region may have such, its own text if it is no nest."""
        if self.read.opaque is None or self.inside:
            return self.read_statement(node)
        before = saved(self)
        try:
            return self.read_statement(node)
        except InputError as why:
            if node.hash in self.read.opaque.whole - self.read.opaque.endless:
                raise Endless(node) from why
            if node.hash in self.read.opaque.whole or node.kind == CursorKind.DECL_STMT:
                raise
            restore(self, before)
            return opaque_statement(self.read, node, why)

    def read_statement(self, node: Node) -> tuple[Stmt, ...]:
        """The statement, and before it what the functions do that it calls."""
        if node.kind == CursorKind.IF_STMT:
            return (*self.hoisted(node), *self.plain(node))
        before, after = self.stepped(node, is_value=False) if node.kind.is_expression() else ((), ())
        called = self.hoisted(node)
        done = () if called and self.is_call(node) else self.plain(node)
        return (*before, *called, *done, *after)

    def stepped(self, node: Node, *, is_value: bool = True) -> tuple[tuple[Stmt, ...], tuple[Stmt, ...]]:
        """What is done before and after an expression for the variables that it steps."""
        before, after = list[Stmt](), list[Stmt]()
        for step in steps_in(self.read, node, is_value=is_value):
            (target,), is_after = children(step), unary_operator(step).startswith("post")
            (after if is_after else before).append(self.update(step, target, None, unary_operator(step)[-1]))
            self.read.results[step.hash] = self.read.value(target)
        return tuple(before), tuple(after)

    def plain(self, node: Node) -> tuple[Stmt, ...]:
        match node.kind:
            case CursorKind.COMPOUND_STMT:
                return self.block(children(node))
            case CursorKind.NULL_STMT:
                return ()
            case CursorKind.DECL_STMT:
                return tuple(stmt for decl in children(node) for stmt in self.declaration(decl))
            case CursorKind.FOR_STMT:
                return self.loop(node)
            case CursorKind.IF_STMT:
                return self.branch(node)
            case CursorKind.PAREN_EXPR:
                return self.statement(bare(node))
            case kind if kind in JUMPS:
                return self.jump(node)
        if operator(node) == ",":
            return self.block(children(node))
        if operator(node) == "=":
            return self.assignment(node)
        if node.kind == CursorKind.COMPOUND_ASSIGNMENT_OPERATOR:
            target, operand = children(node)
            return (self.update(node, target, operand, operator(node)[:-1]),)
        if unary_operator(node)[-2:] in ("++", "--"):
            (target,) = children(node)
            return (self.update(node, target, None, unary_operator(node)[-1]),)
        raise self.refused(node)

    def hoisted(self, node: Node) -> tuple[Stmt, ...]:
        """What the functions do that a statement calls at once, where their text is taken in (`flow/inline.py`)."""
        called = [inlined(self, call, node) for call in calls_of(self.read, node)]
        if len(called) > 1 and any(self.read.outside in stored(each) for each in called):
            message = "a statement calls several functions, and C does not say which comes first"
            raise self.source.error(node, message, "assign what one returns to a variable")
        return tuple(stmt for each in called for stmt in each)

    def is_call(self, node: Node) -> bool:
        """Is it a call alone, whose value nobody uses?"""
        return stripped(node).hash in self.read.results

    def assignment(self, node: Node) -> tuple[Stmt, ...]:
        """`a = e`; for `a = b = e`, `b = e` first: its value is what b then holds."""
        target, value = children(node)
        self.check_target(target)
        inner = stripped(value)
        if not operator(inner).endswith("=") or operator(inner) in COMPARISONS:
            return (self.store(node, target, self.read.value(value)),)
        before = self.plain(inner)
        held = self.read.value(children(inner)[0])
        return (*before, self.store(node, target, converted(held, self.read.dtype(value))))

    def update(self, node: Node, target: Node, operand: Node | None, op: str) -> Stmt:
        """`a op= b`, or a++ and a-- without b: clang has converted b to the type that C computes in, but for shifts."""
        self.check_target(target)
        before = self.read.value(target)
        dtype = promoted(before.dtype)
        if operand is None:
            value = converted(Const(1), dtype)
        else:
            value = self.read.value(operand)
            dtype = dtype if op in ("<<", ">>") else value.dtype
        after = arithmetic(op, converted(before, dtype), value)
        return self.store(node, target, converted(after, before.dtype))

    def store(self, node: Node, target: Node, value: Expr) -> Stmt:
        decl, loc = variable(target), self.source.loc(node)
        if decl is None:
            array, index = self.read.element(target)
            return Store(array.name, index, value, loc)
        return Store(self.read.scalar(decl, self.read.dtype(target)).name, (), value, loc)

    def check_target(self, target: Node) -> None:
        """InputError for a variable that a region cannot assign."""
        decl = variable(target)
        if decl is None:
            return
        name = decl.spelling
        if is_array(decl):
            hint = "subscript a pointer that stays where it is"
            raise self.source.error(target, f"the pointer '{name}' changes in the region", hint)
        if key(decl) in self.variables.bindings:
            message = f"the loop variable '{name}' is changed in the body of its loop"
            raise self.source.error(target, message, "change the bounds or the step of the loop")
        if key(decl) in self.variables.loops:
            message = f"the loop variable '{name}' is assigned outside of its loop"
            raise self.source.error(target, message, "assign another variable")

    def declaration(self, decl: Node) -> tuple[Stmt, ...]:
        """What a declaration does; where the region may have such, by its own text if a nest cannot have it."""
        if self.read.opaque is None or self.inside:
            return self.read_declaration(decl)
        before = saved(self)
        try:
            self.read.opaque.require_readable(self.source, decl)
            return self.read_declaration(decl)
        except InputError as why:
            restore(self, before)
            return opaque_declaration(self.read, decl, why)

    def read_declaration(self, decl: Node) -> tuple[Stmt, ...]:
        error, name = self.source.error, decl.spelling
        if decl.kind != CursorKind.VAR_DECL:
            raise error(decl, "only variables can be declared in a region", "move the declaration before the region")
        if decl.storage_class in (StorageClass.STATIC, StorageClass.EXTERN):
            raise error(decl, f"'{name}' outlives the region", "declare it before the region")
        if has_attributes(decl):
            raise error(decl, f"'{name}' has attributes", "declare it without, or before the region")
        if is_array(decl):
            return self.local_pointer(decl) if is_pointer(decl) else (self.local_array(decl),)
        if decl.type.get_canonical().is_volatile_qualified() or dtype_of(decl.type) is None:
            raise error(decl, f"'{name}' has the type '{decl.type.spelling}'", "a nest has integers, float and double")
        if (value := initialiser(decl)) is None:
            return ()
        stepped, after = self.stepped(value)
        before = (*stepped, *self.hoisted(value))
        is_fixed = is_integer(value) and not stepped and not after and key(decl) not in self.variables.written
        if is_fixed and (exact := self.read.shown_or_none(value)) is not None:
            self.variables.bindings[key(decl)] = exact
            return before
        array = self.read.scalar(decl, self.read.dtype(value))
        return (*before, Store(array.name, (), self.read.value(value), self.source.loc(decl)), *after)

    def local_pointer(self, decl: Node) -> tuple[Stmt, ...]:
        """Nothing is done: the pointer is another name for what it points to."""
        if (value := initialiser(decl)) is None:
            hint = "declare it where it gets its value"
            raise self.source.error(decl, f"the pointer '{decl.spelling}' is declared without a value", hint)
        if key(decl) in self.variables.written:
            hint = "subscript a pointer that stays where it is"
            raise self.source.error(decl, f"the pointer '{decl.spelling}' changes in the region", hint)
        self.read.point(decl, value)
        return ()

    def local_array(self, decl: Node) -> Stmt:
        array = self.read.array(decl, decl)
        if any(part.kind == CursorKind.INIT_LIST_EXPR for part in children(decl)):
            raise self.source.error(decl, f"'{decl.spelling}' has an initializer", "assign its elements in loops")
        names = {node.name for extent in array.shape for node in walk_ir(extent) if isinstance(node, Var)}
        if names & {loop.var for loop in self.read.where.loops}:
            message = f"the extent of '{decl.spelling}' changes from iteration to iteration"
            raise self.source.error(decl, message, "declare it with its largest extent")
        return Alloc(array, self.source.loc(decl))

    def loop(self, node: Node) -> tuple[Stmt, ...]:
        """The loop, and before it what its head does with other variables; their steps end its body."""
        if self.read.opaque is not None and node.hash in self.read.opaque.endless and (parts := parts_of(node)):
            return endless(self, node, parts)
        head = head_of(node)
        if head is None:
            raise no_range(self.read, node)
        for start in (*head.before, head.start):
            self.require_plain(start)
        before = tuple(stmt for start in head.before for stmt in self.started(start))
        found = range_of(self.read, node, head)
        decl, variables, outside = head.decl, self.variables, self.read.where
        if key(decl) in variables.bindings:
            raise self.source.error(node, f"an outer loop has the variable '{decl.spelling}' too", "use another one")
        name = variables.loop_name(decl, (loop.var for loop in outside.loops))
        loop = For(name, found.lo, found.hi, found.step, (), loc=self.source.loc(node))
        self.require_affine(node, loop)
        is_of_data = self.is_of_data(node, loop)
        if is_of_data:
            name = variables.fresh(decl.spelling)
            loop = replace(loop, var=name)
        loop, kept, final = self.kept(decl, loop)
        value: Expr = Var(name)
        if loop.step < 0 and is_of_data:
            if may_change(loop.lo):
                message = "this loop counts down from what data tells"
                raise self.source.error(node, message, "count up, from 0 to the number of iterations")
            loop, value = ascending(loop)
            final = substitute(final, {name: value})
        bindings = dict(variables.bindings)
        self.read.where = outside.inside(loop)
        variables.bindings[key(decl)] = value
        started, body = self.iteration(children(node)[-1], head, final)
        self.read.where, variables.bindings = outside, bindings
        self.require_fixed(node, loop.hi, body)
        return (*before, *kept, *started, replace(loop, body=body))

    def is_of_data(self, node: Node, loop: For) -> bool:
        """May the loop be a part of a statement? There, loops count up, and no two have one name."""
        is_left = breaks(node) or (self.exits.back is not None and returns(node))
        return is_left or may_change(loop.lo, loop.hi, *self.read.where.conditions)

    def kept(self, decl: Decl, loop: For) -> tuple[For, tuple[Stmt, ...], tuple[Stmt, ...]]:
        """The loop, what is done before it for the value that its variable has behind it, and where it is left."""
        if key(decl) not in self.variables.written:
            return loop, (), ()
        dtype = self.variables.types[self.variables.name(decl)]
        scalar, before = self.read.scalar(decl, dtype).name, tuple[Stmt, ...]()
        if any(isinstance(part, Load) and part.array == scalar for part in walk_ir(loop.lo)):
            start = Array(self.variables.fresh(f"{scalar}_start"), i64, (), "private")
            before = Alloc(start, loop.loc), Store(start.name, (), loop.lo, loop.loc)
            loop = replace(loop, lo=Load(start.name, (), i64))
        last = converted(final_value(loop.lo, loop.hi, loop.step), dtype)
        left = Store(scalar, (), converted(Var(loop.var), dtype), loop.loc)
        return loop, (*before, Store(scalar, (), last, loop.loc)), (left,)

    def iteration(
        self, node: Node, head: Head, final: tuple[Stmt, ...]
    ) -> tuple[tuple[Stmt, ...], tuple[Stmt, ...]]:
        """What sets the flag of a loop that may be left, and its body."""
        around, loc = self.exits, self.source.loc(node)
        going = self.variables.fresh("going") if breaks(node) else None
        on = self.variables.fresh("on") if continues(node) else None
        self.exits = Exits(going, on, around.back, around.result, final)
        tests = [going] * bool(going) + [around.back] * (around.back is not None and returns(node))
        goes = conjunction(flag_is_set(flag) for flag in tests if flag)
        with self.read.given(goes) if tests else nullcontext():
            body = self.block([node])
            if on:
                is_read = any(isinstance(part, Load) and part.array == on for part in walk_ir(body))
                body = (*_flag(on, loc), *body) if is_read else without(body, on)
            if head.after and not set(tests).isdisjoint(self.exits.left):
                body = (*body, If(goes, self.block(head.after), (), loc))
            else:
                body = (*body, *self.block(head.after))
        if around.back in self.exits.left:
            around.left.append(str(around.back))
        self.exits = around
        return (_flag(going, loc) if going else ()), ((If(goes, body, (), loc),) if tests else body)

    def require_plain(self, start: Start) -> None:
        """Of `k = m = value` in a head, k gets what m holds then: the value itself if that is a small number."""
        if start.is_chained and (start.value is None or constant(start.value) not in range(_MOST_CHAINED)):
            hint = "assign one after the other, as in m = n, k = m"
            raise self.source.error(start.node, "the head of this loop assigns one value to several variables", hint)

    def started(self, start: Start) -> tuple[Stmt, ...]:
        """What the head of a loop does at first, beside starting its own variable."""
        if start.node.kind == CursorKind.VAR_DECL:
            return self.declaration(start.node)
        if start.is_chained:
            target = children(start.node)[0]
            self.check_target(target)
            assert start.value is not None, "it is chained"
            return (self.store(start.node, target, converted(self.read.value(start.value), self.read.dtype(target))),)
        return self.statement(start.node)

    def require_affine(self, node: Node, loop: For) -> None:
        """Bounds may come from data; of loop variables and parameters they must be sums."""
        space = self.read.proofs.space(self.read.where, (loop.lo, loop.hi))
        for bound in (loop.lo, loop.hi):
            try:
                space.function(bound)
            except NotAffine as found:
                if not may_change(bound):
                    message = f"a bound of this loop is not affine: {show(found.expr)}"
                    hint = "use sums of loop variables and parameters, and products with numbers"
                    raise self.source.error(node, message, hint) from None

    def require_fixed(self, node: Node, hi: Expr, body: tuple[Stmt, ...]) -> None:
        """C tests the condition again after each iteration."""
        tested = {part.array for part in walk_ir(hi) if isinstance(part, Load)}
        for stmt in walk_ir(body):
            if isinstance(stmt, Store) and stmt.array in tested:
                message = f"the body writes '{stmt.array}', which the condition of the loop reads"
                raise self.source.error(node, message, "copy the bound to a variable before the loop")
        texts = self.read.opaque.texts if self.read.opaque is not None else ()
        if tested and any(isinstance(part, Call) and part.fn in texts for part in walk_ir(body)):
            message = f"a statement that is kept may change '{min(tested)}', which the condition of the loop reads"
            raise self.source.error(node, message, "copy the bound to a variable before the loop")

    def branch(self, node: Node) -> tuple[Stmt, ...]:
        test, then, *other = children(node)
        return self.branch_of(node, test, [then], other)

    def branch_of(self, node: Node, test: Node, first: list[Node], second: list[Node]) -> tuple[Stmt, ...]:
        """What the condition steps comes before the branches."""
        before, cond, after = self.tested(test)
        if after:
            holds = Array(self.variables.fresh("holds"), boolean, (), "private")
            tested = Alloc(holds, self.source.loc(test)), Store(holds.name, (), cond, self.source.loc(test))
            before, cond = (*before, *tested, *after), Load(holds.name, (), boolean)
        with self.read.given(cond):
            then = self.block(first)
        with self.read.given(Unary("!", cond)):
            other = self.block(second)
        return (*before, If(cond, then, other, self.source.loc(node)))

    def tested(self, test: Node) -> tuple[tuple[Stmt, ...], Expr, tuple[Stmt, ...]]:
        """What is done before a condition, what it is, and what is done after it."""
        if self.read.opaque is None or self.inside:
            before, after = self.stepped(test)
            return before, self.read.condition(test), after
        earlier = saved(self)
        try:
            before, after = self.stepped(test)
            return before, self.read.condition(test), after
        except InputError as why:
            restore(self, earlier)
            return *opaque_condition(self.read, test, why), ()

    def refused(self, node: Node) -> InputError:
        if node.kind == CursorKind.CALL_EXPR:
            self.read.value(node)  # which may have an error of its own
            return self.source.error(node, "the result of this call is not used", "assign it, or delete the call")
        if node.kind in _REFUSED:
            what, hint = _REFUSED[node.kind]
            return self.source.error(node, f"{what} cannot be in a region", hint)
        if node.kind.is_expression():
            return self.source.error(node, "this has no effect", "assign it, or delete it")
        hint = "a region has loops, branches and assignments"
        return self.source.error(node, f"'{self.source.text(node)}' cannot be in a region", hint)


def ascending(loop: For) -> tuple[For, Expr]:
    """The loop as one from 0 on, and what its variable was, in terms of the new one."""
    size = -loop.step
    count: Expr = Binary("-", loop.lo, loop.hi)
    if size > 1:
        count = Binary("floordiv", Binary("+", count, Const(size - 1)), Const(size))
    steps: Expr = Var(loop.var) if size == 1 else Binary("*", Var(loop.var), Const(size))
    return replace(loop, lo=Const(0), hi=count, step=1), Binary("-", loop.lo, steps)


def _flag(name: str, loc: Loc) -> tuple[Stmt, ...]:
    return Alloc(Array(name, boolean, (), "private"), loc), Store(name, (), Const(True, boolean), loc)


_COUNTED = "write for (i = lo; i < hi; i++), with the number of iterations known before"
_REFUSED: dict[CursorKind, tuple[str, str]] = {
    CursorKind.WHILE_STMT: ("a while loop", _COUNTED),
    CursorKind.DO_STMT: ("a do loop", _COUNTED),
    **dict.fromkeys((CursorKind.GOTO_STMT, CursorKind.INDIRECT_GOTO_STMT), ("goto", "write loops and branches")),
    CursorKind.LABEL_STMT: ("a label", "write loops and branches"),
    CursorKind.RETURN_STMT: ("return", "put the pragmas around less"),
    CursorKind.SWITCH_STMT: ("switch", "write if and else"),
    **dict.fromkeys((CursorKind.ASM_STMT, CursorKind.MS_ASM_STMT), ("inline assembly", "put it outside of the region")),
}
