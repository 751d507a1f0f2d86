"""polysched/transform/trees/fusion.py: neighbours on lanes over the same iterations, as one loop."""

import numpy as np
import pytest

import polysched as ps
from polysched.model.tree.nodes import Vector, marks_in

OPTIONS = ps.Options(reorder_reductions=True)


def loops(nest) -> int:
    """How many loops on lanes there are, of a kernel that was seen to be right."""
    done = ps.optimize(nest, options=OPTIONS)
    assert "on 4 threads" in done.verify().ways
    return sum(isinstance(mark, Vector) for mark in marks_in(done.tree))


@ps.op
def moments(x: ps.f64["n", "d"]) -> ps.f64["n"]:
    return np.sum(x, axis=1) + np.sum(x * x, axis=1)


@ps.op
def centred(x: ps.f64["n", "d"]) -> ps.f64["n"]:
    c = x - np.sum(x, axis=1, keepdims=True)
    return np.sum(c * c, axis=1)


@ps.op
def of_powers(x: ps.f64["n", "d"]) -> ps.f64["n", "d"]:
    e = np.exp(x)
    return e / np.sum(e, axis=1, keepdims=True)


@ps.op
def of_parts(x: ps.f64["n", "d + 1"]) -> ps.f64["n"]:
    return np.sum(x[:, 1:], axis=1) + np.sum(x, axis=1)


@pytest.mark.parametrize(
    ("nest", "count", "why"),
    [
        (moments, 1, "both sums read a row"),
        (of_powers, 2, "what is added up is made in the same iteration"),
        (centred, 2, "the second sum waits for the first"),
        (of_parts, 2, "one sum has an iteration more"),
    ],
)
def test_loops_are_joined_where_one_reduces(nest, count, why):
    assert loops(nest) == count, why


def test_in_order_nothing_is_joined():
    done = ps.optimize(moments)
    assert "reduction(" not in done.source.text
