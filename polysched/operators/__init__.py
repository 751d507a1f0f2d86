"""Operators of neural networks as nests: functions of parameters that give an `ir.Function`.

    from polysched.operators import conv2d_nchw
    nest = conv2d_nchw(batch=1, in_channel=64, in_size=56, num_filter=64, kernel=3, padding=1, add_relu=True)
    done = ps.optimize(nest)
    done(data=data, weight=weight, out=out)

Inputs are named `data`, `weight`, `bias`, ... as docstrings say, the result `out`. `windows.py` says what padding is,
`parameters.py` what is refused before anything is built.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from polysched.errors import InputError
from polysched.ir.nodes import Function
from polysched.operators.batch_to_space import batch_to_space_nd
from polysched.operators.convolution import (
    conv1d,
    conv2d_hwcn,
    conv2d_int8,
    conv2d_nchw,
    conv2d_nhwc,
    conv3d_ncdhw,
    conv3d_ndhwc,
    group_conv2d,
    group_conv2d_int8,
)
from polysched.operators.depthwise import depthwise_conv2d, depthwise_conv2d_back_input, depthwise_conv2d_back_weight
from polysched.operators.elementwise import clip, relu
from polysched.operators.matrices import batch_matmul, dense
from polysched.operators.reductions import reduce
from polysched.operators.resizing import resize, upsampling
from polysched.operators.sampling import affine_grid, crop_and_resize, deformable_conv2d, grid_sample
from polysched.operators.transposed import conv1d_transpose_ncw, conv2d_transpose_nchw, conv3d_transpose_ncdhw
from polysched.operators.winograd import conv2d_nhwc_winograd, conv2d_winograd, conv3d_winograd


def image(fn: str = "resize", **parameters: Any) -> Function:
    """One of `resize`, `affine_grid`, `crop_and_resize` and `grid_sample`, with its parameters; InputError for another
    `fn`."""
    functions = {each.__name__: each for each in (resize, affine_grid, crop_and_resize, grid_sample)}
    if fn not in functions:
        raise InputError(f"image: fn is {fn!r}, and must be one of {', '.join(functions)}")
    return functions[fn](**parameters)


OPERATORS: Mapping[str, Callable[..., Function]] = {
    function.__name__: function
    for function in (
        batch_matmul,
        batch_to_space_nd,
        clip,
        reduce,
        relu,
        upsampling,
        conv1d,
        conv1d_transpose_ncw,
        conv2d_hwcn,
        conv2d_int8,
        conv2d_nhwc,
        conv2d_nchw,
        conv2d_transpose_nchw,
        conv2d_nhwc_winograd,
        conv2d_winograd,
        conv3d_ncdhw,
        conv3d_ndhwc,
        conv3d_transpose_ncdhw,
        conv3d_winograd,
        group_conv2d,
        group_conv2d_int8,
        deformable_conv2d,
        depthwise_conv2d,
        depthwise_conv2d_back_input,
        depthwise_conv2d_back_weight,
        dense,
        image,
    )
}

__all__ = ["OPERATORS", "affine_grid", "crop_and_resize", "grid_sample", "resize", *OPERATORS]
