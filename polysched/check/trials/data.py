"""Random data that a nest can be run with, at given sizes.

    h[x[i]] += a[i]          with h: i64[64]        x of 0 to 63, a as it comes

An array between whose elements loops run, such as the rows of a sparse matrix, ascends.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from polysched.check.trials.demands import Demands, demands_of
from polysched.check.trials.ranges import Range, Ranges, ranges_of, widened
from polysched.ir.dtypes import DType
from polysched.ir.interp import evaluate
from polysched.ir.nodes import Array, Function, Var

Style = Literal["any", "distinct", "whole"]


@dataclass(frozen=True)
class Data:
    """Arguments by name, and whether it is shown that C defines what the nest does with them."""

    arguments: dict[str, Any]
    is_proven: bool


@dataclass(frozen=True)
class Source:
    """Draws data for a nest; of the same `seed` the same."""

    nest: Function
    seed: int = 0

    def candidates(self, sizes: Mapping[str, int], style: Style = "any") -> Iterator[Data]:
        """Data that may be valid, the most telling first. The "distinct" has no integer twice in an array that
        subscripts are made of, where there are enough; "whole" has floats that are small whole numbers."""
        usual = self.usual(sizes)
        found = ranges_of(self.demands, sizes, usual)
        if found is not None:
            if (wider := widened(self.demands, found)) != found:
                yield Data(self._drawn(sizes, wider, style), False)
            yield Data(self._drawn(sizes, found, style), True)
        for value in (0, 1):
            fixed: Ranges = dict.fromkeys(self.demands.sources, (value, value))
            yield Data(self._drawn(sizes, {**usual, **fixed}, style), False)

    @cached_property
    def demands(self) -> Demands:
        return demands_of(self.nest)

    def usual(self, sizes: Mapping[str, int]) -> Ranges:
        """Integers below the least size, so that they say something of it; floats of one sign."""
        most = max(1, min(sizes.values(), default=1)) - 1
        named: tuple[Array | Var, ...] = (*self.nest.arrays, *self.nest.scalars)
        return {it.name: _USUAL_FLOATS if it.dtype.is_float else (0, min(most, _MOST)) for it in named}

    def _drawn(self, sizes: Mapping[str, int], ranges: Ranges, style: Style) -> dict[str, Any]:
        rng = np.random.default_rng(self.seed)
        distinct = frozenset(self.demands.sources) if style == "distinct" else frozenset()
        arguments: dict[str, Any] = dict(sizes)
        for scalar in self.nest.scalars:
            arguments[scalar.name] = _values(scalar.dtype, (), rng, ranges[scalar.name], style == "whole", False)[()]
        for array in self.nest.arrays:
            shape = tuple(int(evaluate(extent, sizes)) for extent in array.shape)
            of = ranges[array.name]
            values = _values(array.dtype, shape, rng, of, style == "whole", array.name in distinct)
            if array.name in self.demands.sources and style != "distinct" and array.dtype.is_integer:
                low = int(of[0])  # half of the subscripts are among few, so that some are alike
                crowded = (low + (values.astype(np.int64) - low) % (values.size // 4 + 2)).astype(values.dtype)
                values = np.where(rng.random(shape) < 0.5, values, crowded)
            if array.name in self.demands.ascending and shape:
                values.sort(axis=-1)
            arguments[array.name] = values
        return arguments


_MOST = 100  # which every integer type holds
_USUAL_FLOATS = (0.5, 1.5)


def _values(
    dtype: DType, shape: tuple[int, ...], rng: np.random.Generator, of: Range, whole: bool, distinct: bool
) -> np.ndarray:
    low, high = of
    if dtype.is_float:
        if whole and of == _USUAL_FLOATS:
            return np.asarray(rng.choice([-3, -2, -1, 1, 2, 3], shape), dtype.numpy)
        return np.asarray(rng.uniform(low, high, shape), dtype.numpy)
    if dtype.kind == "b":
        return np.asarray(rng.integers(0, 2, shape), dtype.numpy)
    count = int(np.prod(shape))
    if distinct and count <= high - low + 1:
        return np.asarray(low + rng.choice(int(high - low + 1), count, replace=False).reshape(shape), dtype.numpy)
    return np.asarray(rng.integers(int(low), int(high) + 1, shape), dtype.numpy)
