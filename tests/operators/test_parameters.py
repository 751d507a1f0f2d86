"""Parameters that an operator cannot have are refused before anything is built: which, what is wrong, what is right."""

from __future__ import annotations

from inspect import signature

import pytest

from polysched.errors import InputError
from polysched.operators import OPERATORS, conv2d_nchw, conv3d_winograd
from tests.operators.test_operators import SMALL

BOXES = {
    "fn": "crop_and_resize",
    "image_shape": [2, 9, 11, 3],
    "boxes": [[0.2, 0, 0.7, 1]],
    "box_ind": [1],
    "size": [4, 5],
}
AFFINE = {"fn": "affine_grid", "num_batch": 2, "target_shape": [4, 5]}
SAMPLE = {"fn": "grid_sample", "data_shape": [2, 3, 5, 6], "grid_shape": [2, 2, 4, 4]}


def refusal(op, args):
    with pytest.raises(InputError) as refused:
        OPERATORS[op](**args)
    return str(refused.value)


def test_an_operator_names_what_it_takes():
    assert list(signature(conv2d_nchw).parameters) == [
        "batch",
        "in_channel",
        "in_size",
        "num_filter",
        "kernel",
        "stride",
        "padding",
        "dilation",
        "groups",
        "add_bias",
        "add_relu",
    ]
    assert "kernel" not in signature(conv3d_winograd).parameters


def test_unknown_parameters_are_named_with_those_that_there_are():
    assert refusal("dense", {"batch": 1, "in_dim": 2, "outdim": 3}) == (
        "dense: there is no parameter outdim; there are batch, in_dim, out_dim, use_bias"
    )


def test_missing_parameters_are_named():
    assert refusal("dense", {"batch": 1}) == "dense: in_dim, out_dim must be given"
    assert refusal("conv3d_winograd", SMALL["conv2d_winograd"] | {"kernel": 3}).startswith(
        "conv3d_winograd: there is no parameter kernel; there are depth_kernel, space_kernel, batch"
    )


