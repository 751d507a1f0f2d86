"""Convolutions of stride 1 with fewer products, by Winograd's algorithm.

    m results of r taps along an axis, from m + r - 1 elements d and weights g:   A^T ((G g) * (B^T d))

for each axis in turn: G on weights, B on tiles of the data that overlap, one product of matrices for each place in a
tile, A on the sums. `transforms` has A, G and B from points, as Toom and Cook: exact fractions, rounded once.
(Lavin and Gray, CVPR 2016, sections 3 and 4.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import prod
from typing import Any

from polysched.config.heuristics.nest import WINOGRAD_RESULTS, WINOGRAD_TAPS
from polysched.errors import InputError
from polysched.frontend import tensor as te
from polysched.frontend.tensor import Tensor, Value
from polysched.frontend.tensor.value import as_value
from polysched.ir.dtypes import f32
from polysched.ir.nodes import Function
from polysched.operators.convolution import SPACE, arranged, convolution, finished, indices_of
from polysched.operators.parameters import operator
from polysched.operators.windows import Numbers, Padding, Window, each, padded, windows

Matrix = tuple[tuple[Fraction, ...], ...]
Element = Callable[..., Value]  # of as many indices as the array has dimensions

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
    kernel: Numbers,
    *,
    batch: int,
    in_channel: int,
    in_size: Numbers,
    num_filter: int,
    stride: Numbers = 1,
    padding: Padding = 0,
    dilation: Numbers = 1,
    add_bias: bool = False,
    add_relu: bool = False,
) -> Function:
    """The nest of `data`, `weight`, with `add_bias` a `bias` for each filter, and `out`, as `convolution` has them.

    Axes along which the kernel has one element are not transformed, and none is where a kernel is too large for that to
    be exact enough. InputError for a stride that is not 1.
    """
    space = [axis for axis in data_layout if axis in SPACE]
    if set(each("stride", stride, len(space))) != {1}:
        raise InputError(f"stride is {stride}, and must be 1 for Winograd's algorithm")
    slid = windows(each("in_size", in_size, len(space)), kernel, padding=padding, dilation=dilation)
    if max(window.kernel for window in slid) > WINOGRAD_TAPS:
        return convolution(
            name,
            data_layout,
            weight_layout,
            batch=batch,
            in_channel=in_channel,
            in_size=in_size,
            num_filter=num_filter,
            kernel=kernel,
            padding=padding,
            dilation=dilation,
            add_bias=add_bias,
            add_relu=add_relu,
        )
    sizes = {axis: w.size for axis, w in zip(space, slid, strict=True)}
    kernels = {axis: w.kernel for axis, w in zip(space, slid, strict=True)}
    data = te.placeholder(arranged(data_layout, N=batch, C=in_channel, **sizes), f32, "data")
    weight = te.placeholder(arranged(weight_layout, O=num_filter, I=in_channel, **kernels), f32, "weight")
    bias = te.placeholder((num_filter,), f32, "bias")
    tables: dict[str, Tensor] = {}
    axes = tuple(_Axis(axis.lower(), window, _results(slid), tables) for axis, window in zip(space, slid, strict=True))

    def element(c: Value, n: Value, *place: Value) -> Value:
        return data[arranged(data_layout, N=n, C=c, **dict(zip(space, place, strict=True)))]

    def tap(f: Value, c: Value, *place: Value) -> Value:
        return weight[arranged(weight_layout, O=f, I=c, **dict(zip(space, place, strict=True)))]

    tiles = _of_tiles(axes, in_channel, batch, element)
    weights = _of_weights(axes, num_filter, in_channel, tap)
    sums = _products(axes, num_filter, in_channel, batch, weights, tiles)
    for k in range(len(axes) - 1):
        sums = _of_results(axes, k, num_filter, batch, sums)

    def result(*index: Value) -> Value:
        at = dict(zip(data_layout, index, strict=True))
        place = tuple(at[axis] for axis in space)
        total = axes[-1].result(sums, (), (at["C"], at["N"]), place, len(axes) - 1)
        return finished(total, bias[at["C"]] if add_bias else None, add_relu)

    shape = arranged(data_layout, N=batch, C=num_filter, **{axis: w.count for axis, w in zip(space, slid, strict=True)})
    out = te.compute(shape, result, "out", names=indices_of(data_layout))
    return te.function(name, [data, weight, *([bias] if add_bias else [])], [out])


@operator(winograd)
def conv2d_winograd(*, kernel: Numbers, **parameters: Any) -> Function:
    """`conv2d_nchw` for stride 1, with the parameters of `winograd`."""
    return winograd("conv2d_winograd", "NCHW", "OIHW", kernel, **parameters)


@operator(winograd)
def conv2d_nhwc_winograd(*, kernel: Numbers, **parameters: Any) -> Function:
    """`conv2d_nhwc` for stride 1, with the parameters of `winograd`."""
    return winograd("conv2d_nhwc_winograd", "NHWC", "HWIO", kernel, **parameters)


@operator(winograd)
def conv3d_winograd(*, depth_kernel: int, space_kernel: int, **parameters: Any) -> Function:
    """`conv3d_ncdhw` for stride 1, with the parameters of `winograd`; depth is transformed where its kernel is more
    than one element."""
    kernel = (depth_kernel, space_kernel, space_kernel)
    return winograd("conv3d_winograd", "NCDHW", "OIDHW", kernel, **parameters)


class _Axis:
    """An axis of space: the matrices of its transforms, and where its tiles are."""

    def __init__(self, name: str, window: Window, results: int, tables: dict[str, Tensor]):
        self.name, self.window = name, window
        self.step = window.dilation if window.kernel > 1 else 1  # from one element of a tile to the next
        self.m = results if window.kernel > 1 else 1
        self.places = self.m + window.kernel - 1  # elements of a tile
        self.tiles = -(-window.count // (self.m * self.step)) * self.step
        of_results, of_weights, of_data = transforms(self.m, window.kernel)
        form = f"{self.m}_{window.kernel}"  # axes of one form share their matrices
        self.of_results = tables.setdefault(f"A{form}", _table(f"A{form}", of_results))
        self.of_weights = tables.setdefault(f"G{form}", _table(f"G{form}", of_weights))
        self.of_data = tables.setdefault(f"B{form}", _table(f"B{form}", of_data))

    def at(self, tile: Value, element: Value) -> Value:
        """The place of an element of a tile; tiles lie one in another, as many of them as the step is long."""
        if self.step == 1:
            return tile * self.m + element - self.window.before
        return tile // self.step * (self.m * self.step) + tile % self.step + element * self.step - self.window.before

    def result_in(self, place: Value) -> tuple[Value, Value]:
        """Which result of which tile it is."""
        if self.step == 1:
            return place % self.m, place // self.m
        tile = place // (self.m * self.step) * self.step + place % self.step
        return place // self.step % self.m, tile

    def inside(self, place: Value) -> list[Value]:
        """The conditions for an element of a tile to be data."""
        before, size = self.window.before, self.window.size
        last = (self.tiles - self.step) * self.m + self.step - 1 + (self.places - 1) * self.step - before
        return [*([place >= 0] if before else []), *([place < size] if last >= size else [])]

    def result(
        self, sums: Element, places: tuple[Value, ...], of: tuple[Value, ...], at: tuple[Value, ...], k: int
    ) -> Value:
        """What `sums` give at `at`, which counts results along axis k, and tiles along those after it."""
        if self.places == 1:
            return sums(0, *places, *of, *at)
        p = te.reduce_axis(self.places, "p")
        number, tile = self.result_in(at[k])
        return te.sum(self.of_results[number, p] * sums(p, *places, *of, *at[:k], tile, *at[k + 1 :]), axis=p)


def _of_tiles(axes: Sequence[_Axis], channels: int, batch: int, element: Element) -> Element:
    """B^T d: an axis more for each axis of tiles, in front."""

    def along(k: int, before: Element) -> Element:
        def transformed(*index: Value) -> Value:
            places, (c, n), at = index[: k + 1], index[k + 1 : k + 3], index[k + 3 :]
            e = te.reduce_axis(axes[k].places, "e")
            place = axes[k].at(at[k], e)
            read = before(*places[:k], c, n, *at[:k], place, *at[k + 1 :])
            return te.sum(axes[k].of_data[places[k], e] * padded(read, axes[k].inside(place)), axis=e)

        return transformed

    for k, axis in enumerate(axes):
        if axis.places == 1 and not axis.window.before + axis.window.after:
            element = _of_one_place(element, k)
            continue
        extents = (*(axis.tiles for axis in axes[: k + 1]), *(axis.window.size for axis in axes[k + 1 :]))
        shape = (*(axis.places for axis in axes[: k + 1]), channels, batch, *extents)
        element = _array(shape, along(k, element), f"tiles_{axis.name}")
    return element


def _of_weights(axes: Sequence[_Axis], filters: int, channels: int, tap: Element) -> Element:
    """G g: an axis more for each axis of the kernel, in front, in place of it."""

    def along(k: int, before: Element) -> Element:
        def transformed(*index: Value) -> Value:
            places, (f, c), rest = index[: k + 1], index[k + 1 : k + 3], index[k + 3 :]
            r = te.reduce_axis(axes[k].window.kernel, "r")
            return te.sum(axes[k].of_weights[places[k], r] * before(*places[:k], f, c, r, *rest), axis=r)

        return transformed

    for k, axis in enumerate(axes):
        if axis.places == 1:
            tap = _of_one_tap(tap, k)
            continue
        shape = (*(axis.places for axis in axes[: k + 1]), filters, channels)
        rest = tuple(axis.window.kernel for axis in axes[k + 1 :])
        tap = _array((*shape, *rest), along(k, tap), f"weights_{axis.name}")
    return tap


def _products(
    axes: Sequence[_Axis], filters: int, channels: int, batch: int, weights: Element, tiles: Element
) -> Element:
    """A product of matrices for each place in a tile."""
    rank, c = len(axes), te.reduce_axis(channels, "c")

    def summed(*index: Value) -> Value:
        places, (f, n), at = index[:rank], index[rank : rank + 2], index[rank + 2 :]
        return te.sum(weights(*places, f, c) * tiles(*places, c, n, *at), axis=c)

    shape = (*(axis.places for axis in axes), filters, batch, *(axis.tiles for axis in axes))
    return _array(shape, summed, "products")


def _of_results(axes: Sequence[_Axis], k: int, filters: int, batch: int, sums: Element) -> Element:
    """A^T of the first axis of places, which is axis k."""
    if axes[k].places == 1:
        return lambda *index: sums(0, *index)
    rest = len(axes) - k - 1

    def along(*index: Value) -> Value:
        places, of, at = index[:rest], index[rest : rest + 2], index[rest + 2 :]
        return axes[k].result(sums, places, of, at, k)

    extents = (*(axis.window.count for axis in axes[: k + 1]), *(axis.tiles for axis in axes[k + 1 :]))
    shape = (*(axis.places for axis in axes[k + 1 :]), filters, batch, *extents)
    return _array(shape, along, f"results_{axes[k].name}")


def _array(shape: Sequence[int], element: Element, name: str) -> Element:
    """The elements, from an array that is filled with them."""
    stage = te.compute(shape, element, name, inline=False)
    return lambda *index: stage[index]


def _of_one_place(element: Element, k: int) -> Element:
    """The elements of tiles that have one place along axis k, in front of which its number comes."""
    return lambda *index: element(*index[:k], *index[k + 1 :])


def _of_one_tap(tap: Element, k: int) -> Element:
    """The weights, whose kernel has one tap along axis k, by a place instead of it."""
    return lambda *index: tap(*index[:k], *index[k + 1 : k + 3], 0, *index[k + 3 :])


def _results(slid: Sequence[Window]) -> int:
    """How many results a tile has along an axis: four where that is exact enough, and leaves few of them unused."""
    few_taps = all(w.kernel <= 3 for w in slid)
    return 4 if few_taps and len(slid) == 2 and min(w.count // w.dilation for w in slid) >= WINOGRAD_RESULTS else 2


def _table(name: str, matrix: Matrix) -> Tensor:
    """A matrix as an array, which the kernel fills."""

    def entry(i: Value, j: Value) -> Value:
        value: Value | float = 0.0
        for r, row in enumerate(matrix):
            for c, x in enumerate(row):
                value = te.select((i == r) & (j == c), float(x), value) if x else value
        return as_value(value).astype(f32)

    return te.compute((len(matrix), len(matrix[0])), entry, name, inline=False)
