"""Each operator, in C at a small size, against NumPy."""

from __future__ import annotations

import json

import numpy as np
import pytest

from benchmarks.operators.cases import Case, read
from benchmarks.operators.check import compared, difference
from polysched.operators import OPERATORS, conv2d_nchw

CONV = {"batch": 2, "in_channel": 4, "in_size": 7, "num_filter": 6, "kernel": 3}
SMALL: dict[str, dict] = {
    "batch_matmul": {"x_batch": 3, "y_batch": 1, "M": 5, "N": 6, "K": 7},
    "batch_to_space_nd": {
        "input_shape": [8, 3, 4, 5], "block_shape": [2, 2], "crop_begin_list": [1, 2], "crop_end_list": [0, 1],
    },
    "clip": {"N": 12, "a_min": -100, "a_max": 27, "dtype": "int8"},
    "reduce": {"in_shape": [4, 5, 6], "axis": 1, "keepdims": True, "type": "argmin"},
    "relu": {"m": 5, "n": 9, "dtype": "float16"},
    "upsampling": {
        "batch": 2, "in_channel": 3, "in_height": 6, "in_width": 5, "scale_h": 2.5, "scale_w": 2.0,
        "in_batch_block": 2, "in_channel_block": 4, "method": "bilinear",
    },
    "conv1d": {
        "batch": 2, "in_channels": 3, "in_width": 11, "filters": 4, "kernel_size": 3, "stride": 2, "dilation": 2,
        "padding": "SAME", "layout": "NWC",
    },
    "conv1d_transpose_ncw": {
        "batch": 2, "in_channel": 3, "in_size": 6, "num_filter": 2, "kernel": 4, "stride": 3, "padding": [1, 2],
        "output_padding": [1],
    },
    "conv2d_hwcn": {**CONV, "stride": 2, "padding": "SAME"},
    "conv2d_int8": {**CONV, "padding": [0, 1, 2, 1], "add_bias": True, "add_relu": True},
    "conv2d_nhwc": {**CONV, "padding": [1, 2], "dilation": 2},
    "conv2d_nchw": {**CONV, "stride": 2, "padding": 1, "add_bias": True, "add_relu": True},
    "conv2d_transpose_nchw": {
        "batch": 2, "in_channel": 3, "in_size": [5, 1], "num_filter": 4, "kernel": [5, 1], "stride": [2, 1],
        "padding": [1, 0, 2, 0], "output_padding": [1, 0],
    },
    "conv2d_nhwc_winograd": {**CONV, "padding": "SAME", "add_bias": True, "add_relu": True},
    "conv2d_winograd": {**CONV, "in_size": 9, "padding": [1, 0, 2, 1]},
    "conv3d_ncdhw": {**CONV, "in_size": [5, 4, 6], "padding": [2, 1, 0, 1, 1, 1], "stride": [1, 2, 1]},
    "conv3d_ndhwc": {**CONV, "in_size": 5, "kernel": [1, 3, 3], "padding": "SAME", "stride": [1, 2, 2]},
    "conv3d_transpose_ncdhw": {
        "batch": 1, "in_channel": 2, "in_size": [3, 4, 3], "num_filter": 2, "kernel": [3, 2, 3], "stride": [2, 2, 1],
        "padding": [1, 0, 1, 0, 1, 1], "output_padding": [1, 1, 0],
    },
    "conv3d_winograd": {
        "batch": 1, "in_channel": 3, "in_size": [4, 5, 6], "num_filter": 2, "depth_kernel": 1, "space_kernel": 3,
        "padding": 1, "add_bias": True,
    },
    "group_conv2d": {**CONV, "groups": 2, "padding": 1},
    "group_conv2d_int8": {**CONV, "groups": 2, "padding": 1, "stride": 2, "add_bias": True},
    "deformable_conv2d": {**CONV, "padding": 2, "dilation": 2, "deformable_groups": 2},
    "depthwise_conv2d": {
        "batch": 2, "in_channel": 3, "in_height": 7, "channel_multiplier": 2, "filter_height": 3, "stride": 2,
        "padding": "SAME",
    },
    "depthwise_conv2d_back_input": {
        "batch": 2, "in_channel": 3, "in_h": 7, "channel_multiplier": 2, "filter_h": 3, "stride_h": 2, "padding_h": 1,
    },
    "depthwise_conv2d_back_weight": {
        "batch": 2, "in_channel": 3, "in_h": 7, "channel_multiplier": 2, "filter_h": 3, "stride_h": 2, "padding_h": 1,
    },
    "dense": {"batch": 3, "in_dim": 17, "out_dim": 9, "use_bias": True},
    "image": {
        "batch": 2, "in_channel": 3, "in_height": 5, "in_width": 7, "out_height": 8, "out_width": 4, "layout": "NHWC",
    },
}  # fmt: skip
IMAGES: list[dict] = [
    {
        "batch": 1, "in_channel": 2, "in_depth": 3, "in_height": 4, "in_width": 5, "out_depth": 5, "out_height": 3,
        "out_width": 7, "layout": "NDHWC", "method": "nearest_neighbor",
    },
    {
        "fn": "crop_and_resize", "image_shape": [2, 9, 11, 3], "boxes": [[0.2, 0.3, 0.7, 1.4], [0, 0, 1, 1]],
        "box_ind": [1, 0], "size": [4, 5], "layout": "NHWC", "extrapolation_value": 2.0,
    },
    {"fn": "affine_grid", "num_batch": 2, "target_shape": [4, 5]},
    {"fn": "grid_sample", "data_shape": [2, 3, 5, 6], "grid_shape": [2, 2, 4, 4]},
]  # fmt: skip


