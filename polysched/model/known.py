"""What is known at a place of a nest: which values loops and conditions leave to its variables.

    for i in 1..n:
        if i < m:
            A[i - 1]                  there, 1 <= i < n and i < m; shown: i - 1 >= 0, i <= m - 1
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from itertools import chain

from polysched.errors import InputError, Loc
from polysched.ir.build import conjunction
from polysched.ir.dtypes import DType, i64
from polysched.ir.node import children, walk
from polysched.ir.nodes import (
    LARGEST_SIZE,
    Alloc,
    Binary,
    Const,
    Expr,
    For,
    If,
    Let,
    Load,
    Select,
    Stmt,
    Store,
    Unary,
    Var,
)
from polysched.model.affine import AffineSpace, NotAffine, sizes_where
from polysched.model.loops import loop_conditions
from polysched.support import isl


@dataclass(frozen=True)
class Where:
    """A place in a nest: the loops around it, outermost first, and conditions that hold there."""

    loops: tuple[For, ...] = ()
    guards: tuple[Expr, ...] = ()
    loc: Loc | None = None  # of the statement

    def inside(self, loop: For) -> Where:
        return replace(self, loops=(*self.loops, loop))

    def given(self, condition: Expr) -> Where:
        return replace(self, guards=(*self.guards, condition))

    @property
    def conditions(self) -> list[Expr]:
        return [*(c for loop in self.loops for c in loop_conditions(loop)), *self.guards]


class Unproven(InputError):
    """What would have to hold cannot be shown."""


@dataclass
class Known:
    """What holds at places of one nest for all its sizes."""

    types: Mapping[str, DType]  # of the integer variables that may be sizes

    def require(self, condition: Expr, where: Where) -> None:
        """Unproven if the condition may fail."""
        if not self.shows(condition, where):
            raise Unproven(f"nothing shows that {condition}")

    def shows(self, condition: Expr, where: Where) -> bool:
        """Does the condition hold wherever that place is reached? False where isl takes too long to tell."""
        space = self.space(where, (condition,))
        try:
            return isl.decided(lambda: self.instances(where, space).is_subset(space.where(condition)), unknown=False)
        except NotAffine:
            return False

    def space(self, where: Where, expressions: Iterable[Expr] = ()) -> AffineSpace:
        """The instances at a place; its sizes are the integers that the expressions and the place name."""
        iterators = tuple(loop.var for loop in where.loops)
        mentioned = (node for node in walk((*expressions, *where.conditions)) if isinstance(node, Var))
        names = {node.name for node in mentioned if node.dtype == i64 and node.name in self.types}
        return AffineSpace("", iterators, tuple(sorted(names - {*iterators})))

    def instances(self, where: Where, space: AffineSpace) -> isl.Set:
        """{ [i, j] : ... } that may come there; conditions on data are left out."""
        known = reduce(lambda known, condition: narrowed(known, condition, space)[0], where.conditions, space.universe)
        return known.intersect_params(self.ranges(space.sizes))

    def ranges(self, sizes: Iterable[str]) -> isl.Set:
        """{ : 0 <= n <= the greatest that it may be }"""
        conditions = (
            (Binary(">=", Var(size), Const(0)), Binary("<=", Var(size), Const(self.greatest(size)))) for size in sizes
        )
        return sizes_where(conjunction(chain.from_iterable(conditions)), sorted(sizes))

    def greatest(self, size: str) -> int:
        return LARGEST_SIZE


def narrowed(known: isl.Set, condition: Expr, space: AffineSpace) -> tuple[isl.Set, bool]:
    """The part where the condition holds, as far as its parts are affine; and whether all are."""
    match condition:
        case Binary("&&", left, right):
            parts: tuple[Expr, ...] = left, right
        case Unary("!", Binary("||", left, right)):
            parts = Unary("!", left), Unary("!", right)
        case _:
            try:
                return known.intersect(space.where(condition)), True
            except NotAffine:
                return known, False
    known, is_first = narrowed(known, parts[0], space)
    known, is_second = narrowed(known, parts[1], space)
    return known, is_first and is_second


def accesses(body: tuple[Stmt, ...], where: Where = Where()) -> Iterator[tuple[Load | Store, Where]]:
    """Every access of a nest, and the place where it happens."""
    for stmt in body:
        where = replace(where, loc=stmt.loc)
        match stmt:
            case Store(index=index, value=value):
                for expr in (*index, value):
                    yield from _loads(expr, where)
                yield stmt, where
            case For(lo=lo, hi=hi, body=inner):
                for expr in (lo, hi):
                    yield from _loads(expr, where)
                yield from accesses(inner, where.inside(stmt))
            case If(cond, then, other):
                yield from _loads(cond, where)
                yield from accesses(then, where.given(cond))
                yield from accesses(other, where.given(Unary("!", cond)))
            case Let(value=value):
                yield from _loads(value, where)
            case Alloc():
                pass
            case _:
                raise TypeError(f"a source nest has no {type(stmt).__name__}")


def _loads(expr: Expr, where: Where) -> Iterator[tuple[Load | Store, Where]]:
    match expr:
        case Load(index=index):
            for subscript in index:
                yield from _loads(subscript, where)
            yield expr, where
        case Select(cond, then, other):
            yield from _loads(cond, where)
            yield from _loads(then, where.given(cond))
            yield from _loads(other, where.given(Unary("!", cond)))
        case Binary("&&" | "||" as op, left, right):
            yield from _loads(left, where)
            yield from _loads(right, where.given(left if op == "&&" else Unary("!", left)))
        case _:
            for child in children(expr):
                yield from _loads(child, where)
