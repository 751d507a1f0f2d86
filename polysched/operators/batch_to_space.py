"""Batches put together as blocks of space.

    out[n, y, x] = data[((y + top) % b0 * b1 + (x + left) % b1) * batch + n, (y + top) // b0, (x + left) // b1]
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from polysched.errors import InputError
from polysched.frontend import tensor as te
from polysched.frontend.tensor import Value
from polysched.ir.dtypes import f32
from polysched.ir.nodes import Function
from polysched.operators.parameters import operator


@operator()
def batch_to_space_nd(
    *,
    input_shape: Sequence[int],
    block_shape: Sequence[int],
    crop_begin_list: Sequence[int],
    crop_end_list: Sequence[int],
) -> Function:
    """The nest of `data`, batch first and then as many axes as there are blocks, and `out`, cropped at both ends."""
    blocks, rank = prod(block_shape), len(block_shape)
    for name, given in (("crop_begin_list", crop_begin_list), ("crop_end_list", crop_end_list)):
        if len(given) != rank:
            raise InputError(f"{name} is {list(given)}, and must have {rank} numbers, as block_shape has")
    if len(input_shape) <= rank:
        raise InputError(f"input_shape is {list(input_shape)}, and must be a batch and at least {rank} axes of space")
    if input_shape[0] % blocks:
        raise InputError(f"block_shape is {list(block_shape)}, and its product must divide the batch, {input_shape[0]}")
    batch = input_shape[0] // blocks
    crops = zip(crop_begin_list, crop_end_list, strict=True)
    sides = [
        n * b - first - last for n, b, (first, last) in zip(input_shape[1 : rank + 1], block_shape, crops, strict=True)
    ]
    if min(sides, default=1) < 1:
        raise InputError(f"the crops leave nothing of the result, whose sides are {sides}")
    data = te.placeholder(input_shape, f32, "data")

    def element(n: Value, *index: Value) -> Value:
        places: list[Value] = []
        number: Value | int = 0
        for x, b, first in zip(index[:rank], block_shape, crop_begin_list, strict=True):
            number = number * b + (x + first) % b
            places.append((x + first) // b)
        return data[(number * batch + n, *places, *index[rank:])]

    out = te.compute((batch, *sides, *input_shape[rank + 1 :]), element, "out")
    return te.function("batch_to_space_nd", [data], [out])
