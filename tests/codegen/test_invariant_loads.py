"""polysched/codegen/loops/invariant_loads.py: elements that never change are loaded before SIMD loops."""

from __future__ import annotations

import random

import nests
import pytest
from nests import loop, nest

from polysched.codegen.loops.invariant_loads import invariant_loads
from polysched.ir.build import add, load, mul, store, var
from polysched.ir.dtypes import f64
from polysched.ir.node import walk
from polysched.ir.nodes import Array, Const, For, Let, Load

i, n = var("i"), var("n")
A, B, W = Array("A", f64, (n,)), Array("B", f64, (n,)), Array("w", f64, (Const(2), Const(3)))


def filtered(*weights: tuple, kind: str = "vector", also=()):
    value = load(A, i)
    for weight in weights:
        value = add(mul(value, load(W, *weight)), load(W, *weight))
    return nest("f", "n", (A, B, W), *also, loop("i", 0, n, store(B, (i,), value), kind=kind))


def test_each_element_is_loaded_once_before_the_loop():
    fn = filtered((1, 2), (0, 0))
    done = invariant_loads(fn)
    *lets, inner = done.body
    assert [let.value for let in lets] == [load(W, 1, 2), load(W, 0, 0)] and all(isinstance(let, Let) for let in lets)
    assert isinstance(inner, For) and {each.array for each in walk(inner.body) if isinstance(each, Load)} == {"A"}
    for size in (0, 1, 7):
        nests.assert_same_outcome(fn, done, nests.arguments_for(fn, random.Random(0), size))


@pytest.mark.parametrize(
    "fn",
    [
        filtered((1, 2), kind="serial"),
        filtered((1, 3)),
        filtered((1, i)),
        filtered((1, 2), also=[store(W, (0, 0), 1.0)]),
    ],
    ids=["no lanes", "outside", "not the same", "stored to"],
)
def test_others_stay(fn):
    assert invariant_loads(fn) is fn
