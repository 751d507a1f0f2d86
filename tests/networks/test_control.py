"""Branches, loops and scans of files, as plain nodes."""

from __future__ import annotations

import numpy as np
import pytest

import polysched as ps

pytest.importorskip("onnx")

from nets import model, right
from onnx import TensorProto, helper


def body(nodes, inputs: dict[str, tuple[int, list[int]]], outputs: list[str]):
    given = [helper.make_tensor_value_info(name, kind, shape) for name, (kind, shape) in inputs.items()]
    kinds = {"go_on": TensorProto.BOOL}
    made = [helper.make_tensor_value_info(name, kinds.get(name, TensorProto.FLOAT), None) for name in outputs]
    return helper.make_graph(nodes, "body", given, made)


def test_a_branch_that_data_chooses():
    """Both run, and the condition chooses."""
    sides = {
        "then_branch": body([helper.make_node("Exp", ["x"], ["p"])], {}, ["p"]),
        "else_branch": body([helper.make_node("Neg", ["x"], ["q"])], {}, ["q"]),
    }
    nodes = [
        helper.make_node("ReduceSum", ["x"], ["s"], keepdims=0),
        helper.make_node("Greater", ["s", "zero"], ["c"]),
        helper.make_node("If", ["c"], ["y"], **sides),
    ]
    made = model(nodes, {"x": [3]}, ["y"], {"zero": np.zeros((), np.float32)})
    net = ps.network(made)
    for x in (np.array([1, 2, -1], np.float32), np.array([-1, -2, 1], np.float32)):
        assert np.allclose(net(x=x)[0], right(made, x=x)[0])


def looping(turns: int):
    """v doubles, and x plus the number of the turn is stacked."""
    nodes = [
        helper.make_node("Add", ["v", "v"], ["w"]),
        helper.make_node("Cast", ["k"], ["number"], to=TensorProto.FLOAT),
        helper.make_node("Add", ["x", "number"], ["each"]),
        helper.make_node("Identity", ["go"], ["go_on"]),
    ]
    inputs = {"k": (TensorProto.INT64, []), "go": (TensorProto.BOOL, []), "v": (TensorProto.FLOAT, [2])}
    loop = helper.make_node("Loop", ["n", "", "x"], ["y", "all"], body=body(nodes, inputs, ["go_on", "w", "each"]))
    return model([loop], {"x": [2]}, ["y", "all"], {"n": np.array(turns)})


def test_a_loop_of_known_length():
    y, every = ps.network(looping(3))(x=np.array([1, -2], np.float32))
    assert y.tolist() == [8, -16]
    assert every.tolist() == [[1, -2], [2, -1], [3, 0]]


def test_loops_that_are_refused():
    with pytest.raises(ps.InputError, match="a loop of more than 256 turns is not supported"):
        ps.network(looping(1000))
    with pytest.raises(ps.InputError, match="a loop without turns has no results to stack"):
        ps.network(looping(0))
    made = looping(3)
    made.graph.input.append(helper.make_tensor_value_info("n", TensorProto.INT64, []))
    del made.graph.initializer[:]
    with pytest.raises(ps.InputError, match="the number of turns decides the shape and is no constant"):
        ps.network(made)


def test_a_scan_backwards_along_another_axis():
    """Running sums of the columns from the last one on."""
    nodes = [helper.make_node("Add", ["s", "c"], ["t"]), helper.make_node("Identity", ["t"], ["u"])]
    inputs = {"s": (TensorProto.FLOAT, [2]), "c": (TensorProto.FLOAT, [2])}
    scan = helper.make_node(
        "Scan", ["s0", "x"], ["last", "all"], body=body(nodes, inputs, ["t", "u"]), num_scan_inputs=1,
        scan_input_axes=[1], scan_input_directions=[1], scan_output_axes=[1],
    )  # fmt: skip
    made = model([scan], {"x": [2, 3]}, ["last", "all"], {"s0": np.zeros(2, np.float32)})
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    last, every = ps.network(made)(x=x)
    assert last.tolist() == [3, 12]
    assert every.tolist() == np.cumsum(x[:, ::-1], axis=1).tolist()
