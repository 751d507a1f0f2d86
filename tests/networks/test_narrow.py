"""Narrow numbers: what ml_dtypes makes of them, from every pattern of bits, and rounded from floats."""

from __future__ import annotations

import numpy as np
import pytest

import polysched as ps

pytest.importorskip("onnx")

from onnx import TensorProto, helper

from polysched.networks.narrow import INTEGERS, NARROW, array_type, bits, storage, width


def casting(source: int, target: int, shape: list[int], **given) -> ps.Network:
    node = helper.make_node("Cast", ["x"], ["y"], to=target, **given)
    x, y = (helper.make_tensor_value_info(name, kind, shape) for name, kind in (("x", source), ("y", target)))
    graph = helper.make_graph([node], "cast", [x], [y])
    return ps.network(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)]))


@pytest.mark.parametrize("kind", NARROW)
def test_every_pattern_of_bits(kind):
    patterns = np.arange(1 << width(kind)).astype(storage(kind).numpy).view(array_type(kind))
    net = casting(TensorProto.DataType.Value(kind.upper()), TensorProto.FLOAT, [len(patterns)])
    with np.errstate(all="ignore"):
        assert np.array_equal(net(x=patterns)[0], patterns.astype(np.float32), equal_nan=True)


@pytest.mark.parametrize("kind", [kind for kind in NARROW if kind not in INTEGERS and kind != "float8e8m0"])
def test_floats_are_rounded_to_the_nearest(kind):
    """To the even one of two, and at ties, which lie between neighbours; what is too large has a rule of its own."""
    random = np.random.default_rng(1)
    some = np.arange(1 << min(width(kind), 12)).astype(storage(kind).numpy)
    with np.errstate(all="ignore"):
        numbers = (some << max(0, width(kind) - 12)).astype(some.dtype).view(array_type(kind)).astype(np.float64)
    numbers = np.unique(numbers[np.isfinite(numbers)])
    x = np.concatenate([numbers, (numbers[1:] + numbers[:-1]) / 2, random.standard_normal(200) * 3])
    x = x[np.abs(x) <= numbers.max()].astype(np.float32)
    net = casting(TensorProto.FLOAT, TensorProto.DataType.Value(kind.upper()), [len(x)])
    found, right = net(x=x)[0], x.astype(array_type(kind))
    assert found.dtype == right.dtype
    assert np.array_equal(found.astype(np.float32), right.astype(np.float32))
    assert np.array_equal(bits(found[x != 0]), bits(right[x != 0]))


def test_arithmetic_on_narrow_integers_is_refused():
    x = helper.make_tensor_value_info("x", TensorProto.INT4, [2])
    graph = helper.make_graph([helper.make_node("Neg", ["x"], ["y"])], "neg", [x], [x])
    graph.output[0].name = "y"
    with pytest.raises(ps.InputError, match="operands of Neg are not supported as int4"):
        ps.network(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)]))
