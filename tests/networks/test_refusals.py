"""What is not supported is refused by the node, the operator and what would be right; nothing is ignored."""

from __future__ import annotations

import numpy as np
import pytest

import polysched as ps

pytest.importorskip("onnx")

from nets import classifier, model
from onnx import TensorProto, helper


def refusal(node, weights=None, **inputs) -> str:
    with pytest.raises(ps.InputError) as caught:
        ps.network(model([node], inputs or {"x": [2, 3, 8, 8]}, ["y"], weights or {}))
    return str(caught.value)


def test_an_operator_that_is_none_of_ours():
    message = refusal(helper.make_node("NonZero", ["x"], ["y"], name="where"))
    assert message.startswith("node 0 'where' (NonZero): operator NonZero is not supported")


def test_an_attribute_with_another_value():
    node = helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[2, 2], auto_pad="SOMEHOW")
    assert "attribute auto_pad is 'SOMEHOW'" in refusal(node)


def test_an_attribute_that_nobody_reads():
    assert "attribute shape of Relu is not supported" in refusal(helper.make_node("Relu", ["x"], ["y"], shape=3))


def test_an_operand_that_decides_a_shape_and_is_no_constant():
    node = helper.make_node("Reshape", ["x", "s"], ["y"])
    made = model([node], {"x": [2, 3], "s": [2]}, ["y"], {})
    made.graph.input[1].type.tensor_type.elem_type = 7  # int64
    with pytest.raises(ps.InputError, match="operand shape decides the shape and is no constant"):
        ps.network(made)
    net = ps.network(made, constants={"s": np.array([3, 2])})
    assert net(x=np.arange(6, dtype=np.float32).reshape(2, 3))[0].tolist() == [[0, 1], [2, 3], [4, 5]]


def test_a_dimension_that_is_open():
    with pytest.raises(ps.InputError, match="dimension 0 'n' of input 'x' is not known"):
        ps.network(classifier())


def test_shapes_that_do_not_fit():
    with pytest.raises(ps.InputError, match=r"input 'x' is given the shape \(1, 4, 6, 6\)"):
        ps.network(classifier(), {"x": (1, 4, 6, 6)})
    with pytest.raises(ps.InputError, match="there is no input 'z'"):
        ps.network(classifier(), {"z": (1,)})


def test_arrays_that_do_not_fit_are_refused_at_the_call():
    net = ps.network(model([helper.make_node("Relu", ["x"], ["y"])], {"x": [2]}, ["y"], {}))
    with pytest.raises(ps.LaunchError, match="input 'x' is float64"):
        net(x=np.zeros(2))
    with pytest.raises(ps.LaunchError, match="the inputs are 'x'"):
        net(z=np.zeros(2, np.float32))


def test_images_of_integers_are_not_weighted():
    """The weights would be integers, too."""
    made = model([helper.make_node("Resize", ["x", "", "s"], ["y"], mode="linear")], {"x": [1, 1, 2, 2]}, ["y"],
                 {"s": np.array([1, 1, 2, 2], np.float32)})  # fmt: skip
    made.graph.input[0].type.tensor_type.elem_type = TensorProto.UINT8
    with pytest.raises(ps.InputError, match="elements are u8, and mode is linear"):
        ps.network(made)


def test_what_old_versions_meant_by_an_attribute():
    """Of constants, too, where onnx.reference passes over it."""
    weights = {"a": np.zeros((3, 3), np.float32), "s": np.arange(3, dtype=np.float32)}
    nodes = [
        helper.make_node("Sub", ["a", "s"], ["c"], broadcast=1, axis=0),
        helper.make_node("Add", ["x", "c"], ["y"]),
    ]
    made = model(nodes, {"x": [3, 3]}, ["y"], weights)
    made.opset_import[0].version = 6
    with pytest.raises(ps.InputError, match="of Sub is not supported"):
        ps.network(made)
    made = model([helper.make_node("Dropout", ["x"], ["y"])], {"x": [3]}, ["y"], {})
    made.opset_import[0].version = 6  # trains, unless is_test is 1
    with pytest.raises(ps.InputError, match="elements are dropped by chance"):
        ps.network(made)


def test_operands_that_do_not_fit():
    node = helper.make_node("Expand", ["x", "s"], ["y"])
    message = refusal(node, {"s": np.array([3])}, x=[5])
    assert message.startswith("node 0 'y' (Expand): its operands and attributes do not fit: shape mismatch")


def test_constants_of_another_type_or_shape():
    made = model([helper.make_node("Add", ["x", "c"], ["y"])], {"x": [2], "c": [2]}, ["y"], {})
    with pytest.raises(ps.InputError, match=r"the constant 'c' is float64 of shape \(2,\), but the input f32\[2\]"):
        ps.network(made, constants={"c": np.zeros(2)})
    with pytest.raises(ps.InputError, match=r"of shape \(1,\), but the input f32\[2\]"):
        ps.network(made, constants={"c": np.zeros(1, np.float32)})


def test_a_result_that_no_node_computes():
    made = model([helper.make_node("Relu", ["x"], ["y"])], {"x": [2]}, ["z"], {})
    with pytest.raises(ps.InputError, match="result 'z' of the graph is computed by no node"):
        ps.network(made)
