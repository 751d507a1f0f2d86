"""The head of a C loop, taken apart: its own variable, and what it does with others.

    for (n = 0, i = lo; i < hi; i++, n += 2)        i from lo, by i++; n = 0 before, n += 2 after each iteration
    for (n = i = 0; i < hi; i++)                    i from 0, by i++; n = 0 before

The variable of a loop is the first that it starts, tests and steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from clang.cindex import CursorKind

from polysched.frontend.c.file.clang import Node, bare, children, initialiser, operator, stripped, walk
from polysched.frontend.c.file.names import Decl, key, set_by, variable


@dataclass(frozen=True)
class Start:
    """A part of what a loop does at first."""

    node: Node  # an assignment, a declaration, or anything else
    decl: Decl | None = None  # what gets a value
    value: Node | None = None
    is_chained: bool = False  # it gets the value that the next variable gets


@dataclass(frozen=True)
class Head:
    """Of a loop whose variable is known."""

    decl: Decl
    start: Start
    change: Node
    before: tuple[Start, ...]  # what else it does at first,
    after: tuple[Node, ...]  # and after each iteration


def head_of(loop: Node) -> Head | None:
    """None for a loop that starts no variable which it steps."""
    if len(children(loop)) != 4:
        return None
    first, condition, last, _ = children(loop)
    starts, changes = list(starts_of(first)), list(changes_of(last))
    stepped = {key(decl): node for node in changes if (decl := set_by(node)) is not None}
    tested = {key(decl) for node in walk(condition) if (decl := variable(node)) is not None}
    possible = [start for start in starts if start.decl is not None and start.value is not None]
    possible = [start for start in possible if key(start.decl) in stepped]
    start = next((start for start in possible if key(start.decl) in tested), possible[0] if possible else None)
    if start is None or start.decl is None:
        return None
    change = stepped[key(start.decl)]
    before = tuple(each for each in starts if each is not start)
    return Head(start.decl, start, change, before, tuple(node for node in changes if node is not change))


def starts_of(node: Node) -> Iterator[Start]:
    """In the order in which they happen."""
    node = bare(node)
    if node.kind == CursorKind.DECL_STMT:
        for decl in children(node):
            is_variable = decl.kind == CursorKind.VAR_DECL
            yield Start(decl, decl, initialiser(decl)) if is_variable else Start(decl)
    elif operator(node) == ",":
        for part in children(node):
            yield from starts_of(part)
    elif operator(node) == "=":
        target, value = children(node)
        inner = list(starts_of(stripped(value))) if operator(stripped(value)) == "=" else []
        yield from inner
        yield Start(node, variable(target), inner[-1].value if inner else value, bool(inner))
    else:
        yield Start(node)


def changes_of(node: Node) -> Iterator[Node]:
    node = bare(node)
    if operator(node) == ",":
        for part in children(node):
            yield from changes_of(part)
    else:
        yield node
