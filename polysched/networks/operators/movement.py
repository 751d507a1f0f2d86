"""Elements at other places: transposed, reshaped, sliced, joined, padded, repeated."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from polysched.frontend import tensor as te
from polysched.networks.array import Array, Index, constant
from polysched.networks.node import Node
from polysched.networks.operators.elements.pointwise import dtype_named
from polysched.networks.operators.table import operator


@operator("Dropout")
def dropout(node: Node, x: Array, ratio: Array | None = None, training: Array | None = None) -> Array:
    """What drops nothing is left out when the file is read."""
    if training is not None and node.constant(training, "training_mode").any():
        node.constant(ratio, "ratio")
    raise node.refusal("elements are dropped by chance", "networks run, and are not trained: export for inference")


@operator("Identity", pointwise=True)
def identity(node: Node, x: Array) -> Array:
    return node.make.copied(x)


@operator("Transpose")
def transpose(node: Node, x: Array) -> Array:
    order = list(node.get("perm") or reversed(range(x.rank)))
    if sorted(order) != list(range(x.rank)):
        raise node.refusal(f"attribute perm is {order}", f"perm orders the {x.rank} axes")
    place = [order.index(axis) for axis in range(x.rank)]
    return node.make.compute([x.shape[axis] for axis in order], x.dtype, lambda i: x[tuple(i[p] for p in place)])


def reshaped(node: Node, x: Array, shape: Sequence[int]) -> Array:
    """The elements in their order in memory; axes that stay keep their index, so that it is affine where it can be."""
    if prod(shape) != x.size:
        raise node.refusal(f"{x.size} elements do not make the shape {tuple(shape)}", f"the shape was {x.shape}")
    groups = _equal_groups(x.shape, shape)

    def element(i: Index) -> Any:
        index: list[Any] = [0] * x.rank
        for own, new in groups:
            flat: Any = 0
            for axis in new:
                flat = flat * shape[axis] + i[axis] if shape[axis] != 1 else flat
            left = prod(x.shape[axis] for axis in own)
            for axis in own:
                is_first, left = left == prod(x.shape[a] for a in own), left // x.shape[axis]
                if x.shape[axis] != 1:
                    digit = flat if left == 1 else flat // left
                    index[axis] = digit if is_first else digit % x.shape[axis]
        return x[tuple(index)]

    return node.make.compute(shape, x.dtype, element)


def _equal_groups(before: Sequence[int], after: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """Axes of both that hold as many elements, as few in a group as possible."""
    groups: list[tuple[list[int], list[int]]] = []
    i = j = 0
    while i < len(before) or j < len(after):
        own, new = [], []
        if i < len(before):
            own, i = [i], i + 1
        if j < len(after):
            new, j = [j], j + 1
        while (left := prod(before[a] for a in own)) != (right := prod(after[a] for a in new)):
            if left < right:
                own, i = [*own, i], i + 1
            else:
                new, j = [*new, j], j + 1
        groups.append((own, new))
    return groups


@operator("Reshape")
def reshape(node: Node, x: Array, shape_of: Array | None = None) -> Array:
    given = list(node.get("shape", ()) or ()) or node.integers(shape_of, "shape")
    keeps_zero = bool(node.get("allowzero", 0))
    shape = [x.shape[k] if n == 0 and not keeps_zero else n for k, n in enumerate(given)]
    if -1 in shape:
        shape[shape.index(-1)] = x.size // max(1, -prod(shape))
    return reshaped(node, x, shape)


@operator("Flatten")
def flatten(node: Node, x: Array) -> Array:
    axis = int(node.get("axis", 1))
    axis = axis + x.rank if axis < 0 else axis
    return reshaped(node, x, [prod(x.shape[:axis]), prod(x.shape[axis:])])


@operator("BitCast")
def bit_cast(node: Node, x: Array) -> Array:
    """The same memory, read as another type: a view, of which this is the type alone."""
    dtype = dtype_named(node, "to")
    if dtype.bits != x.dtype.bits:
        raise node.refusal(f"{x.dtype} has other bits than {dtype}", "cast it instead")
    return node.make.compute(x.shape, dtype, lambda i: constant(0, dtype))


def _axes(node: Node, operand: Array | None, rank: int) -> list[int] | None:
    given = list(node.get("axes", ()) or ())
    if not given and operand is None:
        return None
    return [node.normalized(axis, rank) for axis in given or node.integers(operand, "axes")]


@operator("Squeeze")
def squeeze(node: Node, x: Array, axes_of: Array | None = None) -> Array:
    axes = _axes(node, axes_of, x.rank)
    gone = [axis for axis, n in enumerate(x.shape) if n == 1] if axes is None else axes
    return reshaped(node, x, [n for axis, n in enumerate(x.shape) if axis not in gone])


@operator("Unsqueeze")
def unsqueeze(node: Node, x: Array, axes_of: Array | None = None) -> Array:
    given = list(node.get("axes", ()) or ()) or node.integers(axes_of, "axes")
    rank = x.rank + len(given)
    new, rest = {node.normalized(axis, rank) for axis in given}, iter(x.shape)
    return reshaped(node, x, [1 if axis in new else next(rest) for axis in range(rank)])


@operator("Concat")
def concat(node: Node, *operands: Array) -> Array:
    """Each operand is stored to its part."""
    axis, make = node.axis(operands[0].rank, 0 if node.since >= 4 else 1), node.make
    parts = [x for x in operands if x.size]
    shape = list(parts[0].shape)
    shape[axis] = sum(x.shape[axis] for x in parts)
    if len(parts) == 1:
        return make.copied(parts[0])
    whole = make.compute(shape, parts[0].dtype, lambda i: constant(0, parts[0].dtype), inline=False)
    start = 0
    for x in parts:
        whole = make.update(whole, x.shape, _stored(x, axis, start))
        start += x.shape[axis]
    return whole


def _stored(x: Array, axis: int, start: int) -> Any:
    return lambda i: ((*i[:axis], i[axis] + start, *i[axis + 1 :]), x[i])


@operator("Split")
def split(node: Node, x: Array, sizes_of: Array | None = None) -> tuple[Array, ...]:
    axis = node.axis(x.rank)
    extent, count = x.shape[axis], int(node.get("num_outputs") or node.results)
    given = list(node.get("split", ()) or ()) or (node.integers(sizes_of, "split") if sizes_of is not None else [])
    each = -(-extent // count)
    sizes = given or [min(each, extent - each * k) for k in range(count)]
    starts = [sum(sizes[:k]) for k in range(len(sizes))]
    return tuple(_part(node, x, axis, start, size) for start, size in zip(starts, sizes, strict=True))


def _part(node: Node, x: Array, axis: int, start: int, size: int) -> Array:
    shape = (*x.shape[:axis], size, *x.shape[axis + 1 :])
    return node.make.compute(shape, x.dtype, lambda i: x[(*i[:axis], i[axis] + start, *i[axis + 1 :])])


@operator("Slice")
def slice_of(
    node: Node,
    x: Array,
    starts_of: Array | None = None,
    ends_of: Array | None = None,
    axes_of: Array | None = None,
    steps_of: Array | None = None,
) -> Array:
    starts = list(node.get("starts", ()) or ()) or node.integers(starts_of, "starts")
    ends = list(node.get("ends", ()) or ()) or node.integers(ends_of, "ends")
    axes = _axes(node, axes_of, x.rank)
    axes = list(range(len(starts))) if axes is None else axes
    steps = [1] * len(starts) if steps_of is None else node.integers(steps_of, "steps")
    first, step, shape = [0] * x.rank, [1] * x.rank, list(x.shape)
    for start, end, axis, by in zip(starts, ends, axes, steps, strict=True):
        extent = x.shape[axis]
        stop = None if by < 0 and end < -extent else end  # before the first element
        found = range(*slice(start, stop, by).indices(extent))
        first[axis], step[axis], shape[axis] = found.start, by, len(found)
    return node.make.compute(
        shape, x.dtype, lambda i: x[tuple(j * s + f for j, s, f in zip(i, step, first, strict=True))]
    )


@operator("Pad")
def pad(
    node: Node, x: Array, pads_of: Array | None = None, value: Array | None = None, axes_of: Array | None = None
) -> Array:
    mode = node.choice("mode", "constant", "edge", "reflect", "wrap")
    pads = list(node.get("pads", ()) or ()) or node.integers(pads_of, "pads")
    axes = (
        list(range(x.rank)) if axes_of is None else [node.normalized(a, x.rank) for a in node.integers(axes_of, "axes")]
    )
    before, after = [0] * x.rank, [0] * x.rank
    for k, axis in enumerate(axes):
        before[axis], after[axis] = pads[k], pads[k + len(axes)]
    shape = [n + b + a for n, b, a in zip(x.shape, before, after, strict=True)]
    if mode == "constant":
        fill = value.one() if value is not None else constant(node.get("value", 0.0), x.dtype)
        return padded(node, x, before, shape, fill)
    if mode == "reflect" and any(
        max(b, a) >= n for n, b, a in zip(x.shape, before, after, strict=True) if max(b, a) > 0
    ):
        raise node.refusal("reflects over more than an axis has", "pad by less than the extent")
    source = [_outside(mode, n, b, a) for n, b, a in zip(x.shape, before, after, strict=True)]
    return node.make.compute(shape, x.dtype, lambda i: x[tuple(at(j) for at, j in zip(source, i, strict=True))])


def padded(node: Node, x: Array, before: Sequence[int], shape: Sequence[int], fill: Any) -> Array:
    """`fill` where there is no element of x, which begins after `before` elements."""

    def element(i: Index) -> Any:
        index = tuple(j - b for j, b in zip(i, before, strict=True))
        tests = [j >= 0 for j, b in zip(index, before, strict=True) if b > 0]
        tests += [j < n for j, n, b, m in zip(index, x.shape, before, shape, strict=True) if m > n + b]
        return te.select(te.all_of(*tests), x[index], fill) if tests else x[index]

    return node.make.compute(shape, x.dtype, element)


def _outside(mode: str, extent: int, before: int, after: int) -> Any:
    """Which element stands for one that there is not."""

    def place(j: Any) -> Any:
        at = j - before
        if mode == "edge":
            return te.maximum(0, te.minimum(extent - 1, at))
        if mode == "wrap":
            return at % extent
        return te.select(at < 0, -at, te.select(at >= extent, 2 * (extent - 1) - at, at))

    return place if before or after else lambda j: j


@operator("Tile")
def tile(node: Node, x: Array, repeats_of: Array) -> Array:
    repeats = node.integers(repeats_of, "repeats")
    shape = [n * times for n, times in zip(x.shape, repeats, strict=True)]
    return node.make.compute(shape, x.dtype, lambda i: x[tuple(
        j % n if times > 1 else j for j, n, times in zip(i, x.shape, repeats, strict=True)
    )])  # fmt: skip


@operator("Expand")
def expand(node: Node, x: Array, shape_of: Array) -> Array:
    shape = np.broadcast_shapes(x.shape, tuple(node.integers(shape_of, "shape")))
    return node.make.compute(shape, x.dtype, lambda i: x.at(i))


@operator("DepthToSpace")
def depth_to_space(node: Node, x: Array) -> Array:
    """Digits of a channel: block row, block column, channel, or with mode CRD the channel first."""
    block, crd = int(node.get("blocksize")), node.choice("mode", "DCR", "CRD") == "CRD"
    n, c, h, w = x.shape
    count = c // (block * block)

    def element(i: Index) -> Any:
        inside = (i[2] % block) * block + i[3] % block
        channel = i[1] * (block * block) + inside if crd else inside * count + i[1]
        return x[i[0], channel, i[2] // block, i[3] // block]

    return node.make.compute((n, count, h * block, w * block), x.dtype, element)


@operator("SpaceToDepth")
def space_to_depth(node: Node, x: Array) -> Array:
    block, crd = int(node.get("blocksize")), node.choice("mode", "DCR", "CRD") == "CRD"
    n, c, h, w = x.shape

    def element(i: Index) -> Any:
        inside, channel = (i[1] % (block * block), i[1] // (block * block)) if crd else (i[1] // c, i[1] % c)
        return x[i[0], channel, i[2] * block + inside // block, i[3] * block + inside % block]

    return node.make.compute((n, c * block * block, h // block, w // block), x.dtype, element)


@operator("ConstantOfShape")
def constant_of_shape(node: Node, shape_of: Array) -> Array:
    """Folded, where its shape is known."""
    raise node.refusal(f"{node.constant(shape_of, 'shape')} was not folded")


@operator("Range")
def numbers(node: Node, start: Array, limit: Array, step: Array) -> Array:
    """Folded, where its bounds are known."""
    raise node.refusal(f"{[node.constant(each, 'bounds') for each in (start, limit, step)]} were not folded")
