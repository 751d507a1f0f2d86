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

from clang.cindex import CursorKind

from polysched.errors import InputError
from polysched.frontend.c.expressions import Expressions
from polysched.frontend.c.file.clang import Node, bare, children, operator, stripped, unary_operator
from polysched.frontend.c.file.names import key, variable
from polysched.frontend.c.flow.exits import JUMPS, Exits, jumps
from polysched.frontend.c.flow.inline import calls_of, inlined
from polysched.frontend.c.flow.iterations import loop
from polysched.frontend.c.flow.jumps import jump, with_jump
from polysched.frontend.c.flow.steps import steps_in
from polysched.frontend.c.locals import local
from polysched.frontend.c.opaque.attempts import restore, saved
from polysched.frontend.c.opaque.state import Endless
from polysched.frontend.c.opaque.statements import condition as opaque_condition
from polysched.frontend.c.opaque.statements import declaration as opaque_declaration
from polysched.frontend.c.opaque.statements import statement as opaque_statement
from polysched.frontend.c.types import arithmetic, converted, promoted
from polysched.frontend.c.variables import is_array
from polysched.ir.dtypes import boolean
from polysched.ir.node import stored
from polysched.ir.nodes import COMPARISONS, Alloc, Array, Const, Expr, If, Load, Stmt, Store, Unary


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
                return (*before, *with_jump(self, node, nodes[k + 1 :]))
        return tuple(stmt for node in nodes for stmt in self.statement(node))

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
                return loop(self, node)
            case CursorKind.IF_STMT:
                return self.branch(node)
            case CursorKind.PAREN_EXPR:
                return self.statement(bare(node))
            case kind if kind in JUMPS:
                return jump(self, node)
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
            return local(self, decl)
        before = saved(self)
        try:
            self.read.opaque.require_readable(self.source, decl)
            return local(self, decl)
        except InputError as why:
            restore(self, before)
            return opaque_declaration(self.read, decl, why)

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
