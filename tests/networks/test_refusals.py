"""What is not supported is refused by the node, the operator and what would be right; nothing is ignored."""

from __future__ import annotations

import numpy as np
import pytest

import polysched as ps

pytest.importorskip("onnx")

from nets import classifier, model
from onnx import helper


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
