"""The operators in NumPy, against loops, and against each other: a gradient is the transpose of what it is of."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from benchmarks.operators.reference import magnitude, reference

RNG = np.random.default_rng(7)


def values(*shape):
    return RNG.uniform(-1, 1, shape)


def test_a_convolution_is_its_loops():
    data, weight, bias = values(2, 4, 5, 7), values(6, 2, 3, 2), values(6)
    args = {"stride": [1, 2], "dilation": [1, 3], "padding": [2, 0, 1, 3], "groups": 2}
    args |= {"add_bias": True, "add_relu": True}
    height, width = 5 + 2 + 1 - 3 + 1, (7 + 0 + 3 - 4) // 2 + 1
    out = np.zeros((2, 6, height, width))
    for n, f, y, x in np.ndindex(out.shape):
        total = bias[f]
        for c, r, s in product(range(2), range(3), range(2)):
            row, column = y + r - 2, 2 * x + 3 * s
            if 0 <= row < 5 and 0 <= column < 7:
                total += data[n, f // 3 * 2 + c, row, column] * weight[f, c, r, s]
        out[n, f, y, x] = max(total, 0)
    given = {"data": data, "weight": weight, "bias": bias}
    assert np.allclose(reference("group_conv2d", args, given), out, atol=1e-12)


def test_same_padding_has_its_greater_part_before():
    given = {"data": np.ones((1, 1, 3)), "weight": np.array([[[1.0, 10.0, 100.0, 1000.0]]])}
    out = reference("conv1d", {"padding": "SAME", "layout": "NCW"}, given)
    assert out.tolist() == [[[1100, 1110, 111]]]


@pytest.mark.parametrize(("op", "layout", "weights"), [
    ("conv2d_nhwc", "NHWC", "HWIO"), ("conv2d_hwcn", "HWCN", "HWIO"), ("conv2d_nhwc_winograd", "NHWC", "HWIO"),
])  # fmt: skip
def test_layouts_are_the_same_convolution(op, layout, weights):
    data, weight = values(2, 3, 5, 6), values(4, 3, 3, 3)
    given = {
        "data": np.einsum(f"NCHW->{layout}", data),
        "weight": np.einsum(f"OIHW->{weights}", weight),
    }
    wanted = np.einsum(f"NCHW->{layout}", reference("conv2d_nchw", {"padding": 1}, {"data": data, "weight": weight}))
    assert np.allclose(reference(op, {"padding": 1}, given), wanted, atol=1e-12)


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_a_depthwise_convolution_has_each_channel_by_itself(layout):
    data, weight = values(2, 3, 8, 8), values(3, 2, 3, 3)
    args = {"in_channel": 3, "stride": 2, "padding": 2, "dilation": 2, "layout": layout, "channel_multiplier": 2}
    given = {
        "data": np.einsum(f"NCHW->{layout}", data),
        "weight": weight if layout == "NCHW" else np.einsum("CMHW->HWCM", weight),
    }
    out = np.einsum(f"{layout}->NCHW", reference("depthwise_conv2d", args, given))
    for c, m in product(range(3), range(2)):
        alone = {"data": data[:, c : c + 1], "weight": weight[c : c + 1, m : m + 1]}
        wanted = reference("conv2d_nchw", {"stride": 2, "padding": 2, "dilation": 2}, alone)
        assert np.allclose(out[:, c * 2 + m], wanted[:, 0], atol=1e-12)


def test_gradients_of_a_depthwise_convolution_are_its_transposes():
    data, weight, out_grad = values(2, 7, 7, 3), values(3, 3, 3, 2), values(2, 4, 4, 6)
    forward = {"in_channel": 3, "stride": 2, "padding": 1, "layout": "NHWC", "channel_multiplier": 2}
    back = {"in_channel": 3, "channel_multiplier": 2, "in_h": 7, "filter_h": 3, "stride_h": 2, "padding_h": 1}
    out = reference("depthwise_conv2d", forward, {"data": data, "weight": weight})
    of_data = reference("depthwise_conv2d_back_input", back, {"weight": weight, "out_grad": out_grad})
    of_weight = reference("depthwise_conv2d_back_weight", back, {"data": data, "out_grad": out_grad})
    assert np.isclose((out * out_grad).sum(), (data * of_data).sum())
    assert np.isclose((out * out_grad).sum(), (weight * of_weight).sum())


def test_a_transposed_convolution_is_the_transpose_of_one():
    data, weight = values(2, 3, 4, 5), values(3, 2, 3, 4)
    args = {"stride": [2, 3], "padding": [1, 0, 2, 1]}
    out = reference("conv2d_transpose_nchw", args, {"data": data, "weight": weight})
    assert out.shape == (2, 2, 3 * 2 + 3 - 1 - 2, 4 * 3 + 4 - 0 - 1)
    other = values(*out.shape)
    back = reference("conv2d_nchw", args, {"data": other, "weight": weight})
    assert np.isclose((out * other).sum(), (data * back).sum())


def test_what_is_added_after_a_transposed_convolution_is_zero():
    given = {"data": np.ones((1, 1, 2)), "weight": np.ones((1, 1, 2))}
    out = reference("conv1d_transpose_ncw", {"stride": 2, "output_padding": [1]}, given)
    assert out.tolist() == [[[1, 1, 1, 1, 0]]]


def test_windows_that_are_not_bent_are_a_convolution():
    data, weight = values(2, 4, 5, 6), values(3, 4, 3, 3)
    args = {"kernel": 3, "padding": 1, "dilation": 1, "deformable_groups": 2}
    given = {"data": data, "weight": weight, "offset": np.zeros((2, 2 * 9 * 2, 5, 6), np.float32)}
    wanted = reference("conv2d_nchw", {"padding": 1}, given)
    assert np.allclose(reference("deformable_conv2d", args, given), wanted, atol=1e-12)
    given["offset"][:, 1::2] = 1.0  # all taps a column to the right
    moved = np.concatenate([data[..., 1:], np.zeros((2, 4, 5, 1))], axis=-1)
    wanted = reference("conv2d_nchw", {"padding": [1, 1, 1, 1]}, {"data": moved, "weight": weight})
    assert np.allclose(reference("deformable_conv2d", args, given)[..., 1:], wanted[..., 1:], atol=1e-12)


def test_blocks_of_batches_are_put_into_space():
    data = np.arange(4.0).reshape(4, 1, 1, 1)
    args = {"block_shape": [2, 2], "crop_begin_list": [0, 0], "crop_end_list": [0, 0]}
    assert reference("batch_to_space_nd", args, {"data": data})[0, ..., 0].tolist() == [[0, 1], [2, 3]]
    args["crop_begin_list"] = [0, 1]
    assert reference("batch_to_space_nd", args, {"data": data})[0, ..., 0].tolist() == [[1], [3]]


@pytest.mark.parametrize(("method", "mode", "wanted"), [
    ("linear", "align_corners", [0, 2, 4, 6, 8, 10]),
    ("linear", "half_pixel", [0, 1.25, 3.75, 6.25, 8.75, 10]),
    ("linear", "asymmetric", [0, 2.5, 5, 7.5, 10, 10]),
    ("nearest_neighbor", "asymmetric", [0, 0, 5, 5, 10, 10]),
])  # fmt: skip
def test_places_between_elements(method, mode, wanted):
    given = {"data": np.array([0.0, 5, 10]).reshape(1, 1, 1, 3)}
    args = {"layout": "NCHW", "out_height": 1, "out_width": 6, "coord_trans": mode, "method": method}
    assert np.allclose(reference("image", args, given).reshape(-1), wanted)


def test_a_grid_reads_corners_at_one_and_zeros_beyond():
    data = np.arange(6.0).reshape(1, 1, 2, 3)
    grid = np.array([[-1, 1, 0, -2], [-1, 1, 0, 0]], np.float32).reshape(1, 2, 1, 4)
    out = reference("image", {"fn": "grid_sample"}, {"data": data, "grid": grid})
    assert out.reshape(-1).tolist() == [0, 5, 2.5, 0]


def test_a_grid_of_one_place_lies_in_the_middle():
    data = values(1, 2, 3)
    out = reference("image", {"fn": "affine_grid", "target_shape": [1, 1]}, {"data": data})
    assert np.allclose(out.reshape(-1), data[0, :, 2])


def test_the_magnitude_is_the_sum_of_magnitudes():
    given = {"data": np.array([[1.0, 1.0]]), "weight": np.array([[2.0, -2.0]]), "bias": np.array([-3.0])}
    assert reference("dense", {"use_bias": True}, given).tolist() == [[-3]]
    assert magnitude("dense", {"use_bias": True}, given).tolist() == [[7]]
