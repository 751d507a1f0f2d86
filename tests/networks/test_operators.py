"""Operators against the data of ONNX's own node tests: some of each family; the benchmark runs all of them."""

from __future__ import annotations

import numpy as np
import pytest

import polysched as ps

pytest.importorskip("onnx")

from nets import model
from onnx import TensorProto, helper

from benchmarks.networks.nodes import cases, run

SOME = """
    test_averagepool_2d_ceil test_basic_conv_with_padding test_conv_with_autopad_same test_convtranspose_output_shape
    test_mod_mixed_sign_float64 test_bitshift_right_int32_negative_shift test_cumsum_2d_negative_axis
    test_reduce_log_sum_exp_default_axes_keepdims_random test_softmax_large_number
    test_argmax_keepdims_example_select_last_index
    test_maxpool_with_argmax_2d_precomputed_strides test_spacetodepth_crd_mode_example test_reflect_pad
    test_slice_negative_axes test_gather_negative_indices test_scatter_elements_with_duplicate_indices
    test_layer_normalization_2d_axis1 test_lrn test_dynamicquantizelinear test_qlinearconv test_matmulinteger
    test_einsum_batch_matmul test_gemm_all_attributes test_resize_downsample_scales_linear_align_corners
    test_resize_upsample_scales_nearest_axes_2_3 test_lstm_with_initial_bias test_gru_bidirectional test_rnn_seq_length
    test_rotary_embedding test_group_normalization_example test_attention_4d_causal
    test_top_k_same_values_2d test_gridsample_bicubic test_gridsample_reflection_padding test_dft_irfft
    test_stft_with_window test_roialign_mode_max test_col2im_pads test_maxunpool_export_with_output_shape
    test_resize_downsample_scales_cubic_antialias test_resize_tf_crop_and_resize_extrapolation_value
    test_resize_upsample_sizes_nearest_not_larger test_lstm_batchwise test_tensorscatter_circular
    test_compress_default_axis test_pow_types_int64_int64 test_scan9_multi_state
    test_bitcast_2d_float32_to_int32
    test_quantizelinear_int4 test_quantizelinear_e4m3fn test_dequantizelinear_float4e2m1
"""


@pytest.mark.parametrize("name", SOME.split())
def test_a_case_is_right(name):
    assert name in cases()
    outcome = run(name)
    assert outcome.status in ("passed", "specialized"), outcome


def test_the_first_by_size_with_nan_and_ties():
    """NaN comes before all numbers, and of equal ones the one with the smaller index."""
    made = model(
        [helper.make_node("TopK", ["x", "k"], ["v", "i"], axis=0)], {"x": [6, 2]}, ["v", "i"], {"k": np.array([4])}
    )
    made.graph.output[1].type.tensor_type.elem_type = TensorProto.INT64
    x = np.array([[1, 5], [np.nan, -1], [3, 5], [3, np.inf], [-2, 0], [np.nan, 5]], np.float32)
    values, places = ps.network(made)(x=x)
    assert places.T.tolist() == [[1, 5, 2, 3], [3, 0, 2, 5]]
    assert np.array_equal(values, np.take_along_axis(x, places, axis=0), equal_nan=True)


LEAST = -(2**31)


def test_quotients_of_the_least_integer():
    made = model([helper.make_node("Div", ["x", "y"], ["q"])], {"x": [4], "y": [4]}, ["q"], {})
    for each in made.graph.input:
        each.type.tensor_type.elem_type = TensorProto.INT32
    x, y = np.array([LEAST, LEAST, 5, -7], np.int32), np.array([2, LEAST, LEAST, 2], np.int32)
    assert ps.network(made)(x=x, y=y)[0].tolist() == [-(2**30), 1, 0, -3]


@pytest.mark.parametrize("results", [["i"], ["i", "q"]])
def test_quotients_that_become_integers(results):
    """Exact also where one kernel stores the quotient and another one rounds it: 41 * (1 / 41) is less than 1."""
    nodes = [helper.make_node("Div", ["x", "d"], ["q"]), helper.make_node("Cast", ["q"], ["i"], to=TensorProto.INT32)]
    made = model(nodes, {"x": [4096]}, results, {"d": np.array(41, np.float32)})
    made.graph.output[0].type.tensor_type.elem_type = TensorProto.INT32
    x = np.arange(4096, dtype=np.float32)
    assert np.array_equal(ps.network(made)(x=x)[0], np.arange(4096) // 41)


def test_an_old_concat_joins_axis_1():
    made = model([helper.make_node("Concat", ["x", "y"], ["z"])], {"x": [2, 1], "y": [2, 2]}, ["z"], {})
    made.opset_import[0].version = 3
    x, y = np.array([[0], [3]], np.float32), np.array([[1, 2], [4, 5]], np.float32)
    assert ps.network(made)(x=x, y=y)[0].tolist() == [[0, 1, 2], [3, 4, 5]]
