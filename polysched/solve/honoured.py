"""Does a tree meet what the user asked of it? Read off the tree itself, whoever made it.

    unmet(tree, scop, dependences, (order("S", "i", "j"),)) == ()

Of a tiled tree, what is said about rows is about the loops inside of tiles, and loops in common may be those of tiles.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from polysched import isl
from polysched.constraints import (
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
from polysched.deps.coincidence import carried, left_below, together
from polysched.deps.dependences import Dependences
from polysched.errors import IllegalSchedule
from polysched.model.scop import Scop, Statement
from polysched.model.tree import Band, Filter, Member, Tree, children
from polysched.solve.demands import require_names
from polysched.solve.independence import Vector, is_independent


def unmet(
    tree: Tree, scop: Scop, dependences: Dependences, constraints: Iterable[Constraint]
) -> tuple[Constraint, ...]:
    """The constraints that the tree does not meet; nothing is said of tile sizes."""
    constraints = tuple(constraints)
    if not constraints:
        return ()
    ways = {s.name: tuple(_ways(tree, s, dependences.coincidence)) for s in scop.statements}
    return tuple(c for c in constraints if not _is_met(c, ways))


def require_met(tree: Tree, scop: Scop, dependences: Dependences, constraints: tuple[Constraint, ...]) -> Tree:
    """The tree itself; IllegalSchedule names the constraints that it does not meet, InputError those on what there is
    not."""
    require_names(constraints, {s.name: s.iterators for s in scop.statements})
    missed = unmet(tree, scop, dependences, constraints)
    if missed:
        raise IllegalSchedule(f"the schedule given does not meet {' and '.join(map(str, missed))}")
    return tree


@dataclass(frozen=True, eq=False)
class _Step:
    """A loop around a statement."""

    statement: Statement
    member: Member
    reaching: isl.UnionMap  # the dependences that reach its band
    inside: isl.UnionMap  # and those within the members before it

    @cached_property
    def row(self) -> Vector | None:
        """The factors of the iterators; None for a loop over tiles, or if there are several."""
        own = isl.UnionSet.from_set(isl.Set.universe(self.statement.domain.get_space()))
        pieces = Member(self.member.schedule.intersect_domain(own)).pieces
        if any(aff.dim(isl.dim_type.div) for aff in pieces):
            return None
        depth = range(self.statement.depth)
        rows = {tuple(aff.get_coefficient_val(isl.dim_type.in_, k).to_python() for k in depth) for aff in pieces}
        return rows.pop() if len(rows) == 1 else None

    @property
    def is_parallel(self) -> bool:
        return bool(carried(self.member, self.reaching).is_empty())

    @property
    def is_simd(self) -> bool:
        return bool(carried(self.member, self.inside).is_empty())


_Way = tuple[_Step, ...]  # from the root to a leaf


def _ways(tree: Tree, statement: Statement, reaching: isl.UnionMap) -> Iterator[_Way]:
    """The loops around a statement, outermost first, for each place where it runs."""
    if isinstance(tree, Filter) and tree.filter.intersect(isl.UnionSet.from_set(statement.domain)).is_empty():
        return
    steps, inside = [], reaching
    for member in tree.members if isinstance(tree, Band) else ():
        steps.append(_Step(statement, member, reaching, inside))
        inside = inside.intersect(together(member))
    below, left = children(tree), left_below(tree, reaching)
    if not below:
        yield ()
    for child in below:
        yield from ((*steps, *way) for way in _ways(child, statement, left))


def _is_met(c: Constraint, ways: dict[str, tuple[_Way, ...]]) -> bool:
    match c:
        case Order(statement=pattern, rows=rows):
            return all(_is_in_order(way, rows) for way in _of(ways, [pattern]))
        case Innermost(statement=pattern, iterator=iterator):
            return all(_runs_last(way, iterator) for way in _of(ways, [pattern]))
        case OuterParallel(statements=patterns):
            return all(way[0].is_parallel for way in _of(ways, patterns or "*") if way)
        case MaxSkew(most=most, statements=patterns):
            rows_of = (step.row for way in _of(ways, patterns or "*") for step in way)
            return all(_is_skewed_at_most(row, most) for row in rows_of if row is not None)
        case Separate(depth=depth):
            pairs = [(a, b) for a, b in combinations(ways, 2) if share_at_most(c, a, b)]
            return all(_in_common(x, y) <= depth for a, b in pairs for x in ways[a] for y in ways[b])
        case Together(statements=patterns):
            meant = [name for name in ways if fits(name, patterns)]
            return all(_have_in_common(ways[a], ways[b], c.depth) for a, b in combinations(meant, 2))
        case TileSizes():
            return True
    raise AssertionError(f"unknown constraint {c}")


def _of(ways: dict[str, tuple[_Way, ...]], patterns: Iterable[str]) -> Iterator[_Way]:
    patterns = tuple(patterns)
    return (way for name, its in ways.items() if fits(name, patterns) for way in its)


def _is_in_order(way: _Way, rows: tuple[str, ...]) -> bool:
    iterators, found = way[0].statement.iterators, _rows(way)
    pairs = zip(found, map(factors, rows), strict=False)
    return len(found) >= len(rows) and all(_agree(row, asked, iterators) for row, asked in pairs)


def _agree(row: Vector, asked: dict[str, Factor] | None, iterators: tuple[str, ...]) -> bool:
    if asked is None:
        return True
    return all(asked.get(iterator, 0) in (None, own) for iterator, own in zip(iterators, row, strict=True))


def _runs_last(way: _Way, iterator: str) -> bool:
    k, found = way[0].statement.iterators.index(iterator), _rows(way)
    last = next(step for step in reversed(way) if step.row == found[-1])
    outer = [row[k] for row in found[:-1]]
    return way[-1] is last and not any(outer) and abs(found[-1][k]) == 1 and last.is_simd


def _rows(way: _Way) -> list[Vector]:
    """Those that bring a new direction."""
    found: list[Vector] = []
    for step in way:
        if step.row is not None and is_independent(step.row, tuple(found)):
            found.append(step.row)
    return found


def _is_skewed_at_most(row: Vector, most: int) -> bool:
    factors = [abs(factor) for factor in row]
    return sum(factors) <= 1 if most == 0 else max(factors, default=0) <= most


def _have_in_common(ones: tuple[_Way, ...], others: tuple[_Way, ...], depth: int | None) -> bool:
    least = min((way[0].statement.depth if way else 0 for way in (*ones, *others)), default=0)
    asked = least if depth is None else min(depth, least)
    return all(max((_in_common(one, other) for other in others), default=asked) >= asked for one in ones)


def _in_common(one: _Way, other: _Way) -> int:
    """How many loops are the same, over tiles or inside of them, whichever are more."""
    shared = []
    for a, b in zip(one, other, strict=False):
        if a.member is not b.member:
            break
        shared.append(a.row is None)
    return max(shared.count(True), shared.count(False))
