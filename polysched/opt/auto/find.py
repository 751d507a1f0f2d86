"""The loops of a C file, the outermost first, each with those inside of it.

    while (x) {                         Loop(line=1, inside=(
        for (i = 0; i < n; i++)             Loop(line=2, inside=(
            for (j = 0; j < n; j++)             Loop(line=3),
                a[i][j] = 0;                )),
    }                                   ))

A region has to hold whole statements of the file itself, so what a macro makes up as a whole is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import NamedTuple

from clang.cindex import CursorKind

from polysched.frontend.c.file.clang import Node, children
from polysched.frontend.c.file.source import Source, functions
from polysched.opt.auto.directives import Construct

_LOOPS = {CursorKind.FOR_STMT: "for", CursorKind.WHILE_STMT: "while", CursorKind.DO_STMT: "do"}
_SEMICOLON = re.compile(rb"\s*;")


@dataclass(frozen=True, kw_only=True)
class Loop:
    """A loop of the file; offsets in bytes."""

    begin: int
    end: int  # behind the semicolon of a body without braces
    line: int
    column: int
    kind: str  # for, while or do
    function: str
    construct: Construct | None = None  # of OpenMP, the outermost one that it stands in
    is_own: bool = False  # is that for this very loop?
    inside: tuple[Loop, ...] = ()

    def every(self) -> Iterator[Loop]:
        """This one and all inside of it, in the order of the file."""
        yield self
        for loop in self.inside:
            yield from loop.every()


def loops_of(source: Source, constructs: Mapping[int, Construct] = MappingProxyType({})) -> tuple[Loop, ...]:
    """The outermost loops of the file's functions, without what the preprocessor leaves out. `constructs` are where
    statements begin that directives are for."""
    found = (
        loop
        for function in functions(source)
        for loop in _below(function, _Place(source, function.spelling, constructs), None)
    )
    return tuple(sorted(dict.fromkeys(found), key=lambda loop: loop.begin))


class _Place(NamedTuple):
    source: Source
    function: str
    constructs: Mapping[int, Construct]


def _below(node: Node, place: _Place, construct: Construct | None) -> Iterator[Loop]:
    source = place.source
    for child in children(node):
        own = place.constructs.get(child.extent.start.offset) if source.is_here(child) else None
        around = construct or own
        inside = _below(child, place, around)
        if child.kind not in _LOOPS or not source.is_here(child):
            yield from inside
            continue
        start = child.extent.start
        loop = Loop(
            begin=start.offset, end=_end(child, source.data), line=start.line, column=start.column,
            kind=_LOOPS[child.kind], function=place.function, construct=around,
            is_own=construct is None and own is not None,
        )  # fmt: skip
        within = (each for each in inside if loop.begin < each.begin and each.end <= loop.end)
        yield replace(loop, inside=tuple(dict.fromkeys(within)))


def _end(loop: Node, data: bytes) -> int:
    """clang ends a statement before its semicolon."""
    end: int = loop.extent.end.offset
    rest = _SEMICOLON.match(data, end)
    return rest.end() if rest and data[end - 1 : end] != b";" else end