@pytest.mark.parametrize("op", OPERATORS)
def test_an_operator_is_right(op):
    outcome = compared(Case(op, SMALL[op]))
    assert (outcome.verdict, outcome.why) == ("right", "")


@pytest.mark.parametrize("args", IMAGES, ids=lambda args: args.get("fn", "resize"))
def test_a_function_of_images_is_right(args):
    outcome = compared(Case("image", args))
    assert (outcome.verdict, outcome.why) == ("right", "")


def test_a_product_that_is_less_than_any_float_of_its_type_is_zero():
    outcome = compared(Case("reduce", {"in_shape": [8, 3, 15], "axis": [0, 1], "type": "prod", "dtype": "float16"}))
    assert (outcome.verdict, outcome.why) == ("right", "")


def test_the_nest_of_a_convolution_has_zeros_around_its_data():
    nest = conv2d_nchw(batch=1, in_channel=3, in_size=5, num_filter=2, kernel=3, padding=1, add_relu=True)
    assert str(nest) == """\
def conv2d_nchw(data: f32[1, 3, 5, 5], weight: f32[2, 3, 3, 3], out: f32[1, 2, 5, 5]):
    for n in 0..1:
        for f in 0..2:
            for h in 0..5:
                for w in 0..5:
                    out[n, f, h, w] = 0.0f32
                    for c in 0..3:
                        for kh in 0..3:
                            for kw in 0..3:
                                out[n, f, h, w] = out[n, f, h, w] + (h + kh - 1 >= 0 && h + kh - 1 < 5 && w + kw - 1 >= 0 && w + kw - 1 < 5 ? data[n, c, h + kh - 1, w + kw - 1] : 0.0f32) * weight[f, c, kh, kw]
                    out[n, f, h, w] = max(out[n, f, h, w], 0.0f32)"""  # noqa: E501


def test_a_result_that_is_wrong_is_found():
    case = Case("dense", SMALL["dense"])
    given = case.inputs(case.function())
    right = given["data"] @ given["weight"].T + given["bias"]
    assert difference(case, given, right) == ""
    wrong = right.copy()
    wrong[1, 2] = np.nan
    assert difference(case, given, wrong).startswith("1 of 27 elements, first out[1, 2]: nan, not ")


@pytest.mark.slow
def test_shrunk_cases_are_still_cases():
    for case in read():
        nest = case.shrunk().function()
        assert sum(np.prod(array.shape and [e.value for e in array.shape]) for array in nest.arrays) < 2**20, case


def test_what_is_no_case_is_named(tmp_path):
    path = tmp_path / "cases.json"
    path.write_text(json.dumps([{"op": "conv9d", "args": {}}]))
    with pytest.raises(SystemExit) as refused:
        read(path)
    wanted = "case 0 is {'op': 'conv9d', 'args': {}}, and needs an op of the library, and args"
    assert str(refused.value) == f"{path}: {wanted}"
