"""Where the statements of a kernel stand: in which loops and branches, before and behind which others.

    a: f64[4]                   home of a: depth 0
    for i in 0..4:
        a[i] = w[i]             a store, at (1, 0)
    for i in 0..4:
        y[i] = a[i]             a user, at (2, 0), so behind all stores where a is at home
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from polysched.codegen.lowered import own_expressions
from polysched.ir.node import loaded
from polysched.ir.nodes import Alloc, Expr, For, If, Prefetch, Stmt, Store


@dataclass(frozen=True)
class Place:
    """A statement, the loops and branches around it, outermost first, and its number in the block of each."""

    stmt: Any
    around: tuple[For | If, ...]
    at: tuple[int, ...]  # of a branch's other side, behind those of the first one

    @property
    def depth(self) -> int:
        return len(self.around)

    @property
    def loops(self) -> tuple[For, ...]:
        return tuple(stmt for stmt in self.around if isinstance(stmt, For))

    @property
    def guards(self) -> tuple[Expr, ...]:
        """The conditions of the branches around, and those under which the loops around run."""
        return tuple(stmt.cond for stmt in self.around if isinstance(stmt, If))


class Places:
    """Those of temporaries, of what stores them, and of all else that loads them."""

    def __init__(self, body: tuple[Stmt, ...]):
        self.homes: dict[str, Place] = {}
        self.reduced = frozenset[str]()  # what loops add up in another order
        self._stores: dict[str, list[Place]] = defaultdict(list)
        self._users: dict[str, list[Place]] = defaultdict(list)
        for place in _places(body, (), ()):
            self._note(place)

    def stores(self, array: str) -> list[Place]:
        return self._stores[array]

    def users(self, array: str) -> list[Place]:
        """What loads it, but for its own stores."""
        return self._users[array]

    def _note(self, place: Place) -> None:
        match place.stmt:
            case Alloc(array):
                self.homes[array.name] = place
            case Store(array):
                self._stores[array].append(place)
            case For(reduces=reduces):
                self.reduced |= frozenset(reduces)
            case Prefetch(array):
                self._users[array].append(place)
        own = place.stmt.array if isinstance(place.stmt, Store) else None
        for expr in own_expressions(place.stmt):
            for array in loaded(expr) - {own}:
                self._users[array].append(place)


def _places(
    block: tuple[Stmt, ...], around: tuple[For | If, ...], at: tuple[int, ...], first: int = 0
) -> Iterator[Place]:
    for number, stmt in enumerate(block, first):
        yield Place(stmt, around, (*at, number))
        match stmt:
            case For(body=body):
                yield from _places(body, (*around, stmt), (*at, number))
            case If(then=then, other=other):
                yield from _places(then, (*around, stmt), (*at, number))
                yield from _places(other, (*around, stmt), (*at, number), len(then))
