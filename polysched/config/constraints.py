"""What a user fixes of a schedule before it is solved: values, which the solver turns into rows of its ILP.

    Options(constraints=(order("S", "i", "k", "j"), innermost("S", "j"), separate("S0", "S1"), max_skew(1)))

Statements are meant by name or by pattern, as in "S*". What they are called, and their iterators, is in the schedule
as it is printed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from operator import index

import numpy as np

from polysched.config.plain import called
from polysched.errors import InputError
from polysched.support.entry import entry

Factor = int | None  # None: any


@dataclass(frozen=True)
class Order:
    """The first loops of a statement."""

    statement: str
    rows: tuple[str, ...]  # "i", "2t + i" or "t + _*i", as a tree prints them; "_" for any; without constants

    def __str__(self) -> str:
        return called("order", self.statement, *self.rows)


@dataclass(frozen=True)
class Innermost:
    """The iterator that is in the last loop of a statement alone, which runs as SIMD."""

    statement: str
    iterator: str

    def __str__(self) -> str:
        return called("innermost", self.statement, self.iterator)


@dataclass(frozen=True)
class OuterParallel:
    """The first loop of these statements is parallel."""

    statements: tuple[str, ...]

    def __str__(self) -> str:
        return called("outer_parallel", *self.statements)


@dataclass(frozen=True)
class MaxSkew:
    """The largest factor in loops of these statements."""

    most: int
    statements: tuple[str, ...]

    def __str__(self) -> str:
        return called("max_skew", self.most, *self.statements)


@dataclass(frozen=True)
class Separate:
    """Statements that have no more than `depth` loops in common."""

    statements: tuple[str, ...]
    depth: int

    def __str__(self) -> str:
        return called("separate", *self.statements, **({"depth": self.depth} if self.depth else {}))


@dataclass(frozen=True)
class Together:
    """Statements that have `depth` loops in common, or all that the shallowest has."""

    statements: tuple[str, ...]
    depth: int | None

    def __str__(self) -> str:
        return called("together", *self.statements, **({} if self.depth is None else {"depth": self.depth}))


@dataclass(frozen=True)
class TileSizes:
    """The tile along each loop of a statement, outermost first."""

    statement: str
    sizes: tuple[int, ...]

    def __str__(self) -> str:
        return called("tile_sizes", self.statement, self.sizes)


Constraint = Order | Innermost | OuterParallel | MaxSkew | Separate | Together | TileSizes


@entry
def order(statement: str, *rows: str) -> Order:
    """The first loops of the statement are these, outermost first: iterators, or sums of them as a tree prints them.

    Shifts by constants are the solver's. In "t + _*i" it chooses the factor of i, and for "_" the whole loop.
    """
    if not rows:
        raise InputError(f'order("{statement}") names no loop', hint='as in order("S", "i", "j")')
    for row in rows:
        factors(row)
    return Order(statement, rows)


@entry
def innermost(statement: str, iterator: str) -> Innermost:
    """The iterator is in no other loop of the statement than the last, whose iterations are independent.

    The last loop may be skewed by those around it, as t + i, which stand still meanwhile. Its iterations may update the
    same sums where Options(reorder_reductions=True) lets these run in any order.
    """
    return Innermost(statement, iterator)


@entry
def outer_parallel(*statements: str) -> OuterParallel:
    """The outermost loop of these statements, or of all, is parallel."""
    return OuterParallel(statements)


@entry
def max_skew(most: int, *statements: str) -> MaxSkew:
    """No loop of these statements, or of any, has a factor above `most`; 0: each is one iterator alone."""
    most = index(most)
    if most < 0:
        raise InputError(f"max_skew({most}) is negative", hint="0 is no skewing")
    return MaxSkew(most, statements)


@entry
def separate(*statements: str, depth: int = 0) -> Separate:
    """No two of these statements have more than their outermost `depth` loops in common.

    Of several patterns, statements that fit the same one may; with one pattern, none of them may.
    """
    return Separate(statements, index(depth))


@entry
def together(*statements: str, depth: int | None = None) -> Together:
    """These statements have all loops in common, up to those of the shallowest; or the outermost `depth`.

    A loop in common has values in common: one that runs the statements one after the other is none, nor is one where
    they are shifted by a size. InputError for more loops than a statement has.
    """
    return Together(statements, None if depth is None else index(depth))


@entry
def tile_sizes(statement: str, sizes: tuple[int, ...]) -> TileSizes:
    """The tiles of the statement have these sizes along its loops, outermost first, as they run; 0 is for one that has
    no tiles, as further ones have none. For CPUs."""
    whole = isinstance(sizes, tuple) and all(isinstance(size, int | np.integer) and size >= 0 for size in sizes)
    if not (whole and any(sizes)):
        raise InputError(f"tile_sizes has {sizes!r} for sizes", hint='as in tile_sizes("S", (32, 64)), or 0 for none')
    return TileSizes(statement, tuple(map(index, sizes)))


def factors(row: str) -> dict[str, Factor] | None:
    """The factor of each iterator in a row of `order`, None where any will do, as all in "_"."""
    if row.strip() == "_":
        return None
    found: dict[str, Factor] = {}
    rest, is_first = row.strip(), True
    while rest:
        term = _TERM.match(rest)
        if term is None or not (is_first or term["sign"]) or term["name"] in found:
            raise InputError(f"'{row}' is no loop", hint='it is a sum of iterators, as in "i", "2t + i" or "t + _*i"')
        number = int(term["factor"] or 1)
        found[term["name"]] = None if term["any"] else -number if term["sign"] == "-" else number
        rest, is_first = rest[term.end() :], False
    if not any(factor is None or factor for factor in found.values()):
        raise InputError(f"'{row}' is no loop", hint="it has the same value everywhere")
    return found


_TERM = re.compile(r"(?P<sign>[+-])?\s*(?:(?P<factor>\d+)\s*\*?\s*|(?P<any>_)\s*\*\s*)?(?P<name>[A-Za-z_]\w*)\s*")


def is_asked(row: tuple[int, ...], asked: str, iterators: tuple[str, ...]) -> bool:
    """Are these the factors that a row of `order` asks for?"""
    parsed = factors(asked)
    if parsed is None:
        return True
    return all(parsed.get(iterator, 0) in (None, factor) for iterator, factor in zip(iterators, row, strict=True))


def fits(name: str, patterns: Iterable[str]) -> bool:
    """Is the statement one that the patterns name?"""
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def share_at_most(constraint: Separate, one: str, other: str) -> bool:
    """Does the constraint speak of this pair of statements?"""
    patterns = constraint.statements
    if one == other:
        return False
    if len(patterns) == 1:
        return fits(one, patterns) and fits(other, patterns)
    pairs = ((a, b) for a in patterns for b in patterns if a != b)
    return any(fnmatchcase(one, a) and fnmatchcase(other, b) for a, b in pairs)


def sizes_asked(constraints: Iterable[Constraint], name: str) -> TileSizes | None:
    """The tiles asked for one statement; of several constraints that fit, the last."""
    asked = [c for c in constraints if isinstance(c, TileSizes) and fits(name, [c.statement])]
    return asked[-1] if asked else None
