"""Does a tree meet what the user asked of it? Read off the tree itself, whoever made it.

    unmet(tree, scop, dependences, (order("S", "i", "j"),)) == ()
    missing(tree, scop, dependences, (innermost("S", "i"),)) == 'innermost("S", "i"): i is in the loop i + j, too'

Of a tiled tree, what is said about rows is about the loops inside of tiles, and loops in common may be those of tiles.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import combinations, takewhile

from polysched.config.constraints import (
    Constraint,
    Innermost,
    MaxSkew,
    Order,
    OuterParallel,
    Separate,
    TileSizes,
    Together,
    fits,
    is_asked,
    share_at_most,
)
from polysched.deps.coincidence import carried, left_below, together
from polysched.deps.dependences import Dependences
from polysched.errors import IllegalSchedule
from polysched.model.scop import Scop, Statement
from polysched.model.tree.nodes import Band, Filter, Member, Tree, children
from polysched.model.tree.text import member_text
from polysched.solve.constraints.demands import require_names
from polysched.solve.hyperplane import sum_text
from polysched.solve.independence import Vector, is_independent
from polysched.support import isl


def unmet(
    tree: Tree, scop: Scop, dependences: Dependences, constraints: Iterable[Constraint]
) -> tuple[Constraint, ...]:
    """The constraints that the tree does not meet; nothing is said of tile sizes."""
    return tuple(_faults(tree, scop, dependences, tuple(constraints)))


def missing(tree: Tree, scop: Scop, dependences: Dependences, constraints: Iterable[Constraint]) -> str:
    """The same as text, with reasons where a constraint does not say it all; "" if the tree meets each."""
    faults = _faults(tree, scop, dependences, tuple(constraints))
    reasons = "; ".join(filter(None, faults.values()))
    return " and ".join(map(str, faults)) + (f": {reasons}" if reasons else "")


def require_met(tree: Tree, scop: Scop, dependences: Dependences, constraints: tuple[Constraint, ...]) -> Tree:
    """The tree itself; IllegalSchedule names the constraints that it does not meet, InputError those on what there is
    not."""
    require_names(constraints, {s.name: s.iterators for s in scop.statements})
    missed = missing(tree, scop, dependences, constraints)
    if missed:
        raise IllegalSchedule(f"the schedule given does not meet {missed}")
    return tree


def _faults(
    tree: Tree, scop: Scop, dependences: Dependences, constraints: tuple[Constraint, ...]
) -> dict[Constraint, str]:
    """What is not met, and why, "" where that is plain."""
    if not constraints:
        return {}
    ways = {s.name: tuple(_ways(tree, s, dependences.coincidence, dependences.validity)) for s in scop.statements}
    faults = {c: _fault(c, ways) for c in constraints}
    return {c: fault for c, fault in faults.items() if fault is not None}


@dataclass(frozen=True, eq=False)
class _Step:
    """A loop around a statement."""

    statement: Statement
    member: Member
    reaching: isl.UnionMap  # the dependences that reach its band
    inside: isl.UnionMap  # those within the members before it that must stay in order

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

    @cached_property
    def function(self) -> isl.Map:
        """{ S[i, j] -> [value] }"""
        return isl.Map.from_union_map(self.member.schedule.intersect_domain(self.statement.instances))

    @property
    def text(self) -> str:
        """As in "n + i"."""
        return member_text(self.function.gist_domain(self.statement.domain)).partition(" -> ")[2]

    @property
    def is_parallel(self) -> bool:
        return bool(carried(self.member, self.reaching).is_empty())

    @property
    def is_simd(self) -> bool:
        return bool(carried(self.member, self.inside).is_empty())


_Way = tuple[_Step, ...]  # from the root to a leaf
_Pair = tuple[_Step, _Step]  # one loop around two statements


def _ways(tree: Tree, statement: Statement, reaching: isl.UnionMap, ordered: isl.UnionMap) -> Iterator[_Way]:
    """The loops around a statement, outermost first, for each place where it runs, with the part that runs there."""
    if isinstance(tree, Filter):
        here = isl.sets_of(tree.filter.intersect(statement.instances))
        if not here:
            return
        statement = replace(statement, domain=here[0])
    steps, inside = [], reaching.intersect(ordered)
    for member in tree.members if isinstance(tree, Band) else ():
        steps.append(_Step(statement, member, reaching, inside))
        inside = inside.intersect(together(member))
    below, left = children(tree), left_below(tree, reaching)
    if not below:
        yield ()
    for child in below:
        yield from ((*steps, *way) for way in _ways(child, statement, left, ordered))


def _fault(c: Constraint, ways: dict[str, tuple[_Way, ...]]) -> str | None:
    """Why it is not met, None if it is."""
    match c:
        case Innermost(statement=pattern, iterator=iterator):
            return next(filter(None, (_not_last(way, iterator) for way in _of(ways, [pattern]))), None)
        case Together(statements=patterns):
            pairs = combinations([name for name in ways if fits(name, patterns)], 2)
            apart = (_apart(ways[a], ways[b], c.depth) for a, b in pairs)
            return next((fault for fault in apart if fault is not None), None)
    return None if _is_met(c, ways) else ""


def _is_met(c: Constraint, ways: dict[str, tuple[_Way, ...]]) -> bool:
    match c:
        case Order(statement=pattern, rows=rows):
            return all(_is_in_order(way, rows) for way in _of(ways, [pattern]))
        case OuterParallel(statements=patterns):
            return all(way[0].is_parallel for way in _of(ways, patterns or "*") if way)
        case MaxSkew(most=most, statements=patterns):
            rows_of = (step.row for way in _of(ways, patterns or "*") for step in way)
            return all(_is_skewed_at_most(row, most) for row in rows_of if row is not None)
        case Separate(depth=depth):
            pairs = [(a, b) for a, b in combinations(ways, 2) if share_at_most(c, a, b)]
            return all(_count(_shared(x, y)) <= depth for a, b in pairs for x in ways[a] for y in ways[b])
        case TileSizes():
            return True
    raise AssertionError(f"unknown constraint {c}")


def _of(ways: dict[str, tuple[_Way, ...]], patterns: Iterable[str]) -> Iterator[_Way]:
    patterns = tuple(patterns)
    return (way for name, its in ways.items() if fits(name, patterns) for way in its)


def _is_in_order(way: _Way, rows: tuple[str, ...]) -> bool:
    iterators, found = way[0].statement.iterators, _rows(way)
    pairs = zip(found, rows, strict=False)
    return len(found) >= len(rows) and all(is_asked(row, asked, iterators) for row, asked in pairs)


def _not_last(way: _Way, iterator: str) -> str:
    """Why the iterator is not in the last loop alone, or this one no SIMD; "" if it is."""
    found = _rows(way)
    if not found:
        return f"no loop runs along {iterator}"
    iterators = way[0].statement.iterators
    k, texts = iterators.index(iterator), [sum_text(zip(row, iterators, strict=True)) for row in found]
    if abs(found[-1][k]) != 1:
        return f"the last loop is {texts[-1]}"
    for row, text in zip(found[:-1], texts[:-1], strict=True):
        if row[k]:
            return f"{iterator} is in the loop {text}, too"
    last = next(step for step in reversed(way) if step.row == found[-1])
    if way[-1] is not last:
        return f"the loop {texts[-1]} has another one inside"
    return "" if last.is_simd else f"iterations of the loop {texts[-1]} depend on each other"


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


def _apart(ones: tuple[_Way, ...], others: tuple[_Way, ...], depth: int | None) -> str | None:
    """Which loop runs the statements one after the other, "" if they have too few; None if they have enough."""
    least = min((way[0].statement.depth if way else 0 for way in (*ones, *others)), default=0)
    asked = least if depth is None else depth
    for one in ones:
        if max((_count(_met(one, other)) for other in others), default=asked) < asked:
            return next(filter(None, (_one_after_the_other(one, other) for other in others)), "")
    return None


def _one_after_the_other(one: _Way, other: _Way) -> str:
    """As in "loop i of S and loop n + i of T run one after the other"; "" if none does so."""
    shared, met = _shared(one, other), _met(one, other)
    if len(shared) == len(met):
        return ""
    loops = (f"loop {step.text} of {step.statement.name}" for step in shared[len(met)])
    return f"{' and '.join(loops)} run one after the other"


def _count(pairs: tuple[_Pair, ...]) -> int:
    """How many they are over tiles or inside of them, whichever are more."""
    over_tiles = [a.row is None for a, _ in pairs]
    return max(over_tiles.count(True), over_tiles.count(False))


def _shared(one: _Way, other: _Way) -> tuple[_Pair, ...]:
    """The same loops, around either statement."""
    return tuple(takewhile(lambda pair: pair[0].member is pair[1].member, zip(one, other, strict=False)))


def _met(one: _Way, other: _Way) -> tuple[_Pair, ...]:
    """Those of them, before the first that has no values in common."""
    shared = _shared(one, other)
    return shared[: next((k for k in range(len(shared)) if not _overlap(shared[: k + 1])), len(shared))]


def _overlap(pairs: tuple[_Pair, ...]) -> bool:
    """Has the last loop a range in common, that grows if both of its ranges grow with the sizes?"""
    one, other = (_values(steps) for steps in zip(*pairs, strict=True))
    both = one.intersect(other)
    return not both.is_empty() and (_grows(both) or not (_grows(one) and _grows(other)))


def _values(steps: _Way) -> isl.Set:
    """{ [t, i] } that these loops run through for their statement, with what strides leave out."""
    loops = reduce(isl.Map.flat_range_product, (step.function for step in steps))
    return loops.range().remove_divs()


def _grows(values: isl.Set) -> bool:
    """Is the last loop of any length, for given values of those around it?"""
    last = values.dim(isl.dim_type.set) - 1
    around = isl.Map.identity(values.get_space().map_from_set()).project_out(isl.dim_type.out, last, 1)
    lengths = around.apply_range(around.reverse()).intersect_domain(values).intersect_range(values).deltas()
    return not lengths.project_out_all_params().is_bounded()
