"""Convolutions of stride 1 with fewer products, by Winograd's algorithm.

    m results of r taps along an axis, from m + r - 1 elements d and weights g:   A^T ((G g) * (B^T d))

for each axis in turn: G on weights, B on tiles of the data that overlap, one product of matrices for each place in a
tile, A on the sums. `transforms` has A, G and B from points, as Toom and Cook: exact fractions, rounded once.
(Lavin and Gray, CVPR 2016, sections 3 and 4.)
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from itertools import product
from math import prod
from typing import Any

from polysched.errors import InputError
from polysched.frontend import tensor as te
from polysched.frontend.tensor import Tensor, Value
from polysched.ir.dtypes import f32
from polysched.ir.nodes import Function
from polysched.operators.convolution import SPACE, arranged, finished
from polysched.operators.windows import Numbers, Padding, Window, each, every, reach, windows

Matrix = tuple[tuple[Fraction, ...], ...]

_POINTS = tuple(map(Fraction, ("0", "1", "-1", "2", "-2", "1/2", "-1/2", "3", "-3", "1/3", "-1/3")))


def transforms(m: int, r: int) -> tuple[Matrix, Matrix, Matrix]:
    """A^T, G and B^T of F(m, r): m results of r taps."""
    points = _POINTS[: m + r - 2]
    size = len(points) + 1
    last = tuple(Fraction(int(k == size - 1)) for k in range(size))
    result = [[*(p**i for p in points), last[size - m + i]] for i in range(m)]
    weights = [[p**k / prod((p - q for q in points if q != p), start=Fraction(1)) for k in range(r)] for p in points]
    weights.append([Fraction(int(k == r - 1)) for k in range(r)])
    data = [_polynomial([q for q in points if q != p], size) for p in points]
    data.append(_polynomial(points, size))
    return tuple(map(tuple, result)), tuple(map(tuple, weights)), tuple(map(tuple, data))


def _polynomial(roots: Sequence[Fraction], size: int) -> list[Fraction]:
    """The coefficients of the product of x - root, the constant one first."""
    coefficients = [Fraction(1)]
    for root in roots:
        shifted, scaled = [Fraction(0), *coefficients], [*(root * c for c in coefficients), Fraction(0)]
        coefficients = [a - b for a, b in zip(shifted, scaled, strict=True)]
    return coefficients + [Fraction(0)] * (size - len(coefficients))


def winograd(
    name: str,
    data_layout: str,
    weight_layout: str,
    *,
    batch: int,
    in_channel: int,
    in_size: Numbers,
    num_filter: int,
    kernel: Numbers,
    stride: Numbers = 1,
    padding: Padding = 0,
    dilation: Numbers = 1,
    add_bias: bool = False,
    add_relu: bool = False,
) -> Function:
    """The nest of `data`, `weight`, with `add_bias` a `bias` for each filter, and `out`, as `convolution` has them.

    Axes along which the kernel has one element are not transformed. InputError for a stride that is not 1.
    """
    space = [axis for axis in data_layout if axis in SPACE]
    if set(each(stride, len(space))) != {1}:
        raise InputError(f"{name}: the stride is {stride}, and Winograd's algorithm needs 1")
    slid = windows(each(in_size, len(space)), kernel, padding=padding, dilation=dilation)
    sizes, kernels = ({axis: w.size for axis, w in zip(space, slid, strict=True)},
                      {axis: w.kernel for axis, w in zip(space, slid, strict=True)})  # fmt: skip
    data = te.placeholder(arranged(data_layout, N=batch, C=in_channel, **sizes), f32, "data")
    weight = te.placeholder(arranged(weight_layout, O=num_filter, I=in_channel, **kernels), f32, "weight")
    bias = te.placeholder((num_filter,), f32, "bias")
    axes = [_Axis(axis.lower(), window, _results(slid)) for axis, window in zip(space, slid, strict=True)]

    def element(c: Value, n: Value, *place: Value) -> Value:
        return data[arranged(data_layout, N=n, C=c, **dict(zip(space, place, strict=True)))]

    def tap(f: Value, c: Value, *place: Value) -> Value:
        return weight[arranged(weight_layout, O=f, I=c, **dict(zip(space, place, strict=True)))]

    tiles = _tiles(element, in_channel, batch, axes)
    weights = _weights(tap, num_filter, in_channel, axes)
    sums = _products(tiles, weights, num_filter, in_channel, batch, axes)
    for k, axis in enumerate(axes[:-1]):
        sums = _results_along(sums, k, axis)
    last = axes[-1]

    def result(*index: Value) -> Value:
        at = dict(zip(data_layout, index, strict=True))
        total = last.result(sums, (at["C"], at["N"], *(at[axis] for axis in space)))
        return finished(total, bias[at["C"]] if add_bias else None, add_relu)

    counts = {axis: w.count for axis, w in zip(space, slid, strict=True)}
    out = te.compute(arranged(data_layout, N=batch, C=num_filter, **counts), result, "out")
    return te.function(name, [data, weight, *([bias] if add_bias else [])], [out])


class _Axis:
    """An axis of space: the matrices of its transforms, and where tiles are."""

    def __init__(self, name: str, window: Window, results: int):
        self.name, self.window = name, window
        taps = reach(window.kernel, window.dilation)
        self.m = results if taps > 1 else 1
        self.places = self.m + taps - 1  # elements of a tile
        self.tiles = -(-window.count // self.m)
        result, weights, data = transforms(self.m, taps)
        self.result_matrix = _table(f"result_{name}", result)
        self.weight_matrix = _table(f"weight_{name}", tuple(row[:: window.dilation] for row in weights))
        self.data_matrix = _table(f"data_{name}", data)

    def place(self, tile: Value, e: Value) -> Value:
        """The element of the data that a tile has."""
        return tile * self.m + e - self.window.before

    def inside(self, place: Value) -> list[Value]:
        window = self.window
        last = (self.tiles - 1) * self.m + self.places - 1 - window.before
        return [*([place >= 0] if window.before else []), *([place < window.size] if last >= window.size else [])]


def _results(slid: Sequence[Window]) -> int:
    """How many results a tile has along an axis: four where that is exact enough, and leaves few of them unused."""
    few_taps = all(reach(w.kernel, w.dilation) <= 3 for w in slid)
    return 4 if few_taps and len(slid) == 2 and min(w.count for w in slid) >= 8 else 2


def _table(name: str, matrix: Matrix) -> Tensor:
    """A matrix as an array, filled by the kernel itself."""

    def entry(i: Value, j: Value) -> Value:
        known = ((r, c, float(x)) for r, row in enumerate(matrix) for c, x in enumerate(row) if x)
        start = te.as_value(0.0).astype(f32)
        return reduce(lambda other, at: te.select((i == at[0]) & (j == at[1]), at[2], other), known, start)

    return te.compute((len(matrix), len(matrix[0])), entry, name, inline=False)
