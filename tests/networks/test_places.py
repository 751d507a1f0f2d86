"""Places outside of an array are refused, and neither read nor written."""

from __future__ import annotations

import subprocess
from typing import Any

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


def test_a_single_place():
    made = model([helper.make_node("Gather", ["x", "i"], ["y"])], {"x": [4]}, ["y"], {"i": np.array(9)})
    with pytest.raises(ps.InputError, match=r"the constant 'i' gives the place 9 to %y \(Gather\), which has -4 to 3"):
        ps.network(made)


def test_more_than_there_is_room_for():
    made = model([helper.make_node("Compress", ["x", "c"], ["y"], axis=0)], {"x": [2]}, ["y"], {"c": np.ones(3, bool)})
    with pytest.raises(ps.InputError, match="condition chooses element 2 of 2"):
        ps.network(made)
    del made.graph.initializer[:]
    made.graph.input.append(helper.make_tensor_value_info("c", TensorProto.BOOL, [3]))
    assert ps.network(made, constants={"c": np.array([0, 1, 0], bool)})(x=np.array([5, 6], np.float32))[0] == [6]


def test_new_elements_that_do_not_fit():
    made = model([helper.make_node("TensorScatter", ["x", "u"], ["y"])], {"x": [1, 2, 1], "u": [1, 3, 1]}, ["y"], {})
    made.opset_import[0].version = 24
    with pytest.raises(ps.InputError, match="3 new elements along an axis of 2"):
        ps.network(made)


def computing() -> Any:
    """Places that the network computes: those of an input, doubled."""
    nodes = [
        helper.make_node("Add", ["i", "i"], ["double"]),
        helper.make_node("Cast", ["double"], ["wide"], to=TensorProto.INT64),
        helper.make_node("Gather", ["x", "wide"], ["y"]),
        helper.make_node("Div", ["i", "d"], ["q"]),
    ]
    made = model(nodes, {"x": [4], "i": [2], "d": [2]}, ["y", "q"], {})
    for info in made.graph.input[1:]:
        info.type.tensor_type.elem_type = TensorProto.INT32
    return made


def test_places_that_are_computed():
    net = ps.network(computing())
    x, one = np.arange(4, dtype=np.float32), np.ones(2, np.int32)
    assert net(x=x, i=np.array([1, -2], np.int32), d=one)[0].tolist() == [2, 0]
    with pytest.raises(ps.LaunchError, match=r"'wide' gives places to %y \(Gather\) that are not from -4 to 3"):
        net(x=x, i=np.array([1, 10**9], np.int32), d=one)
    with pytest.raises(ps.ZeroDivisorError, match="divides an integer by zero"):
        net(x=x, i=np.array([1, 0], np.int32), d=0 * one)


def test_c_gives_a_number_for_each_fault(tmp_path):
    folder = ps.network(computing()).save(tmp_path)
    header = (folder / "tiny.h").read_text()
    assert "Gives 0;\n   1 if an integer was divided by zero;\n   2 if 'wide' gives places to %y (Gather)" in header
    (folder / "example.c").write_text("""
        #include <stdio.h>
        #include "tiny.h"
        int main(void)
        {
            _Alignas(64) char weights[64] = {0}, arena[TINY_ARENA_BYTES];
            float x[4] = {0, 1, 2, 3}, y[2];
            int i[2] = {1, 1}, far[2] = {1, 1000000000}, d[2] = {1, 1}, none[2] = {1, 0}, q[2];
            printf("%d ", tiny_run(weights, arena, x, i, d, y, q));
            printf("%d ", tiny_run(weights, arena, x, i, none, y, q));
            printf("%d %g", tiny_run(weights, arena, x, far, d, y, q), y[0]);
        }
    """)
    built = subprocess.run(["make", "-s", "CFLAGS=-O1 -fwrapv"], cwd=folder, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    assert subprocess.run(["./example"], cwd=folder, capture_output=True, check=True).stdout == b"0 1 2 2"
