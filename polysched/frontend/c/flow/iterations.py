"""From C's loops to those of the loop IR, with the flags of their jumps and what they leave in their variables.

    for (i = 0, k = 9; i < n; i++, k--)             k = 9
        if (a[i] > x) break;            ->          going = true
                                                    for i in 0..n:
                                                        if going: if a[i] > x: going = false, ...; if going: k = k - 1
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import replace
from typing import Protocol

from clang.cindex import CursorKind

from polysched.frontend.c.expressions import Expressions
from polysched.frontend.c.file.clang import Node, children, constant
from polysched.frontend.c.file.heads import Head, Start, head_of
from polysched.frontend.c.file.names import Decl, key
from polysched.frontend.c.file.source import Source
from polysched.frontend.c.flow.exits import Exits, breaks, continues, flag_is_set, returns, set_flag, with_flag
from polysched.frontend.c.flow.finals import final_value
from polysched.frontend.c.loops import no_range, range_of
from polysched.frontend.c.opaque.endless import endless, parts_of
from polysched.frontend.c.types import converted
from polysched.frontend.c.variables import Variables
from polysched.ir.build import conjunction
from polysched.ir.dtypes import i64
from polysched.ir.effects import may_change
from polysched.ir.node import substitute
from polysched.ir.node import walk as walk_ir
from polysched.ir.nodes import Alloc, Array, Binary, Call, Const, Expr, For, If, Load, Stmt, Store, Var
from polysched.ir.text import show
from polysched.model.affine import NotAffine

_MOST_CHAINED = 128  # every type holds less


class Reader(Protocol):
    """What reads the statements around."""

    read: Expressions
    source: Source
    variables: Variables
    exits: Exits

    def block(self, nodes: Iterable[Node]) -> tuple[Stmt, ...]: ...

    def statement(self, node: Node) -> tuple[Stmt, ...]: ...

    def declaration(self, decl: Node) -> tuple[Stmt, ...]: ...

    def tested(self, test: Node) -> tuple[tuple[Stmt, ...], Expr, tuple[Stmt, ...]]: ...

    def check_target(self, target: Node) -> None: ...

    def store(self, node: Node, target: Node, value: Expr) -> Stmt: ...


def loop(reader: Reader, node: Node) -> tuple[Stmt, ...]:
    """The loop, and before it what its head does with other variables; their steps end its body."""
    if reader.read.opaque is not None and node.hash in reader.read.opaque.endless and (parts := parts_of(node)):
        return endless(reader, node, parts)
    head = head_of(node)
    if head is None:
        raise no_range(reader.read, node)
    for start in (*head.before, head.start):
        _require_plain(reader, start)
    before = tuple(stmt for start in head.before for stmt in _started(reader, start))
    found = range_of(reader.read, node, head)
    decl, variables, outside = head.decl, reader.variables, reader.read.where
    if key(decl) in variables.bindings:
        raise reader.source.error(node, f"an outer loop has the variable '{decl.spelling}' too", "use another one")
    name = variables.loop_name(decl, (loop.var for loop in outside.loops))
    loop = For(name, found.lo, found.hi, found.step, (), loc=reader.source.loc(node))
    _require_affine(reader, node, loop)
    is_of_data = _is_of_data(reader, node, loop)
    if is_of_data:
        name = variables.fresh(decl.spelling)
        loop = replace(loop, var=name)
    loop, kept, final = _kept(reader, decl, loop)
    value: Expr = Var(name)
    if loop.step < 0 and is_of_data:
        if may_change(loop.lo):
            message = "this loop counts down from what data tells"
            raise reader.source.error(node, message, "count up, from 0 to the number of iterations")
        loop, value = _ascending(loop)
        final = substitute(final, {name: value})
    bindings = dict(variables.bindings)
    reader.read.where = outside.inside(loop)
    variables.bindings[key(decl)] = value
    started, body = _iteration(reader, children(node)[-1], head, final)
    reader.read.where, variables.bindings = outside, bindings
    _require_fixed(reader, node, loop.hi, body)
    return (*before, *kept, *started, replace(loop, body=body))


def _is_of_data(reader: Reader, node: Node, loop: For) -> bool:
    """May the loop be a part of a statement? There, loops count up, and no two have one name."""
    is_left = breaks(node) or (reader.exits.back is not None and returns(node))
    return is_left or may_change(loop.lo, loop.hi, *reader.read.where.conditions)


def _kept(reader: Reader, decl: Decl, loop: For) -> tuple[For, tuple[Stmt, ...], tuple[Stmt, ...]]:
    """The loop, what is done before it for the value that its variable has behind it, and where it is left."""
    if key(decl) not in reader.variables.written:
        return loop, (), ()
    dtype = reader.variables.types[reader.variables.name(decl)]
    scalar, before = reader.read.scalar(decl, dtype).name, tuple[Stmt, ...]()
    if any(isinstance(part, Load) and part.array == scalar for part in walk_ir(loop.lo)):
        start = Array(reader.variables.fresh(f"{scalar}_start"), i64, (), "private")
        before = Alloc(start, loop.loc), Store(start.name, (), loop.lo, loop.loc)
        loop = replace(loop, lo=Load(start.name, (), i64))
    last = converted(final_value(loop.lo, loop.hi, loop.step), dtype)
    left = Store(scalar, (), converted(Var(loop.var), dtype), loop.loc)
    return loop, (*before, Store(scalar, (), last, loop.loc)), (left,)


def _iteration(
    reader: Reader, node: Node, head: Head, final: tuple[Stmt, ...]
) -> tuple[tuple[Stmt, ...], tuple[Stmt, ...]]:
    """What sets the flag of a loop that may be left, and its body."""
    around, loc = reader.exits, reader.source.loc(node)
    going = reader.variables.fresh("going") if breaks(node) else None
    on = reader.variables.fresh("on") if continues(node) else None
    reader.exits = Exits(going, on, around.back, around.result, final)
    tests = [going] * bool(going) + [around.back] * (around.back is not None and returns(node))
    goes = conjunction(flag_is_set(flag) for flag in tests if flag)
    with reader.read.given(goes) if tests else nullcontext():
        body = reader.block([node])
        if on:
            body = with_flag(body, on, loc)
        if head.after and not set(tests).isdisjoint(reader.exits.left):
            body = (*body, If(goes, reader.block(head.after), (), loc))
        else:
            body = (*body, *reader.block(head.after))
    around.returned(reader.exits)
    reader.exits = around
    return (set_flag(going, loc) if going else ()), ((If(goes, body, (), loc),) if tests else body)


def _require_plain(reader: Reader, start: Start) -> None:
    """Of `k = m = value` in a head, k gets what m holds then: the value itself if that is a small number."""
    if start.is_chained and (start.value is None or constant(start.value) not in range(_MOST_CHAINED)):
        hint = "assign one after the other, as in m = n, k = m"
        raise reader.source.error(start.node, "the head of this loop assigns one value to several variables", hint)


def _started(reader: Reader, start: Start) -> tuple[Stmt, ...]:
    """What the head of a loop does at first, beside starting its own variable."""
    if start.node.kind == CursorKind.VAR_DECL:
        return reader.declaration(start.node)
    if start.is_chained:
        target = children(start.node)[0]
        reader.check_target(target)
        assert start.value is not None, "it is chained"
        return (reader.store(start.node, target, converted(reader.read.value(start.value), reader.read.dtype(target))),)
    return reader.statement(start.node)


def _require_affine(reader: Reader, node: Node, loop: For) -> None:
    """Bounds may come from data; of loop variables and parameters they must be sums."""
    space = reader.read.proofs.space(reader.read.where, (loop.lo, loop.hi))
    for bound in (loop.lo, loop.hi):
        try:
            space.function(bound)
        except NotAffine as found:
            if not may_change(bound):
                message = f"a bound of this loop is not affine: {show(found.expr)}"
                hint = "use sums of loop variables and parameters, and products with numbers"
                raise reader.source.error(node, message, hint) from None


def _require_fixed(reader: Reader, node: Node, hi: Expr, body: tuple[Stmt, ...]) -> None:
    """C tests the condition again after each iteration."""
    tested = {part.array for part in walk_ir(hi) if isinstance(part, Load)}
    for stmt in walk_ir(body):
        if isinstance(stmt, Store) and stmt.array in tested:
            message = f"the body writes '{stmt.array}', which the condition of the loop reads"
            raise reader.source.error(node, message, "copy the bound to a variable before the loop")
    texts = reader.read.opaque.texts if reader.read.opaque is not None else ()
    if tested and any(isinstance(part, Call) and part.fn in texts for part in walk_ir(body)):
        message = f"a statement that is kept may change '{min(tested)}', which the condition of the loop reads"
        raise reader.source.error(node, message, "copy the bound to a variable before the loop")


def _ascending(loop: For) -> tuple[For, Expr]:
    """The loop as one from 0 on, and what its variable was, in terms of the new one."""
    size = -loop.step
    count: Expr = Binary("-", loop.lo, loop.hi)
    if size > 1:
        count = Binary("floordiv", Binary("+", count, Const(size - 1)), Const(size))
    steps: Expr = Var(loop.var) if size == 1 else Binary("*", Var(loop.var), Const(size))
    return replace(loop, lo=Const(0), hi=count, step=1), Binary("-", loop.lo, steps)
