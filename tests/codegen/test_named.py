"""polysched/codegen/expr/named.py: temporaries that are set once, to what no memory decides, are names."""

from __future__ import annotations

import random

import pytest

import polysched as ps
from polysched.codegen.expr.named import named_temporaries
from polysched.ir.build import add, binary, load, mul, store, var
from polysched.ir.dtypes import i64
from polysched.ir.nodes import Alloc, Array, If
from polysched.ir.text import show
from tests import nests
from tests.nests import loop, nest

n, i, j = var("n"), var("i"), var("j")
A = Array("A", i64, (n, n))
t, u = Array("t", i64, (), "private"), Array("u", i64, (), "private")


def in_loops(*body):
    return nest("f", "n", [A], loop("i", 0, n, loop("j", 0, n, *body)))


def test_a_chain_of_temporaries():
    fn = in_loops(
        Alloc(u),
        Alloc(t),
        store(t, (), mul(i, i)),
        store(u, (), add(load(t), 1)),
        store(A, (i, j), add(load(u), mul(load(t), j))),
    )
    after = named_temporaries(fn)
    assert show(after.body) == (
        "for i in 0..n:\n    for j in 0..n:\n        t = i * i\n        u = t + 1\n        A[i, j] = u + t * j"
    )
    nests.assert_same_outcome(fn, after, nests.arguments_for(fn, random.Random(0), 5))


@pytest.mark.parametrize(
    "body",
    [
        (store(t, (), load(A, j, i)), store(A, (i, j), load(t))),
        (store(t, (), i), store(A, (i, j), load(t)), store(t, (), j), store(A, (j, i), load(t))),
        (If(binary("<", i, 3), (store(t, (), i),), (store(t, (), j),)), store(A, (i, j), load(t))),
        (loop("k", 0, 3, store(t, (), var("k"))), store(A, (i, j), load(t))),
    ],
    ids=["from memory", "set twice", "set in branches", "set in a loop"],
)
def test_others_stay(body):
    fn = in_loops(Alloc(t), *body)
    assert named_temporaries(fn) is fn


def test_what_does_not_change_in_a_loop_leaves_it():
    fn = in_loops(Alloc(t), store(t, (), add(mul(i, i), 7)), store(A, (i, j), add(load(t), j)))
    done = ps.optimize(fn, options=ps.Options(scheduler="source", tile=False, parallel=False))
    before = done.source.text.partition("c1 = 0")[0]
    assert "c0 * c0" in before
    done.verify()
