"""Places outside of an array are refused, and neither read nor written."""

from __future__ import annotations

import numpy as np
import pytest

import polysched as ps

pytest.importorskip("onnx")

from nets import model
from onnx import TensorProto, helper


def gathering(kind: str, shape: list[int], places: list[int], weights: dict[str, np.ndarray] | None = None, **given):
    operands = ["x", "wide", "u"] if kind.startswith("Scatter") else ["x", "wide"]
    nodes = [
        helper.make_node("Cast", ["i"], ["wide"], to=TensorProto.INT64),
        helper.make_node(kind, operands, ["y"], **given),
    ]
    made = model(nodes, {"x": shape, "i": places}, ["y"], weights or {})
    made.graph.input[1].type.tensor_type.elem_type = TensorProto.INT32
    return made


def test_the_places_of_an_input():
    net = ps.network(gathering("Gather", [2, 4], [2], axis=-1))
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    assert net(x=x, i=np.array([-4, 3], np.int32))[0].tolist() == [[0, 3], [4, 7]]
    with pytest.raises(ps.LaunchError, match=r"the input 'i' gives the place 4 to %y \(Gather\), which has -4 to 3"):
        net(x=x, i=np.array([0, 4], np.int32))


def test_places_of_several_axes():
    net = ps.network(gathering("ScatterND", [2, 4], [1, 2], {"u": np.ones(1, np.float32)}))
    x = np.zeros((2, 4), np.float32)
    assert net(x=x, i=np.array([[1, 3]], np.int32))[0].sum() == 1
    with pytest.raises(ps.LaunchError, match=r"the place 3 to %y \(ScatterND\), which has -2 to 1"):
        net(x=x, i=np.array([[3, 1]], np.int32))


def test_the_places_of_a_constant():
    made = model([helper.make_node("Gather", ["x", "i"], ["y"])], {"x": [4]}, ["y"], {"i": np.array([0, 9])})
    with pytest.raises(ps.InputError, match="the constant 'i' gives the place 9"):
        ps.network(made)
