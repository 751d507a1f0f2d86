"""What a user's constraints ask of the next hyperplane, statement by statement.

    order("S", "i", "2t + i")      S: C_i = 1, C_t = 0, then C_t = 2, C_i = 1
    innermost("S", "j")            S: C_j = 0, but for the last hyperplane C_j = 1, coincident within those before it
                                   but for updates of reductions that may run in any order
    outer_parallel("S")            the first hyperplane is coincident
    max_skew(2)                    C <= 2
    max_skew(0)                    the sum of C is at most 1
    together("S", "T")             S and T are one component: their hyperplanes are found by one ILP, without shifts d
    separate("S", "T")             no ILP for both

The bounds and rows stand in the ILP beside those of the dependences (Form.problem); so what is found is optimal among
what was asked for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import TypeVar

from polysched.config.constraints import (
    Constraint,
    Factor,
    Innermost,
    MaxSkew,
    Order,
    OuterParallel,
    Separate,
    TileSizes,
    Together,
    factors,
    fits,
    share_at_most,
)
from polysched.deps.components import Pair
from polysched.errors import InputError
from polysched.solve.independence import Found, Vector, is_independent

C = TypeVar("C", Order, Innermost)
Row = tuple[Factor, ...]  # one factor per iterator, None where it is free


@dataclass(frozen=True, eq=False)
class Demands:
    """Constraints on the statements of one scop, whose loops are counted as in the source."""

    constraints: tuple[Constraint, ...]
    iterators: Mapping[str, tuple[str, ...]]
    forward: Mapping[str, Vector]  # -1 for iterators that count down

    def fixed(self, name: str, found: Found) -> Iterator[tuple[int, int]]:
        """Positions of iterators, and the factors that these must have in the statement's next hyperplane."""
        for row in self._rows(name, len(found[name])):
            yield from ((k, factor) for k, factor in enumerate(row) if factor is not None)
        for c in self._of(name, Innermost):
            if left := self._left(name, found):
                k = self.iterators[name].index(c.iterator)
                yield k, self.forward[name][k] if left == 1 else 0

    def steepest(self, name: str) -> int | None:
        """The most that the factors may be, 0 for one iterator alone; None for no such limit."""
        asked = (c for c in self.constraints if isinstance(c, MaxSkew))
        return min((c.most for c in asked if fits(name, c.statements or "*")), default=None)

    def avoided(self, name: str, found: Found) -> tuple[Vector, ...]:
        """The hyperplanes found, and those that must follow: the next one is outside of their span."""
        if not self.constraints:
            return found[name]
        later = range(len(found[name]) + 1, len(self.iterators[name]))
        rows = (row for level in later for row in self._rows(name, level) if None not in row)
        return (*found[name], *(tuple(factor or 0 for factor in row) for row in rows))

    def is_settled(self, name: str, found: Found) -> bool:
        """Does what is fixed of the next hyperplane put it outside of the span of those found?"""
        fixed = dict(self.fixed(name, found))
        if not fixed:
            return False
        if len(fixed) < len(self.iterators[name]):
            return not found[name] and any(fixed.values())
        return is_independent(tuple(fixed[k] for k in range(len(fixed))), found[name])

    def is_parallel(self, names: Iterable[str], found: Found) -> bool:
        """Must the next hyperplane of these statements carry no dependence?"""
        asked = [c.statements or "*" for c in self.constraints if isinstance(c, OuterParallel)]
        first = [name for name in names if asked and self.iterators[name] and not found[name]]
        return any(fits(name, patterns) for name in first for patterns in asked)

    def is_simd(self, names: Iterable[str], found: Found) -> bool:
        """Must it carry none within the hyperplanes before it, but updates of reductions if their order is free?"""
        return any(self._is_last(name) and self._left(name, found) == 1 for name in names)

    def may_share(self, names: Collection[str], found: Found) -> bool:
        """May these statements have one more loop in common?"""
        for c in (c for c in self.constraints if isinstance(c, Separate)):
            for one, other in combinations(names, 2):
                if share_at_most(c, one, other) and min(len(found[one]), len(found[other])) >= c.depth:
                    return False
        last = {self._left(name, found) for name in names if self._is_last(name)}
        return not last & {0, 1} or len({self._left(name, found) for name in names}) == 1

    def pairs(self, names: Iterable[str], found: Found) -> list[Pair]:
        """Statements that must have their next loop in common, each pair both ways."""
        return [
            pair
            for c in self.constraints
            if isinstance(c, Together)
            for pair in permutations([name for name in names if fits(name, c.statements)], 2)
            if min(len(found[name]) for name in pair) < self._in_common(c, pair)
        ]

    def concern(self, names: Collection[str], found: Found) -> bool:
        """Is anything asked of the next hyperplane that source order may not give?"""
        return (
            any(True for name in names for _ in self.fixed(name, found))
            or self.is_parallel(names, found)
            or not self.may_share(names, found)
            or bool(self.pairs(names, found))
        )

    def _rows(self, name: str, level: int) -> Iterator[Row]:
        """What `order` says of one hyperplane of a statement."""
        for c in self._of(name, Order):
            if level < len(c.rows) and (row := factors(c.rows[level])) is not None:
                yield tuple(row.get(iterator, 0) for iterator in self.iterators[name])

    def _of(self, name: str, kind: type[C]) -> list[C]:
        """The constraints of this kind on the statement."""
        return [c for c in self.constraints if isinstance(c, kind) and fits(name, [c.statement])]

    def _is_last(self, name: str) -> bool:
        """Is something asked of the statement's last loop?"""
        return bool(self._of(name, Innermost))

    def _left(self, name: str, found: Found) -> int:
        return len(self.iterators[name]) - len(found[name])

    def _in_common(self, c: Together, names: Iterable[str]) -> int:
        return min(len(self.iterators[name]) for name in names) if c.depth is None else c.depth


