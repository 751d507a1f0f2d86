"""The widest permutable band of some statements: hyperplanes that are all legal for all dependences that reach it.

    for i: for j: a[i+1, j] = f(a[i, j-1], a[i, j+1])       ->      i, then i + j: (0, 1) is not legal
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from polysched.errors import BudgetExceeded
from polysched.solve.cost import Form, Way
from polysched.solve.farkas import Edge, within
from polysched.solve.hyperplane import Hyperplane
from polysched.solve.independence import Found, complement, is_independent
from polysched.solve.lexmin import Solver, lexmin
from polysched.solve.record import Solve
from polysched.support.clock import Deadline


@dataclass(frozen=True, eq=False, kw_only=True)
class Plan:
    """A band for some statements, not yet built; without hyperplanes if none is legal or all were found outside."""

    names: tuple[str, ...]  # in source order
    edges: tuple[Edge, ...]  # those between the statements
    solves: tuple[Solve, ...] = ()  # one per hyperplane
    found: Found  # the hyperplanes around the band and in it

    @property
    def hyperplanes(self) -> tuple[Hyperplane, ...]:
        return tuple(solve.hyperplane for solve in self.solves)

    @property
    def starts_parallel(self) -> bool:
        return bool(self.solves) and self.solves[0].is_coincident

    @property
    def steepest(self) -> int:
        """The largest magnitude of a coefficient."""
        return max((abs(c) for h in self.hyperplanes for affine in h.values() for c in affine.coefficients), default=0)


@dataclass(kw_only=True)
class BandSearch:
    """Finds bands with one solver, until one deadline."""

    form: Form
    solver: Solver
    deadline: Deadline

    def widest(self, names: Iterable[str], edges: Iterable[Edge], found: Found) -> Plan:
        """The band of as many hyperplanes as can be found, one after the other."""
        plan = Plan(names=tuple(names), edges=tuple(edges), found=found)
        while self.depth(plan.names, plan.found):
            longer = self._extended(plan, self.form)
            if longer is None:
                break
            plan = longer
        return plan

    def of_component(self, names: Iterable[str], edges: Iterable[Edge], found: Found) -> Plan:
        """The same for statements that cannot be cut apart: if nothing else is legal, one hyperplane with
        coefficients of either sign."""
        plan = self.widest(names, edges, found)
        if plan.solves or self.form.signed or not self.depth(plan.names, plan.found):
            return plan
        return self._extended(plan, self._signed_form) or plan

    def within_share(self, names: Iterable[str], edges: Iterable[Edge], found: Found) -> Plan:
        """`of_component` in a fifth of the time left, or no band at all."""
        search = replace(self, deadline=self.deadline.share(0.2))
        try:
            return search.of_component(names, edges, found)
        except BudgetExceeded:
            if self.form.demands.concern(tuple(names), found):
                raise
            return Plan(names=tuple(names), edges=tuple(edges), found=found)

    def depth(self, names: Iterable[str], found: Found) -> int:
        """How many independent hyperplanes are still to be found, for the statement with the most."""
        return max(len(complement(found[name], len(self.form.iterators[name]))) for name in names)

    @cached_property
    def _signed_form(self) -> Form:
        return replace(self.form, signed=True, cache={})

    def _extended(self, plan: Plan, form: Form) -> Plan | None:
        """The plan with one more hyperplane, or None if there is none."""
        if not form.demands.may_share(plan.names, plan.found):
            return None
        for way in self._ways(plan, form):
            solve = self._solve(plan, form, way)
            if solve is not None:
                return replace(plan, solves=(*plan.solves, solve), found=_with(plan.found, solve.hyperplane))
        return None

    def _solve(self, plan: Plan, form: Form, way: Way) -> Solve | None:
        start = time.perf_counter()
        required = tuple(edge for edge in plan.edges if edge.required)
        coincident = self._coincident(plan)
        problem = form.problem(plan.names, required, plan.found, way, coincident)
        optimum = lexmin(problem, self.solver, self.deadline)
        if optimum is None:
            return None
        solve = Solve(
            statements=plan.names,
            form=form,
            edges=plan.edges,
            found=plan.found,
            problem=problem,
            optimum=optimum,
            seconds=time.perf_counter() - start,
            coincident=coincident,
        )
        assert all(edge.is_respected(solve.hyperplane) for edge in required), "the ILP's optimum breaks a dependence"
        return solve

    def _coincident(self, plan: Plan) -> tuple[Edge, ...]:
        """What the user wants at distance zero: all that reaches the band, or what its hyperplanes leave to be kept in
        order."""
        demands = self.form.demands
        if demands.is_parallel(plan.names, plan.found):
            return plan.edges
        if demands.is_simd(plan.names, plan.found):
            ordered = (edge for edge in plan.edges if edge.required)
            return tuple(rest for edge in ordered for rest in within(edge, plan.hyperplanes))
        return ()

    def _ways(self, plan: Plan, form: Form) -> Iterator[Way]:
        """The default orthant, then one half-space after the other: together everything outside of the span, as far
        as all statements go the same way."""
        yield Way()
        started = [name for name in plan.names if plan.found[name]]
        if started and not form.signed:
            count = self.depth(started, plan.found)
            for basis in range(count):
                yield from (Way(basis, 1), Way(basis, -1)) if count > 1 else (Way(basis, -1),)


def _with(found: Found, hyperplane: Hyperplane) -> Found:
    """`found` and the coefficients of the hyperplane, where they are new."""
    new = {name: affine.coefficients for name, affine in hyperplane.items()}
    return found | {name: (*found[name], c) for name, c in new.items() if is_independent(c, found[name])}
