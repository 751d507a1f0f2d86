"""Loops that are no ranges, as loops without an end that a flag ends.

    for (p = list; p != end; p = p->next) {         p = list
        s += w[k++];                                for n in 0..:
    }                                                   if going:
                                          ->                if p != end: s = s + w[k]; k = k + 1; p = p->next
                                                            else: going = false

The condition is asked before each iteration, or after it, as C asks it. Such a loop runs in order, and printers leave
it where its flag is false; a kernel in which they could not is none (`codegen/emit/region.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Protocol

from clang.cindex import CursorKind, TokenKind

from polysched.frontend.c.expressions import Expressions
from polysched.frontend.c.file.clang import Node, children
from polysched.frontend.c.flow.exits import Exits, continues, flag_is_set, set_flag, with_flag
from polysched.ir.dtypes import boolean
from polysched.ir.nodes import ENDLESS, Alloc, Array, Const, Expr, For, If, Load, Stmt, Store


class Reader(Protocol):
    read: Expressions
    exits: Exits

    def block(self, nodes: Iterable[Node]) -> tuple[Stmt, ...]: ...

    def tested(self, test: Node) -> tuple[tuple[Stmt, ...], Expr, tuple[Stmt, ...]]: ...


@dataclass(frozen=True)
class Parts:
    """Of a loop, each perhaps missing."""

    body: Node
    first: Node | None = None
    test: Node | None = None
    change: Node | None = None
    tests_last: bool = False


def parts_of(loop: Node) -> Parts | None:
    """None where it cannot be told which part of the head is which."""
    below = children(loop)
    match loop.kind:
        case CursorKind.WHILE_STMT if len(below) == 2:
            return Parts(below[1], test=below[0])
        case CursorKind.DO_STMT if len(below) == 2:
            return Parts(below[0], test=below[1], tests_last=True)
        case CursorKind.FOR_STMT if len(below) == 4:
            return Parts(below[3], *below[:3])
        case CursorKind.FOR_STMT if below:
            *head, body = below
            ends = _semicolons(loop)
            if len(ends) != 2:
                return None
            places = [sum(each.extent.start.offset > end for end in ends) for each in head]
            if len(set(places)) < len(places):
                return None
            found = dict(zip(places, head, strict=True))
            return Parts(body, found.get(0), found.get(1), found.get(2))
    return None


def _semicolons(loop: Node) -> list[int]:
    """Where those of a for's head are."""
    found, depth = list[int](), 0
    for token in loop.get_tokens():
        word = token.spelling if token.kind == TokenKind.PUNCTUATION else ""
        depth += (word in "([{" and word != "") - (word in ")]}" and word != "")
        if word == ";" and depth == 1:
            found.append(token.extent.start.offset)
        if word == ")" and depth == 0:
            break
    return found


def endless(reader: Reader, loop: Node, parts: Parts) -> tuple[Stmt, ...]:
    """The loop, and before it what its head does at first."""
    read, around = reader.read, reader.exits
    variables, loc = read.variables, read.source.loc(loop)
    before = reader.block([parts.first]) if parts.first is not None else ()
    going = variables.fresh("going")
    on = variables.fresh("on") if continues(parts.body) else None
    counted = For(variables.fresh("iteration"), Const(0), Const(ENDLESS), 1, (), loc=loc)
    outside = read.where
    read.where = outside.inside(counted)
    reader.exits = Exits(going, on, around.back, around.result, ())
    ended: tuple[Stmt, ...] = (Store(going, (), Const(False, boolean), loc),)
    with read.given(flag_is_set(going)):
        if parts.tests_last:
            body = _iteration(reader, parts, on)
            asked = _asked(reader, parts, tuple, ended)
            body = (*body, *_if_left(reader, going, asked))
        else:
            body = _asked(reader, parts, lambda: _iteration(reader, parts, on), ended)
    around.returned(reader.exits)
    reader.exits, read.where = around, outside
    return (*before, *set_flag(going, loc), replace(counted, body=(If(flag_is_set(going), body, (), loc),)))


def _iteration(reader: Reader, parts: Parts, on: str | None) -> tuple[Stmt, ...]:
    """The body of the loop, and its step."""
    body = reader.block([parts.body])
    if on is not None:
        body = with_flag(body, on, reader.read.source.loc(parts.body))
    step = reader.block([parts.change]) if parts.change is not None else ()
    return (*body, *_if_left(reader, str(reader.exits.going), step))


def _if_left(reader: Reader, going: str, rest: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """What is done only if the body has not left the loop."""
    if going not in reader.exits.left or not rest:
        return rest
    return (If(flag_is_set(going), rest, (), rest[0].loc),)


def _asked(
    reader: Reader, parts: Parts, then: Callable[[], tuple[Stmt, ...]], other: tuple[Stmt, ...]
) -> tuple[Stmt, ...]:
    if parts.test is None:
        return then()
    read, loc = reader.read, reader.read.source.loc(parts.test)
    before, cond, after = reader.tested(parts.test)
    if after:
        holds = Array(read.variables.fresh("holds"), boolean, (), "private")
        before = (*before, Alloc(holds, loc), Store(holds.name, (), cond, loc), *after)
        cond = Load(holds.name, (), boolean)
    with read.given(cond):
        done = then()
    return (*before, If(cond, done, other, loc))