NONE = Demands((), {}, {})


def require_names(constraints: Iterable[Constraint], iterators: Mapping[str, tuple[str, ...]]) -> None:
    """InputError for a constraint on a statement or an iterator that there is not, or that could never be met."""
    for c in constraints:
        for pattern in _patterns(c):
            if not any(fits(name, [pattern]) for name in iterators):
                there = ", ".join(f"{name}[{', '.join(its)}]" for name, its in iterators.items())
                raise InputError(f"{c}: there is no statement '{pattern}'", hint=f"the statements are: {there}")
        for name, its in iterators.items():
            if fits(name, _patterns(c)):
                _require_loops(c, name, its)
        if isinstance(c, Separate | Together):
            _require_several(c, iterators)


def _patterns(c: Constraint) -> tuple[str, ...]:
    return (c.statement,) if isinstance(c, Order | Innermost | TileSizes) else c.statements


def _require_loops(c: Constraint, name: str, its: tuple[str, ...]) -> None:
    loops = f"its loops are: {', '.join(its)}" if its else "it has none"
    match c:
        case Order(rows=rows):
            parsed = [factors(row) or {} for row in rows]
            for iterator in (x for row in parsed for x in row if x not in its):
                raise InputError(f"{c}: {name} has no loop '{iterator}'", hint=loops)
            if len(rows) > len(its):
                raise InputError(f"{c}: {name} has only {len(its)} of these {len(rows)} loops", hint=loops)
            _require_independent(c, [tuple(row.get(x, 0) for x in its) for row in parsed if row])
        case Innermost(iterator=iterator) if iterator not in its:
            raise InputError(f"{c}: {name} has no loop '{iterator}'", hint=loops)
        case TileSizes(sizes=sizes) if len(sizes) > len(its):
            raise InputError(f"{c}: {name} has only {len(its)} of these {len(sizes)} loops", hint=loops)


def _require_independent(c: Order, rows: list[Row]) -> None:
    before: tuple[Vector, ...] = ()
    for row in rows:
        if None not in row:
            vector = tuple(factor or 0 for factor in row)
            if not is_independent(vector, before):
                raise InputError(f"{c}: a loop is a combination of others", hint="each must be a new direction")
            before = (*before, vector)


def _require_several(c: Separate | Together, iterators: Mapping[str, tuple[str, ...]]) -> None:
    meant = [name for name in iterators if fits(name, c.statements)]
    pairs = permutations(meant, 2)
    if len(meant) < 2 or (isinstance(c, Separate) and not any(share_at_most(c, *pair) for pair in pairs)):
        there = ", ".join(iterators)
        raise InputError(f"{c} means one statement only: {', '.join(meant)}", hint=f"the statements are: {there}")
    for name in meant:
        if not iterators[name] and isinstance(c, Together):
            raise InputError(f"{c}: {name} has no loop to have in common")
        if isinstance(c, Together) and (c.depth or 0) > len(iterators[name]):
            only = f"{name} has only {len(iterators[name])} of these {c.depth} loops"
            raise InputError(f"{c}: {only}", hint=f"its loops are: {', '.join(iterators[name])}")
