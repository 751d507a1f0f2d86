"""Statements that jump: the flag that they clear, and what follows them as far as it is set (`exits.py`).

    if (a[i] == 0) continue;        if a[i] == 0.0: (nothing)
    b[i] = 1 / a[i];          ->    else: b[i] = 1.0 / a[i]
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from clang.cindex import CursorKind

from polysched.frontend.c.expressions import Expressions
from polysched.frontend.c.file.clang import Node, children
from polysched.frontend.c.file.source import Source
from polysched.frontend.c.flow.exits import Exits, always_jumps, flag_is_set
from polysched.ir.build import conjunction
from polysched.ir.dtypes import boolean
from polysched.ir.nodes import Const, If, Stmt, Store


class Reader(Protocol):
    """What reads the statements around."""

    read: Expressions
    source: Source
    exits: Exits

    def block(self, nodes: Iterable[Node]) -> tuple[Stmt, ...]: ...

    def statement(self, node: Node) -> tuple[Stmt, ...]: ...

    def hoisted(self, node: Node) -> tuple[Stmt, ...]: ...

    def branch_of(self, node: Node, test: Node, first: list[Node], second: list[Node]) -> tuple[Stmt, ...]: ...


def with_jump(reader: Reader, node: Node, rest: list[Node]) -> tuple[Stmt, ...]:
    """A statement that may jump, and what follows it."""
    if node.kind == CursorKind.COMPOUND_STMT:
        return reader.block((*children(node), *rest))
    if node.kind == CursorKind.IF_STMT:
        test, then, *other = children(node)
        if always_jumps(then):
            return (*reader.hoisted(node), *reader.branch_of(node, test, [then], [*other, *rest]))
        if other and always_jumps(other[0]):
            return (*reader.hoisted(node), *reader.branch_of(node, test, [then, *rest], other))
    if always_jumps(node):
        return reader.statement(node)  # nothing comes to the rest
    before, reader.exits.left = reader.exits.left, []
    done = reader.statement(node)
    left, reader.exits.left = list(dict.fromkeys(reader.exits.left)), before
    reader.exits.left += left
    if not rest or not left:
        return (*done, *reader.block(rest))
    cond = conjunction(map(flag_is_set, left))
    with reader.read.given(cond):
        after = reader.block(rest)
    return (*done, If(cond, after, (), reader.source.loc(rest[0]))) if after else done


def jump(reader: Reader, node: Node) -> tuple[Stmt, ...]:
    """What it leaves behind, and the flag that ends what it guards."""
    loc, exits, before = reader.source.loc(node), reader.exits, tuple[Stmt, ...]()
    match node.kind:
        case CursorKind.BREAK_STMT:
            what, flag, before = "break", exits.going, exits.final
        case CursorKind.CONTINUE_STMT:
            what, flag = "continue", exits.on
        case _:
            what, flag = "return", exits.back
            if flag and exits.result and (value := children(node)):
                before = reader.hoisted(value[0])
                before = (*before, Store(exits.result, (), reader.read.value(value[0]), loc))
    if flag is None:
        hint = "put the pragmas around less, or around that loop"
        raise reader.source.error(node, f"{what} leaves the region", hint)
    exits.left.append(flag)
    return (*before, Store(flag, (), Const(False, boolean), loc))
