"""Which strongly connected components share a band.

    S: b[i] = a[i] + a[i+1]                       smart, max:   one loop for both, T shifted by one
    T: c[i] = b[i] + b[i-1]                       none:         one loop each

smart  where values flow between loops of equal depth (Pluto's cut by dimensionality: Bondhugula et al., CC 2008),
       unless a loop that would be parallel alone, or a dimension of tiling, gets lost, or loops must be scaled, or
       shifted so far that they meet in less than half of their iterations
max    wherever a common hyperplane exists
none   never
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from polysched.deps.components import Pair, strongly_connected
from polysched.solve.bands import BandSearch, Plan
from polysched.solve.constraints.demands import Demands
from polysched.solve.farkas import Edge
from polysched.solve.independence import Found
from polysched.support import isl

Policy = Literal["smart", "max", "none"]


class Contradiction(Exception):
    """No hyperplane meets what the user asks of statements that cannot be cut apart."""

    def __init__(self, fusion: Fusion, plan: Plan):
        self.fusion, self.plan = fusion, plan  # without hyperplanes
        super().__init__(", ".join(plan.names))


@dataclass(frozen=True, kw_only=True)
class Fusion:
    """Decides for one scop."""

    search: BandSearch
    domain: isl.UnionSet
    policy: Policy
    is_lenient: bool  # a component that takes too long is left without a band

    def bands(self, names: Sequence[str], edges: Sequence[Edge], found: Found) -> list[Plan]:
        """Bands for connected statements, to run one after the other."""
        parts = strongly_connected(names, self.pairs(names, edges, found))
        if len(parts) > 1 and self.policy == "max":
            whole = self.search.widest(names, edges, found)
            if whole.solves:
                return [whole]
        alone = self.search.within_share if self.is_lenient else self.search.of_component
        plans: list[Plan] = []
        for part in parts:
            plan = alone(part, among(part, edges), found)
            if not plan.solves and self.search.depth(part, found) and self.demands.concern(part, found):
                raise Contradiction(self, plan)
            merged = self._merged(plans[-1], plan, edges, found) if plans else None
            plans[-1:] = [merged] if merged else [*plans[-1:], plan]
        return plans

    def pairs(self, names: Sequence[str], edges: Iterable[Edge], found: Found) -> list[Pair]:
        """What ties statements: dependences, and what the user wants in one loop."""
        return [*pairs(edges), *self.demands.pairs(names, found)]

    @property
    def demands(self) -> Demands:
        return self.search.form.demands

    def _merged(self, one: Plan, other: Plan, edges: Sequence[Edge], found: Found) -> Plan | None:
        """One band for both, if that is allowed and pays."""
        if not one.solves or not other.solves or not self._may_merge(one, other, edges, found):
            return None
        names = tuple(name for name in found if name in {*one.names, *other.names})  # in source order
        both = self.search.widest(names, among(names, edges), found)
        pays = self.policy == "max" or (_pays(both, one, other) and self._meet(both, one, other))
        return both if both.solves and pays else None

    def _meet(self, both: Plan, one: Plan, other: Plan) -> bool:
        """Do both have half of the values of each common loop, as far as these are known to be constant?"""
        for solve in both.solves:
            spans = [_span(solve.schedule, self.domain, plan.names) for plan in (one, other)]
            known = [span for span in spans if span is not None]
            if len(known) == len(spans):
                common = min(last for _, last in known) - max(first for first, _ in known) + 1
                if 2 * common <= min(last - first for first, last in known):
                    return False
        return True

    def _may_merge(self, one: Plan, other: Plan, edges: Sequence[Edge], found: Found) -> bool:
        if self.policy != "smart":
            return self.policy == "max"
        flow = (edge for edge in edges if edge.dependence.kind == "flow")
        meet = any(edge.source in one.names and edge.sink in other.names for edge in flow)
        return meet and self.search.depth(one.names, found) == self.search.depth(other.names, found)


def _pays(both: Plan, one: Plan, other: Plan) -> bool:
    """Does the common band lose neither an outer parallel loop nor a dimension of tiling, and is it no steeper?"""
    keeps_parallel = both.starts_parallel or not (one.starts_parallel or other.starts_parallel)
    keeps_tiles = len(both.solves) >= max(len(one.solves), len(other.solves))
    return keeps_parallel and keeps_tiles and both.steepest <= max(one.steepest, other.steepest)


def _span(schedule: isl.UnionMap, domain: isl.UnionSet, names: Iterable[str]) -> tuple[int, int] | None:
    """The least and the greatest value for these statements, if they are constant."""
    values = isl.union_set(s for s in isl.sets_of(domain) if s.get_tuple_name() in set(names)).apply(schedule)
    if values.is_empty():
        return None
    reached = isl.Set.from_union_set(values)
    if not (reached.dim_has_lower_bound(isl.dim_type.set, 0) and reached.dim_has_upper_bound(isl.dim_type.set, 0)):
        return None
    ends = reached.dim_min(0), reached.dim_max(0)
    if not all(end.is_cst() for end in ends):
        return None
    first, last = (int(end.max_val().get_num_si()) for end in ends)
    return first, last


def among(names: Iterable[str], edges: Iterable[Edge]) -> tuple[Edge, ...]:
    """The edges from one of these statements to another."""
    names = set(names)
    return tuple(edge for edge in edges if edge.source in names and edge.sink in names)


def pairs(edges: Iterable[Edge]) -> list[Pair]:
    """What must be kept in order, by statement names."""
    return [(edge.source, edge.sink) for edge in edges if edge.required]
