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
"""


@pytest.mark.parametrize("name", SOME.split())
def test_a_case_is_right(name):
    assert name in cases()
    outcome = run(name)
    assert outcome.status in ("passed", "specialized"), outcome


LEAST = -(2**31)


def test_quotients_of_the_least_integer():
    made = model([helper.make_node("Div", ["x", "y"], ["q"])], {"x": [4], "y": [4]}, ["q"], {})
    for each in made.graph.input:
        each.type.tensor_type.elem_type = TensorProto.INT32
    x, y = np.array([LEAST, LEAST, 5, -7], np.int32), np.array([2, LEAST, LEAST, 2], np.int32)
    assert ps.network(made)(x=x, y=y)[0].tolist() == [-(2**30), 1, 0, -3]


def test_an_old_concat_joins_axis_1():
    made = model([helper.make_node("Concat", ["x", "y"], ["z"])], {"x": [2, 1], "y": [2, 2]}, ["z"], {})
    made.opset_import[0].version = 3
    x, y = np.array([[0], [3]], np.float32), np.array([[1, 2], [4, 5]], np.float32)
    assert ps.network(made)(x=x, y=y)[0].tolist() == [[0, 1, 2], [3, 4, 5]]