@pytest.mark.parametrize(
    ("op", "change", "message"),
    [
        ("dense", {"batch": 0}, "batch is 0, and must be a whole number from 1"),
        ("dense", {"batch": True}, "batch is True, and must be a whole number from 1"),
        ("dense", {"use_bias": 1}, "use_bias is 1, and must be true or false"),
        (
            "conv2d_nchw",
            {"stride": 0},
            "stride is 0, and must be a whole number from 1 or a list of whole numbers from 1",
        ),
        (
            "conv2d_nchw",
            {"kernel": [3, 0]},
            "kernel is [3, 0], and must be a whole number from 1 or a list of whole numbers from 1",
        ),
        ("conv2d_nchw", {"kernel": [3, 3, 3]}, "kernel is [3, 3, 3], and must be one number or a list of 2"),
        (
            "conv2d_nchw",
            {"kernel": 3.0},
            "kernel is 3.0, and must be a whole number from 1 or a list of whole numbers from 1",
        ),
        (
            "conv2d_nchw",
            {"dilation": "2"},
            "dilation is '2', and must be a whole number from 1 or a list of whole numbers from 1",
        ),
        (
            "conv2d_nchw",
            {"padding": -1},
            "padding is -1, and must be a whole number from 0, 'SAME', 'VALID' or a list of whole numbers from 0",
        ),
        (
            "conv2d_nchw",
            {"padding": "FULL"},
            "padding is 'FULL', and must be a whole number from 0, 'SAME', 'VALID' or a list of whole numbers from 0",
        ),
        ("conv2d_nchw", {"padding": [1, 2, 3]}, "padding is [1, 2, 3], and must be one number or a list of 2 or 4"),
        (
            "conv2d_nchw",
            {"kernel": 9, "padding": 0},
            "a kernel that reaches over 9 does not fit into 7 elements of padded data",
        ),
        ("conv1d", {"layout": "CNW"}, "layout is 'CNW', and must be 'NCW' or 'NWC'"),
        ("conv1d", {"kernel_size": [3]}, "kernel_size is [3], and must be a whole number from 1"),
        ("conv3d_ncdhw", {"in_size": [5, 4]}, "in_size is [5, 4], and must be one number or a list of 3"),
        ("group_conv2d", {"groups": 4}, "groups is 4, and must divide 4 channels and 6 filters"),
        ("deformable_conv2d", {"deformable_groups": 3}, "deformable_groups is 3, and must divide 4 channels"),
        ("conv2d_winograd", {"stride": 2}, "stride is 2, and must be 1 for Winograd's algorithm"),
        (
            "conv2d_transpose_nchw",
            {"output_padding": [1]},
            "output_padding is [1], and must be one number or a list of 2",
        ),
        (
            "conv2d_transpose_nchw",
            {"padding": 9},
            "padding is 9, and leaves nothing of the result, whose sizes are [-4, -17]",
        ),
        ("depthwise_conv2d", {"layout": "HWCN"}, "layout is 'HWCN', and must be 'NCHW' or 'NHWC'"),
        ("depthwise_conv2d_back_input", {"padding_h": -1}, "padding_h is -1, and must be a whole number from 0"),
        ("batch_matmul", {"y_batch": 2}, "batches of 3 and 2 do not match, and none of them is 1"),
        (
            "batch_to_space_nd",
            {"block_shape": [3, 2]},
            "block_shape is [3, 2], and its product must divide the batch, 8",
        ),
        (
            "batch_to_space_nd",
            {"crop_end_list": [1]},
            "crop_end_list is [1], and must have 2 numbers, as block_shape has",
        ),
        (
            "batch_to_space_nd",
            {"input_shape": [8, 3]},
            "input_shape is [8, 3], and must be a batch and at least 2 axes of space",
        ),
        (
            "batch_to_space_nd",
            {"crop_end_list": [5, 0]},
            "the crops leave nothing of the result, whose sides are [0, 6]",
        ),
        ("clip", {"a_max": 300}, "a_max is 300, and must be a whole number from -128 to 127, which i8 has"),
        ("clip", {"a_min": 0.5}, "a_min is 0.5, and must be a whole number from -128 to 127, which i8 has"),
        (
            "relu",
            {"dtype": "half"},
            "dtype is 'half', and must be 'float64', 'float32', 'float16', 'int8', 'int16', 'int32', 'int64', 'uint8', "
            "'uint16', 'uint32' or 'uint64'",
        ),
        ("reduce", {"axis": 3}, "axis is 3, and must be from -3 to 2 for the shape [4, 5, 6]"),
        ("reduce", {"axis": [0, 0]}, "axis is [0, 0], and must be null or one or more axes, each of them once"),
        ("reduce", {"axis": [0, 1]}, "axis is [0, 1], and must be null or one axis for argmin"),
        ("reduce", {"axis": "all"}, "axis is 'all', and must be a whole number or a list of whole numbers"),
        ("reduce", {"in_shape": []}, "in_shape is [], and must have one axis at least"),
        (
            "reduce",
            {"type": "mean"},
            "type is 'mean', and must be 'sum', 'prod', 'max', 'min', 'any', 'all', 'argmax' or 'argmin'",
        ),
        ("reduce", {"type": "any"}, "dtype is 'float32', and must be 'bool' for any"),
        ("reduce", {"dtype": "bool"}, "dtype is 'bool', and must be of numbers for argmin"),
        ("upsampling", {"scale_d": 2.0}, "in_depth must be given, too, as scale_d is"),
        ("upsampling", {"scale_h": 0.01}, "scale_h is 0.01, and leaves nothing of 6 elements"),
        (
            "upsampling",
            {"layout": "NCHW1n4c"},
            "layout is NCHW1n4c, and in_batch_block and in_channel_block are others, [2, 4]",
        ),
        (
            "upsampling",
            {"method": "cubic"},
            "method is 'cubic', and must be 'nearest_neighbor', 'linear', 'bilinear' or 'trilinear'",
        ),
    ],
)
def test_what_a_parameter_cannot_be_is_refused(op, change, message):
    assert refusal(op, SMALL[op] | change) == f"{op}: {message}"


@pytest.mark.parametrize(
    ("args", "change", "message"),
    [
        (
            SMALL["image"],
            {"fn": "rotate"},
            "image: fn is 'rotate', and must be one of resize, affine_grid, crop_and_resize, grid_sample",
        ),
        (SMALL["image"], {"layout": "NCDHW"}, "resize: layout is 'NCDHW', and must have the axes N, C, H, W"),
        (
            SMALL["image"],
            {"coord_trans": "half"},
            "resize: coord_trans is 'half', and must be 'asymmetric', 'half_pixel' or 'align_corners'",
        ),
        (
            BOXES,
            {"box_ind": [2]},
            "crop_and_resize: box_ind is [2], and must have an image from 0 to 1 for each of 1 boxes",
        ),
        (
            BOXES,
            {"boxes": [[0, 1]]},
            "crop_and_resize: boxes is [[0, 1]], and must be one or more of four numbers: y1, x1, y2, x2",
        ),
        (BOXES, {"size": [4]}, "crop_and_resize: size is [4], and must be a height and a width"),
        (
            BOXES,
            {"image_shape": [9, 11, 3]},
            "crop_and_resize: image_shape is [9, 11, 3], and must have four numbers, as NHWC says",
        ),
        (AFFINE, {"target_shape": [4]}, "affine_grid: target_shape is [4], and must be a height and a width"),
        (
            SAMPLE,
            {"data_shape": [2, 3, 5]},
            "grid_sample: data_shape is [2, 3, 5], and must be a batch, channels, a height and a width",
        ),
        (
            SAMPLE,
            {"grid_shape": [1, 2, 4, 4]},
            "grid_sample: grid_shape is [1, 2, 4, 4], and must be [2, 2, height, width]",
        ),
    ],
)
def test_what_a_parameter_of_images_cannot_be_is_refused(args, change, message):
    assert refusal("image", args | change) == message
