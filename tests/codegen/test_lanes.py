"""polysched/codegen/parallel/lanes.py: four vectors of partial results for short sums on lanes."""

import random
from dataclasses import replace

import numpy as np
import pytest

from polysched.codegen.parallel.lanes import several_vectors
from polysched.ir.build import add, binary, const, load, mul, store, sub, var
from polysched.ir.dtypes import f64
from polysched.ir.nodes import Alloc, Array, Call, Let
from polysched.ir.text import show
from tests.nests import arguments_for, loop, nest, outcome

n, j = var("n"), var("j")
A, OUT = Array("A", f64, (n,)), Array("out", f64, (const(1),))
t = var("t", f64)
S = Array("s", f64, (), "private")


def summed(*body, low=0, high=n, kind="vector"):
    """A loop that adds to s, which is stored."""
    lanes = replace(loop("j", low, high, *body, kind=kind), reduces=("s",) if kind == "vector" else ())
    return nest("f", "n", [A, OUT], Alloc(S), store(S, (), 1.0), lanes, store(OUT, (0,), load(S)))


def plain(op="+"):
    return store(S, (), binary(op, load(S), load(A, j)))


BODIES = {
    "sum": (plain(),),
    "maximum": (plain("max"),),
    "squares": (Let("t", sub(load(A, j), const(0.5, f64))), store(S, (), add(load(S), mul(t, t)))),
}


@pytest.mark.parametrize("low", [0, 3])
@pytest.mark.parametrize("name", BODIES)
def test_no_term_is_lost(name, low):
    fn = summed(*BODIES[name], low=low)
    done = several_vectors(fn, vector_bytes=16)  # 8 partial results
    assert "p" in show(done) and "else" in show(done)
    for size in (*range(12), *range(15, 22), 24, 27, 40):
        given = arguments_for(fn, random.Random(size), n=size)
        given["A"] = np.round(given["A"] * 8) / 8  # every order is exact
        before, after = outcome(fn, given), outcome(done, given)
        np.testing.assert_array_equal(after["out"], before["out"])


def test_partial_results_fill_four_vectors():
    assert "alloc s_0: private f64[32]" in show(several_vectors(summed(plain()), vector_bytes=64))


@pytest.mark.parametrize(
    ("fn", "why"),
    [
        (summed(store(S, (), add(load(S), Call("exp", (load(A, j),), f64)))), "the call takes longer"),
        (summed(plain(), high=64), "it is short"),
        (summed(plain(), high=binary("min", n, 256)), "it is one of a tile"),
        (summed(plain(), kind="serial"), "it is not on lanes"),
    ],
)
def test_what_would_not_gain_stays(fn, why):
    assert several_vectors(fn, vector_bytes=64) == fn, why
