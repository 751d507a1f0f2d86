"""Farkas' lemma: all affine functions that are never negative on a dependence, as a cone of coefficients.

    { S[i] -> S[i'] : i' = i + 1 and 0 <= i < N }      ->      constant + N * size + step >= 0, size >= 0
                                                               for every constant + size * N + step * (i' - i) >= 0

A schedule respects the dependence if phi(sink) - phi(source) lies in the cone, and so on: each question about a
hyperplane is a product of integer matrices. The cone is that of the rational hull, so the answers are safe.
Feautrier, IJPP 1992, theorem 1; isl finds the cone with the multipliers eliminated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np

from polysched.deps.dependences import Dependence, Dependences
from polysched.errors import BudgetExceeded
from polysched.model.scop import Scop
from polysched.solve.hyperplane import Hyperplane
from polysched.support import isl


@dataclass(frozen=True, eq=False)
class Edge:
    """One convex piece of a dependence, as far as outer bands leave it to be respected."""

    dependence: Dependence
    relation: isl.BasicMap  # { source[i] -> sink[i'] }, the parameters as in `parameter_space`
    required: bool  # False: the pairs may run in any order, only not at the same time

    @property
    def source(self) -> str:
        return self.dependence.source

    @property
    def sink(self) -> str:
        return self.dependence.sink

    @property
    def is_loop(self) -> bool:
        """Does it stay within one statement? Then its cone is one over iteration distances."""
        return self.source == self.sink

    @cached_property
    def cone(self) -> np.ndarray:
        """Rows `r . y >= 0`; y holds the factors of 1, the sizes, and the distances i' - i of a loop, or else the
        source's and then the sink's iterators."""
        # Existentials are eliminated rationally: isl's coefficients() refuses them.
        over = self.relation.deltas() if self.is_loop else self.relation.wrap()
        return _rows(over.remove_divs().coefficients())

    @property
    def uniform_distance(self) -> tuple[int, ...] | None:
        """i' - i if that is the same for all pairs of a loop."""
        if not self.is_loop:
            return None
        distance = isl.fixed(isl.Map.from_range(self.relation.deltas().to_set()))
        known = tuple(value for value in distance if value is not None)
        return known if len(known) == len(distance) else None

    def difference(self, hyperplane: Hyperplane) -> np.ndarray:
        """phi(sink) - phi(source) as a vector y of the cone's columns."""
        source, sink = hyperplane[self.source], hyperplane[self.sink]
        if self.is_loop:
            return np.array([0, *(0 for _ in sink.shift), *sink.coefficients], dtype=np.int64)
        shift = (b - a for a, b in zip(source.shift, sink.shift, strict=True))
        iterators = (*(-a for a in source.coefficients), *sink.coefficients)
        return np.array([sink.constant - source.constant, *shift, *iterators], dtype=np.int64)

    def is_respected(self, hyperplane: Hyperplane) -> bool:
        """phi(sink) >= phi(source) on all pairs?"""
        return bool((self.cone @ self.difference(hyperplane) >= 0).all())

    def is_carried(self, hyperplane: Hyperplane) -> bool:
        """phi(sink) > phi(source) on all pairs?"""
        return bool((self.cone @ self.difference(hyperplane) - self.cone[:, 0] >= 0).all())

    def is_coincident(self, hyperplane: Hyperplane) -> bool:
        """phi(sink) == phi(source) on all pairs?"""
        difference = self.difference(hyperplane)
        return bool((self.cone @ difference >= 0).all() and (self.cone @ -difference >= 0).all())


def edges(scop: Scop, dependences: Dependences, *, free: bool = False) -> tuple[Edge, ...]:
    """The pieces of all dependences between instances, within the scop's context; with `free`, updates that commute
    need no order."""
    space = parameter_space(scop, dependences)
    required = {id(d) for d in (dependences.ordered if free else dependences.scheduled)}
    return tuple(
        Edge(dependence, piece, id(dependence) in required)
        for dependence in dependences.of("flow", "anti", "output")
        for piece in dependence.relation.align_params(space).intersect_params(scop.context).get_basic_maps()
        if not piece.is_empty()
    )


def parameter_space(scop: Scop, dependences: Dependences) -> isl.Space:
    """The sizes that occur anywhere, in one order."""
    spaces = (d.relation.get_space().params() for d in dependences.pairs)
    return reduce(isl.Space.align_params, spaces, scop.context.get_space())


def within(edge: Edge, hyperplanes: Iterable[Hyperplane]) -> Iterator[Edge]:
    """What is left of the edge inside a band: the pairs at distance zero on all hyperplanes, none or one edge."""
    hyperplanes = tuple(hyperplanes)
    if any(edge.is_carried(h) for h in hyperplanes):
        return
    moving = [h for h in hyperplanes if not edge.is_coincident(h)]
    relation = reduce(isl.BasicMap.add_constraint, (_zero_distance(edge, h) for h in moving), edge.relation)
    if not moving:
        yield edge
    elif not relation.is_empty():
        yield Edge(edge.dependence, relation, edge.required)


def _zero_distance(edge: Edge, hyperplane: Hyperplane) -> isl.Constraint:
    """phi(sink) - phi(source) = 0"""
    source, sink = hyperplane[edge.source], hyperplane[edge.sink]
    space = isl.LocalSpace.from_space(edge.relation.get_space())
    constraint = isl.Constraint.equality_alloc(space).set_constant_val(isl.Val(sink.constant - source.constant))
    for k, (a, b) in enumerate(zip(source.shift, sink.shift, strict=True)):
        constraint = constraint.set_coefficient_val(isl.dim_type.param, k, isl.Val(b - a))
    for k, a in enumerate(source.coefficients):
        constraint = constraint.set_coefficient_val(isl.dim_type.in_, k, isl.Val(-a))
    for k, b in enumerate(sink.coefficients):
        constraint = constraint.set_coefficient_val(isl.dim_type.out, k, isl.Val(b))
    return constraint


def _rows(cone: isl.BasicSet) -> np.ndarray:
    """The constraints as int64 rows, an equality as two; all constant terms are zero."""
    # PolyLib text is the fastest way out of isl: element-wise access takes ten times as long.
    printer = isl.Printer.to_str(isl.DEFAULT_CONTEXT).set_output_format(isl.format.POLYLIB)
    shape, _, body = printer.print_basic_set(cone).get_str().partition("\n")
    count, width = map(int, shape.split())
    try:
        table = np.array(body.split(), dtype=np.int64).reshape(count, width)
    except OverflowError as error:
        raise BudgetExceeded("a dependence's cone needs numbers of more than 64 bits") from error
    equal, rows = table[:, 0] == 0, table[:, 1:-1]
    return np.concatenate([rows, -rows[equal]])
