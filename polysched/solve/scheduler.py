"""The Pluto scheduler: a tree of permutable bands, whose hyperplanes are optima of ILPs.

    for t: for i: a[t+1, i] = f(a[t, i-1], a[t, i], a[t, i+1])   ->   band: permutable
                                                                        [S[t, i] -> t]
                                                                        [S[t, i] -> t + i]

Statements that no dependence connects are scheduled apart, in source order; of the others as many share a band as
`fusion` lets. Below a band, only the dependences at distance zero on all its members are left.
Bondhugula et al., PLDI 2008, section 3.

All within a budget: what takes too long, or cannot be solved, falls back to the rungs of `Rung`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

import numpy as np

from polysched.config.constraints import Constraint
from polysched.config.options import Options
from polysched.deps.coincidence import mark_coincident, mark_under
from polysched.deps.components import components
from polysched.deps.dependences import Dependences
from polysched.errors import BudgetExceeded, IllegalSchedule
from polysched.model.scop import Scop, Statement
from polysched.model.tree.instances import only
from polysched.model.tree.nodes import Band, Context, Domain, Filter, InOrder, Leaf, Member, Tree, walk
from polysched.solve.bands import BandSearch, Plan
from polysched.solve.constraints.contradiction import contradiction_error
from polysched.solve.constraints.demands import Demands, require_names
from polysched.solve.constraints.honoured import missing
from polysched.solve.cost import Form
from polysched.solve.farkas import Edge, edges, parameter_space, within
from polysched.solve.fusion import Contradiction, Fusion, among
from polysched.solve.independence import Found
from polysched.solve.isl_scheduler import isl_schedule
from polysched.solve.record import Solve
from polysched.support import isl
from polysched.support.brief import brief
from polysched.support.clock import Deadline

# Who found a schedule, best first: each is tried when the one before it outgrew its budget.
Rung = Literal[
    "given",  # by the user
    "pluto",
    "pluto per SCC",
    "isl",
    "source order with parallel loops found",
    "source order",
]


@dataclass(frozen=True, kw_only=True)
class Scheduled:
    """A legal schedule, and where it comes from."""

    tree: Tree
    rung: Rung
    solves: tuple[Solve, ...] = field(default=(), repr=False)  # one a hyperplane, outermost first; Pluto's alone
    in_source_order: tuple[str, ...] = ()  # statements that no hyperplane was found for, inside of their bands
    reasons: tuple[str, ...] = ()  # why each better rung was given up
    constraints: tuple[Constraint, ...] = ()  # of the user's, all of them: the tree meets each

    def __repr__(self) -> str:
        return brief(self, f"{self.rung}: {self.tree}")


def find_schedule(scop: Scop, dependences: Dependences, options: Options) -> Scheduled:
    """A legal schedule with maximal permutable bands and coincident flags, within `options.solve_seconds`.

    Never raises for want of budget, unless `options.constraints` are not met then: `Scheduled.rung` names the fallback
    that answered. InputError for constraints on what there is not; IllegalSchedule for those that contradict the
    dependences or each other, with as few as do.
    """
    require_names(options.constraints, {s.name: s.iterators for s in scop.statements})
    deadline = Deadline.after(options.solve_seconds)
    reasons: list[str] = []
    for rung in (*_LADDERS[options.scheduler], _LAST):
        try:
            scheduled = _climb(rung, scop, dependences, options, deadline)
        except BudgetExceeded as error:
            reasons.append(f"{rung}: {error}")
            continue
        except Contradiction as found:
            retry = partial(_contradiction, rung, scop, dependences, options)
            raise contradiction_error(found, options.constraints, retry, scop) from None
        missed = missing(scheduled.tree, scop, dependences, options.constraints)
        if not missed:
            return replace(scheduled, reasons=tuple(reasons), constraints=options.constraints)
        reasons.append(f"{rung}: it does not meet {missed}")
    raise IllegalSchedule("no schedule that was found meets the constraints:\n  " + "\n  ".join(reasons))


_LADDERS: dict[str, tuple[Rung, ...]] = {
    "pluto": ("pluto", "pluto per SCC", "source order with parallel loops found"),
    "isl": ("isl", "source order with parallel loops found"),
    "source": ("source order with parallel loops found",),
}


_LAST: Rung = "source order"
_SHARES: dict[Rung, float] = {"pluto": 0.6, "pluto per SCC": 0.8, "isl": 0.8}  # of what is left of the time to solve
_FLAGS_SECONDS = 2.0  # to find the parallel loops of a given order, once that time is up


def _climb(rung: Rung, scop: Scop, dependences: Dependences, options: Options, deadline: Deadline) -> Scheduled:
    """What this rung gives; BudgetExceeded if it takes too long."""
    if rung == _LAST:
        return Scheduled(tree=scop.tree, rung=rung)
    share = deadline.share(_SHARES[rung]) if rung in _SHARES else Deadline.after(_FLAGS_SECONDS)
    with isl.within(share.left, options.isl_operations):
        match rung:
            case "pluto" | "pluto per SCC":
                try:
                    return _pluto(rung, scop, dependences, options, share)
                except Contradiction:
                    if dependences.ordered == dependences.scheduled:
                        raise
                    return _pluto(rung, scop, dependences, options, share, free=True)  # as constraints ask for
            case "isl":
                return Scheduled(tree=isl_schedule(scop, dependences, share), rung=rung)
            case "source order with parallel loops found":
                return Scheduled(tree=mark_coincident(scop.tree, dependences), rung=rung)
    raise AssertionError(f"no way to climb to rung '{rung}'")


def _contradiction(
    rung: Rung, scop: Scop, dependences: Dependences, options: Options, constraints: tuple[Constraint, ...]
) -> Contradiction | None:
    """What the search runs into with these constraints alone; None if it does not, or takes too long to tell."""
    deadline = Deadline.after(options.solve_seconds)
    try:
        _climb(rung, scop, dependences, replace(options, constraints=constraints), deadline)
    except Contradiction as found:
        return found
    except BudgetExceeded:
        return None
    return None


def _pluto(
    rung: Rung, scop: Scop, dependences: Dependences, options: Options, deadline: Deadline, *, free: bool = False
) -> Scheduled:
    per_component = rung == "pluto per SCC"
    search = BandSearch(form=_form(scop, dependences, options), solver=options.solver, deadline=deadline)
    policy = "none" if per_component else options.fusion
    fusion = Fusion(search=search, domain=scop.domain, policy=policy, is_lenient=per_component)
    builder = _Builder(scop=scop, fusion=fusion)
    found: Found = {s.name: () for s in scop.statements}
    order = builder.order(tuple(found), edges(scop, dependences, free=free), found)
    if per_component and not builder.solves:
        raise BudgetExceeded("no component was scheduled in time")
    return Scheduled(
        tree=Domain(scop.domain, Context(scop.context, order)),
        rung=rung,
        solves=tuple(builder.solves),
        in_source_order=tuple(builder.in_source_order),
    )


def _form(scop: Scop, dependences: Dependences, options: Options) -> Form:
    iterators = {s.name: s.iterators for s in scop.statements}
    forward = signs(scop.tree, scop.statements)
    return Form(
        sizes=isl.sizes_of(parameter_space(scop, dependences)),
        iterators=iterators,
        signs=forward,
        signed=options.negative_coefficients,
        demands=Demands(options.constraints, iterators, {name: tuple(s.tolist()) for name, s in forward.items()}),
    )


def signs(tree: Tree, statements: Iterable[Statement]) -> dict[str, np.ndarray]:
    """+1 or -1 for each iterator of a statement: -1 where the source counts down, so that the schedule should too."""
    found = {s.name: np.ones(s.depth, dtype=np.int64) for s in statements}
    for node in walk(tree):
        for member in node.members if isinstance(node, Band) else ():
            for function in isl.maps_of(member.schedule):
                pieces = isl.PwMultiAff.from_map(function).get_at(0).get_pieces()
                for k in range(function.dim(isl.dim_type.in_)) if len(pieces) == 1 else ():
                    if pieces[0][1].get_coefficient_val(isl.dim_type.in_, k).is_neg():
                        found[function.get_tuple_name(isl.dim_type.in_)][k] = -1
    return found


@dataclass(kw_only=True)
class _Builder:
    """Builds the tree from the outside in."""

    scop: Scop
    fusion: Fusion
    solves: list[Solve] = field(default_factory=list)
    in_source_order: list[str] = field(default_factory=list)

    def order(self, names: Sequence[str], edges: Iterable[Edge], found: Found) -> Tree:
        """The order of these statements inside of the hyperplanes `found`, which leave `edges`."""
        edges = tuple(edges)
        parts = components(names, self.fusion.pairs(names, edges, found))
        if self.fusion.policy == "max":
            parts = [list(names)]
        plans = [plan for part in parts for plan in self.fusion.bands(part, among(part, edges), found)]
        if len(plans) == 1:
            return self._tree(plans[0])
        return InOrder(tuple(Filter(self._instances(plan.names), self._tree(plan)) for plan in plans))

    def _tree(self, plan: Plan) -> Tree:
        """The plan's band and what is below it."""
        if not plan.solves:
            return self._without_band(plan)
        self.solves += plan.solves
        members = tuple(Member(solve.schedule, solve.is_coincident) for solve in plan.solves)
        left = [rest for edge in plan.edges for rest in within(edge, plan.hyperplanes)]
        return Band(members, permutable=True, child=self.order(plan.names, left, plan.found))

    def _without_band(self, plan: Plan) -> Tree:
        """A leaf if every hyperplane of the one statement is found, else source order, which respects every dependence,
        so also those that outer bands leave: only its parallel loops are new."""
        if len(plan.names) == 1 and not self.fusion.search.depth(plan.names, plan.found):
            return Leaf()
        self.in_source_order += plan.names
        left = isl.union_map(edge.relation.to_map() for edge in plan.edges)
        order = only(self.scop.tree, self._instances(plan.names).universe(), whole_loops=True)
        while isinstance(order, Domain | Context):
            order = order.child
        return mark_under(order, left)

    def _instances(self, names: Iterable[str]) -> isl.UnionSet:
        return isl.union_set(self.scop.statement(name).domain for name in names)
