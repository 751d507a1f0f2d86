"""polysched/prelude/integer_indices.py: places made of floats, as quotients where every iteration agrees."""

from __future__ import annotations

import random

import numpy as np
import pytest
from nests import arguments_for, assert_same_outcome

import polysched as ps
from polysched.frontend import tensor as te
from polysched.ir.node import walk
from polysched.ir.nodes import Cast, Function
from polysched.model.extract import extract
from polysched.prelude.integer_indices import digital_line, integer_indices


def resized(size: int, out, scale: float, mode: str = "half") -> Function:
    """The elements to the left of places over data; beyond the sides those at the side."""
    a = ps.placeholder((size,), ps.f32, "a")

    def element(i):
        x = i.astype(ps.f32)
        place = te.floor((x + 0.5) * scale - 0.5) if mode == "half" else te.sqrt(x) if mode == "root" else x * scale
        return a[te.minimum(te.maximum(place.astype(ps.i64), 0), size - 1)]

    return ps.function("resized", [a], [ps.compute((out,), element, "out")])


def test_a_place_is_a_quotient():
    fn = resized(4, 8, 0.5)
    assert str(fn) == """\
def resized(a: f32[4], out: f32[8]):
    for i in 0..8:
        out[i] = a[min(max(i64(floor((f32(i) + 0.5f32) * 0.5f32 - 0.5f32)), 0), 3)]"""
    assert str(integer_indices(fn)) == """\
def resized(a: f32[4], out: f32[8]):
    for i in 0..8:
        out[i] = a[min(max(floordiv(i - 1, 2), 0), 3)]"""


def test_its_access_is_exact_then():
    fn = resized(4, 8, 0.5)
    (before,), (after,) = (extract(each).statements[0].reads for each in (fn, integer_indices(fn)))
    assert (before.must, after.must) == (False, True)


@pytest.mark.parametrize(
    "fn",
    [resized(4, ps.var("n"), 0.5), resized(4, 5000, 0.5), resized(9, 60, 0.5, "root")],
    ids=["a size", "many iterations", "no line"],
)
def test_what_is_not_proven_may_be_any_element(fn):
    assert integer_indices(fn) is fn
    assert not extract(fn).statements[0].reads[0].must


def test_an_optimized_nest_has_integers_alone():
    done = ps.optimize(resized(40, 100, 0.4))
    assert "floorf" not in done.source.text
    a, out = np.arange(40, dtype=np.float32), np.empty(100, np.float32)
    done(a=a, out=out)
    half = np.float32(0.5)
    place = np.floor((np.arange(100, dtype=np.float32) + half) * np.float32(0.4) - half)
    np.testing.assert_array_equal(out, a[place.astype(int).clip(0, 39)])


@pytest.mark.parametrize("seed", range(25))
def test_every_element_stays_the_same(seed):
    rng = random.Random(seed)
    scale = rng.choice([rng.uniform(-3, 3), rng.randint(1, 9) / rng.randint(1, 9), 0.1])
    fn = resized(rng.randint(1, 30), rng.randint(1, 90), scale, rng.choice(["half", "left"]))
    found = integer_indices(fn)
    assert_same_outcome(fn, found, arguments_for(fn, rng, 0))


@pytest.mark.parametrize("seed", range(50))
def test_a_line_is_found_wherever_there_is_one(seed):
    rng = random.Random(seed)
    p, q, s, first, step = (rng.randint(*ends) for ends in ((-9, 9), (1, 12), (-20, 20), (-5, 5), (1, 3)))
    at = range(first, first + step * rng.randint(1, 40), step)
    values = [(p * x + s) // q for x in at]
    found = digital_line(at, values)
    assert found is not None
    assert [(found[0] * x + found[1]) // found[2] for x in at] == values
    assert found[2] <= q


def test_there_is_no_line_through_a_jump():
    assert digital_line(range(6), [0, 0, 1, 1, 4, 4]) is None
    assert digital_line([], []) is None


def test_a_place_beyond_all_integers_stays():
    fn = resized(4, 3, 1e30, "left")
    assert any(isinstance(node, Cast) for node in walk(integer_indices(fn)))
