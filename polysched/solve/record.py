"""What one ILP said: the hyperplane, and for every dependence its distance and the bound on it.

    S: 5 rows, 5 unknowns, 0.6 ms: w=2, C1=1, C2=1
        flow S -> S on a: delta 2 <= 2
        flow S -> S on a: delta 1 <= 2
        flow S -> S on a: delta 0 <= 2
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from polysched.deps.dependences import Dependence
from polysched.solve.cost import Form
from polysched.solve.farkas import Edge
from polysched.solve.hyperplane import Hyperplane, schedule, sum_text
from polysched.solve.independence import Found
from polysched.solve.problem import Problem
from polysched.support import isl


@dataclass(frozen=True, kw_only=True)
class Distance:
    """How far a hyperplane spreads one piece of a dependence that reaches its band."""

    dependence: Dependence
    relation: isl.Map  # { source[i] -> sink[i'] }, the pairs that reach the band
    schedule: isl.UnionMap  # the hyperplane, { S[i, j] -> [phi] }
    bound: str  # u*N + w, which no distance in the band exceeds: "2", "N + 1"
    is_coincident: bool  # zero for all pairs

    @property
    def delta(self) -> isl.Set:
        """{ [phi(sink) - phi(source)] }: the reuse distance if the loop is sequential; if it is parallel, how much is
        communicated (Bondhugula et al., PLDI 2008, section 3.2)."""
        times = isl.UnionMap.from_map(self.relation).apply_domain(self.schedule).apply_range(self.schedule)
        return isl.Set.from_union_set(times.deltas())

    def __str__(self) -> str:
        d, value = self.dependence, self.delta.plain_get_val_if_fixed(isl.dim_type.set, 0)
        delta = str(value) if value.is_int() else f"in {self.delta}"
        return f"{d.kind} {d.source} -> {d.sink} on {d.array}: delta {delta} <= {self.bound}"


@dataclass(frozen=True, eq=False, kw_only=True)
class Solve:
    """One hyperplane of a schedule and the ILP that it is the optimum of."""

    statements: tuple[str, ...]
    form: Form
    edges: tuple[Edge, ...]  # all that reach the band; the ILP has rows for those that are required
    found: Found  # hyperplanes before this one
    problem: Problem
    optimum: np.ndarray  # int64, one per unknown of the problem
    seconds: float
    coincident: tuple[Edge, ...] = ()  # at distance zero on request

    @cached_property
    def hyperplane(self) -> Hyperplane:
        return self.form.hyperplane(self.statements, self.optimum)

    @cached_property
    def schedule(self) -> isl.UnionMap:
        """{ S[i, j] -> [phi_S(i, j)] }"""
        return schedule(self.hyperplane, self.form.iterators, self.form.sizes)

    @cached_property
    def is_coincident(self) -> bool:
        """Is every dependence of the band, updates of reductions included, at distance zero?"""
        return all(edge.is_coincident(self.hyperplane) for edge in self.edges)

    @property
    def solution(self) -> Mapping[str, int]:
        """The optimum by name of unknown: u, w, C1, C2, c0, ..."""
        return dict(zip(self.problem.names, map(int, self.optimum), strict=True))

    @property
    def bound(self) -> str:
        """u*N + w at the optimum."""
        count = len(self.form.sizes)
        return sum_text(zip(map(int, self.optimum[:count]), self.form.sizes, strict=True), int(self.optimum[count]))

    @property
    def written(self) -> tuple[str, ...]:
        """The ILP's rows as the literature writes them, with those that always hold: "C1 + C2 >= 0"."""
        return self.form.written(self.statements, self._required, self.found, self.coincident)

    @property
    def distances(self) -> tuple[Distance, ...]:
        """One for each required piece of a dependence."""
        return tuple(
            Distance(
                dependence=edge.dependence,
                relation=edge.relation.to_map(),
                schedule=self.schedule,
                bound=self.bound,
                is_coincident=edge.is_coincident(self.hyperplane),
            )
            for edge in self._required
        )

    @property
    def _required(self) -> tuple[Edge, ...]:
        return tuple(edge for edge in self.edges if edge.required)

    def __str__(self) -> str:
        values = ", ".join(f"{name}={value}" for name, value in self.solution.items() if value)
        rows, unknowns = self.problem.rows.shape
        size = f"{rows} rows, {unknowns} unknowns, {1e3 * self.seconds:.1f} ms"
        return "\n".join((f"{', '.join(self.statements)}: {size}: {values}", *(f"    {d}" for d in self.distances)))
