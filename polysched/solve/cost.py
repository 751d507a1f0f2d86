"""The rows of the scheduling ILP: legality, the bound on distances, and what makes a hyperplane a new one.

    S[i, j] -> S[i+1, j+1]          C1 + C2 >= 0                legality: the sink is not before the source
    over the unknowns         ->    u*N + w >= C1 + C2          the bound, which is minimized
    u, w, C1, C2, c0                C1 + C2 >= 1                not zero; after (1, 0) was found: C2 >= 1

Bondhugula et al., PLDI 2008, section 3; with `signed` coefficients Bondhugula et al., TOPLAS 2016, section 3
(Pluto+), where a 0-1 unknown per statement chooses the half-space that its hyperplane lies in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from polysched.solve.constraints.demands import NONE, Demands
from polysched.solve.farkas import Edge
from polysched.solve.hyperplane import Affine, Hyperplane, row_text
from polysched.solve.independence import Found, Vector, complement
from polysched.solve.layout import Layout
from polysched.solve.problem import Problem


@dataclass(frozen=True)
class Way:
    """Which way out of the span of the hyperplanes found; all statements go the same way.

    By default every basis vector of the complement must have a product of zero or more with the new hyperplane,
    and their sum one or more, which covers one orthant. Else the product with number `basis`, times `sign`, must be.
    """

    basis: int | None = None
    sign: int = 1


@dataclass(frozen=True, eq=False, kw_only=True)
class Form:
    """What is unknown about one dimension of a scop's schedule, and how an edge constrains it.

    Iterators of loops that count down enter with their sign flipped, so that forward is positive.
    """

    sizes: tuple[str, ...]
    iterators: Mapping[str, tuple[str, ...]]  # per statement
    signs: Mapping[str, np.ndarray]  # per statement, +1 or -1 per iterator
    signed: bool = False  # the Pluto+ form
    demands: Demands = NONE  # what the user asks of it
    cache: dict[Edge, np.ndarray] = field(default_factory=dict)  # rows of edges seen before

    def problem(
        self, statements: Sequence[str], edges: Iterable[Edge], found: Found, way: Way, coincident: Iterable[Edge] = ()
    ) -> Problem:
        """The ILP for the next hyperplane of these statements, which respects `edges` and is coincident on others."""
        layout = self.layout(statements)
        blocks = [self._placed(self._edge_rows(edge), edge, layout) for edge in edges]
        for edge in coincident:  # phi(sink) - phi(source) is zero: neither it nor its opposite is negative
            legal = self._difference(edge)
            blocks.append(self._placed(np.concatenate([legal, -legal]), edge, layout))
        lower, upper = self._bounds(statements, found, layout)
        rows = _needed(np.concatenate([_empty(layout), *blocks]), lower, upper)
        new, least = self._new(statements, found, layout, way)
        return Problem(
            names=layout.names,
            rows=np.concatenate([rows, new]),
            least=np.concatenate([np.zeros(len(rows), dtype=np.int64), least]),
            lower=lower,
            upper=upper,
            objectives=layout.objectives(),
            big_m=self.signed,
        )

    def hyperplane(self, statements: Sequence[str], x: np.ndarray) -> Hyperplane:
        """What a solution of `problem` says."""
        layout = self.layout(statements)
        return {name: self._affine(name, x, layout) for name in statements}

    def written(
        self, statements: Sequence[str], edges: Iterable[Edge], found: Found, coincident: Iterable[Edge] = ()
    ) -> tuple[str, ...]:
        """The rows of `problem` as the literature writes them, with those that always hold."""
        edges, layout = tuple(edges), self.layout(statements)
        asked = self._asked_text(statements, found, layout, coincident)
        legal = [f"{text} >= 0" for edge in edges for text in self._differences(edge, layout)]
        bounds = [line for edge in edges for line in self._bound_text(edge, layout)]
        rows, least = self._new(statements, found, layout, Way())
        new = [f"{row_text(row, layout.names)} >= {bound}" for row, bound in zip(rows, least, strict=True)]
        return tuple(dict.fromkeys((*asked, *legal, *new, *bounds)))

    def layout(self, statements: Sequence[str]) -> Layout:
        return Layout(self.sizes, tuple((name, self.iterators[name]) for name in statements), self.signed)

    def _affine(self, name: str, x: np.ndarray, layout: Layout) -> Affine:
        coefficients = x[layout.coefficients(name)] * self.signs[name]
        shift = x[layout.shift(name)] if self.signed else np.zeros(len(self.sizes), dtype=np.int64)
        return Affine(tuple(map(int, coefficients)), tuple(map(int, shift)), int(x[layout.constant(name)][0]))

    def _bounds(self, statements: Sequence[str], found: Found, layout: Layout) -> tuple[np.ndarray, np.ndarray]:
        """The least and the greatest value of each unknown, as far as the user leaves it free."""
        lower, upper = layout.bounds()
        for name in {name for pair in self.demands.pairs(statements, found) for name in pair}:
            upper[layout.shift(name)] = 0  # by a size, the loops would be one after the other
        for name in statements:
            asked: dict[int, list[int]] = {}
            for k, factor in self.demands.fixed(name, found):
                asked.setdefault(k, []).append(factor * int(self.signs[name][k]))
            for k, factors in asked.items():
                column, magnitude = layout.coefficients(name)[k], layout.magnitudes(name)[k]
                upper[magnitude] = max(upper[magnitude], *map(abs, factors))
                lower[column], upper[column] = max(factors), min(factors)
            steepest = self.demands.steepest(name)
            if steepest is not None:
                columns = [*layout.coefficients(name), *layout.magnitudes(name)]
                lower[columns] = np.maximum(lower[columns], -max(1, steepest))
                upper[columns] = np.minimum(upper[columns], max(1, steepest))
        return lower, upper

    def _placed(self, rows: np.ndarray, edge: Edge, layout: Layout) -> np.ndarray:
        """Rows of the edge, such as `_edge_rows`, over all unknowns."""
        ends = [layout.affine(name) for name in dict.fromkeys((edge.source, edge.sink))]
        return _spread(rows, np.concatenate([layout.bound, *ends]), layout.width)

    def _edge_rows(self, edge: Edge) -> np.ndarray:
        """The cone's rows on phi(sink) - phi(source), and on u . sizes + w minus that."""
        if edge not in self.cache:
            legal = self._difference(edge)
            bounds = -legal
            bounds[:, : len(self.sizes)] = edge.cone[:, 1 : 1 + len(self.sizes)]
            bounds[:, len(self.sizes)] = edge.cone[:, 0]
            self.cache[edge] = np.concatenate([legal, bounds])
        return self.cache[edge]

    def _difference(self, edge: Edge) -> np.ndarray:
        """The cone's rows on phi(sink) - phi(source)."""
        cone, count = edge.cone, len(self.sizes)
        constant, shift, iterators = np.hsplit(cone, [1, 1 + count])
        shift = shift if self.signed else shift[:, :0]
        nothing, sink = np.zeros((len(cone), count + 1), dtype=np.int64), self.signs[edge.sink]
        if edge.is_loop:
            return np.hstack([nothing, iterators * sink, 0 * shift, 0 * constant])
        source = self.signs[edge.source]
        here, there = np.hsplit(iterators, [len(source)])
        return np.hstack([nothing, -here * source, -shift, -constant, there * sink, shift, constant])

    def _new(self, statements: Sequence[str], found: Found, layout: Layout, way: Way) -> tuple[np.ndarray, np.ndarray]:
        """Rows that keep each statement's hyperplane out of the span of those found, and their bounds."""
        _, most = self._bounds(statements, found, layout)
        rows, least = [_empty(layout)], []
        for name in statements:
            avoided = self.demands.avoided(name, found)
            basis = self._complement(name, avoided)
            basis = basis[:0] if self.demands.is_settled(name, found) else basis
            if self.signed:
                columns = [layout.coefficients(name), layout.magnitudes(name), layout.side(name)]
                local, bounds = _half_spaces(basis, int(most[layout.magnitudes(name)].max(initial=0)))
            else:
                columns = [layout.coefficients(name)]
                local, bounds = _orthant(basis, way, is_first=not avoided)
            rows.append(_spread(local, np.concatenate(columns), layout.width))
            least += bounds
            if self.demands.steepest(name) == 0:
                magnitudes = layout.magnitudes(name)
                local = np.where(most[magnitudes] < 0, 1, -1)[None]  # one that the user has fixed may be negative
                rows.append(_spread(local, magnitudes, layout.width))
                least.append(-1)
        return np.concatenate(rows), np.array(least, dtype=np.int64)

    def _complement(self, name: str, hyperplanes: tuple[Vector, ...]) -> np.ndarray:
        """What is orthogonal to the statement's hyperplanes, one vector a row, iterators counted forward."""
        depth, signs = len(self.iterators[name]), self.signs[name].tolist()
        forward = tuple(tuple(c * sign for c, sign in zip(row, signs, strict=True)) for row in hyperplanes)
        vectors = complement(forward, depth)
        return np.array(vectors, dtype=np.int64).reshape(len(vectors), depth)

    def _asked_text(
        self, statements: Sequence[str], found: Found, layout: Layout, coincident: Iterable[Edge]
    ) -> list[str]:
        """What the user asks of coefficients, and of dependences that must be at distance zero."""
        limits = zip(layout.names, *self._bounds(statements, found, layout), layout.bounds()[1], strict=True)
        lines = [
            f"{name} {'=' if least == most else '<='} {most}"
            for name, least, most, usual in limits
            if least == most or most < usual
        ]
        return [*lines, *(f"{text} <= 0" for edge in coincident for text in self._differences(edge, layout))]

    def _differences(self, edge: Edge, layout: Layout) -> list[str]:
        rows = self._placed(self._difference(edge), edge, layout)
        return [row_text(row // np.gcd.reduce(row), layout.names) for row in rows if row.any()]

    def _bound_text(self, edge: Edge, layout: Layout) -> list[str]:
        distance = edge.uniform_distance
        if distance is not None:
            row = np.zeros(layout.width, dtype=np.int64)
            row[layout.coefficients(edge.sink)] = distance * self.signs[edge.sink]
            terms = [*(f"{u}*{size}" for u, size in zip(layout.names, self.sizes, strict=False)), "w"]
            return [f"{' + '.join(terms)} >= {row_text(row, layout.names)}"]
        rows = self._placed(self._edge_rows(edge)[len(edge.cone) :], edge, layout)
        inside = np.isin(np.arange(layout.width), layout.bound)
        return [f"{row_text(row * inside, layout.names)} >= {row_text(-row * ~inside, layout.names)}" for row in rows]


def _orthant(basis: np.ndarray, way: Way, *, is_first: bool) -> tuple[np.ndarray, list[int]]:
    """Rows over a statement's coefficients: out of the span, within one orthant (Pluto's sum of the complement)."""
    if not len(basis):
        return basis, []
    if is_first:  # coefficients are zero or more anyway
        return np.abs(basis).sum(axis=0, keepdims=True), [1]
    if way.basis is not None:
        return way.sign * basis[[way.basis % len(basis)]], [1]
    if len(basis) == 1:
        return basis, [1]
    return np.concatenate([basis, basis.sum(axis=0, keepdims=True)]), [0] * len(basis) + [1]


def _half_spaces(basis: np.ndarray, steepest: int) -> tuple[np.ndarray, list[int]]:
    """Rows over coefficients c, magnitudes a and side s: a >= |c|, and c . basis is not all zero.

    The products with the basis vectors are the digits of one number, which is at least 1 on side 0 and at most -1
    on side 1 (TOPLAS 2016, section 3.2).
    """
    count, depth = basis.shape
    one, column = np.eye(depth, dtype=np.int64), np.zeros((depth, 1), dtype=np.int64)
    magnitude = np.concatenate([np.hstack([-one, one, column]), np.hstack([one, one, column])])
    if not count:
        return magnitude, [0] * len(magnitude)
    digit = steepest * int(np.abs(basis).sum(axis=1).max())
    number = (digit + 1) ** np.arange(count) @ basis
    most = (digit + 1) ** count
    side = np.array([[*number, *[0] * depth, most], [*-number, *[0] * depth, -most]], dtype=np.int64)
    return np.concatenate([magnitude, side]), [*[0] * len(magnitude), 1, 1 - most]


def _needed(rows: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """The rows `>= 0` that the bounds do not imply, divided by their greatest common divisors, each once."""
    rows = rows[(np.where(rows > 0, lower, upper) * rows).sum(axis=1) < 0]
    rows = rows // np.gcd.reduce(rows, axis=1, keepdims=True)
    first = {row.tobytes(): k for k, row in reversed(list(enumerate(rows)))}
    return rows[sorted(first.values())]


def _spread(local: np.ndarray, columns: np.ndarray, width: int) -> np.ndarray:
    """`local` with its columns put at `columns` of a wider matrix."""
    rows = np.zeros((len(local), width), dtype=np.int64)
    rows[:, columns] = local
    return rows


def _empty(layout: Layout) -> np.ndarray:
    return np.zeros((0, layout.width), dtype=np.int64)
