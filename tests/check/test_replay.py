"""polysched/check/trials/replay.py: claims against what the interpreter accesses."""

from __future__ import annotations

import numpy as np

import polysched as ps
from polysched.check.trials.replay import conflict
from polysched.deps.dependences import Claim
from polysched.model.extract import extract
from polysched.plan.prepare import function_of, prepared


@ps.nest
def chain(a: ps.f64["n + 3"], n: ps.size):
    for i in range(n):
        a[i + 3] = a[i] + 1.0


@ps.nest
def scatter(h: ps.f64["n"], x: ps.i64["n"], n: ps.size):
    for i in range(n):
        h[x[i]] = h[x[i]] + 1.0


@ps.nest
def two(a: ps.f64["n"], b: ps.f64["n"], n: ps.size):
    for i in range(n):
        a[i] = 1.0
    for i in range(n):
        b[i] = a[i]


def found(nest, claim, **arguments):
    scop = extract(prepared(function_of(nest)))
    return conflict((claim,), scop, arguments)


EVERY = Claim("*", "*", "*")


def test_a_false_claim_is_named_with_two_instances_and_the_element():
    assert str(found(chain, EVERY, a=np.zeros(10), n=7)) == (
        "it is not true that all statements are independent through all arrays: S[i=0] writes a[3], and S[i=3] reads it"
    )
    assert not found(chain, EVERY, a=np.zeros(10), n=7).depends_on_data


def test_a_claim_may_be_true_for_few_iterations():
    assert found(chain, EVERY, a=np.zeros(6), n=3) is None


def test_it_depends_on_the_data():
    assert found(scatter, EVERY, h=np.zeros(4), x=np.array([2, 0, 3, 1]), n=4) is None
    false = found(scatter, EVERY, h=np.zeros(4), x=np.array([2, 0, 2, 1]), n=4)
    assert false.depends_on_data and "h[2], and S[i=2] reads it" in str(false)


def test_only_what_the_claim_speaks_of():
    arrays = {"a": np.zeros(3), "b": np.zeros(3), "n": 3}
    assert found(two, Claim("S0", "S0", "*"), **arrays) is None
    assert found(two, Claim("S0", "S1", "b"), **arrays) is None
    assert "S0[i=0] writes a[0], and S1[i=0] reads it" in str(found(two, Claim("S1", "S0", "a"), **arrays))


def test_reads_are_no_conflict():
    arrays = {"a": np.zeros(3), "b": np.zeros(3), "n": 3}
    assert found(two, Claim("S1", "S1", "a"), **arrays) is None
