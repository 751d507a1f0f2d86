"""transform/edits/values/online.py: sums that are relative to what has not been computed yet."""

from __future__ import annotations

import random

import numpy as np
import pytest

from polysched import IllegalSchedule, InputError, Options, Schedule, f64, nest, optimize, size
from polysched.frontend.python import parse_nest
from polysched.ir.text import show

FREE = Options(reorder_reductions=True)


@nest
def powers(m: f64["n"], s: f64["n"], x: f64["n", "d"], w: f64["d"], n: size, d: size):
    for i in range(n):
        for j in range(d):
            m[i] = max(m[i], x[i, j])
        for k in range(d):
            s[i] += w[k] * exp(x[i, k] - m[i])


@nest
def squares(m: f64["n"], s: f64["n"], x: f64["n", "d"], n: size, d: size):
    for i in range(n):
        for j in range(d):
            m[i] += x[i, j]
        for k in range(d):
            s[i] += (x[i, k] - m[i] / d) * (x[i, k] - m[i] / d)


def dealt(fn, parts: int = 4) -> Schedule:
    """Both loops dealt to so many parts, the second one online."""
    return Schedule(fn, options=FREE).cyclic("j", parts).cyclic("k", parts).online("k_t", "s")


def test_each_part_has_a_value_of_its_own():
    schedule = Schedule(squares, options=FREE).tile("k", sizes=(8,)).online("k_o", "s")
    bodies = {s.name: show(s.body).strip().splitlines() for s in schedule.draft.scop.statements}
    assert bodies["S1_init"] == ["s_k_o[k_o] = -0.0", "s_from_k_o[k_o] = 0.0", "s_count_k_o[k_o] = 0.0"]
    assert "m" not in {read.array for read in schedule.draft.scop.statement("S1").reads}
    assert bodies["S1_fold"] == [
        "s[s0] = s[s0] + (s_k_o[k_o] + s_count_k_o[k_o] * ((s_from_k_o[k_o] - m[i] / f64(d)) * "
        "(s_from_k_o[k_o] - m[i] / f64(d))))"
    ]


@pytest.mark.parametrize("fn", [powers, squares])
def test_then_one_loop_reads_a_row(fn):
    with pytest.raises(IllegalSchedule):
        Schedule(fn, options=FREE).fuse("j", "k")
    schedule = dealt(fn).fuse("j_t", "k_t").fuse("j", "k")
    done = optimize(fn, schedule=schedule)
    done.verify()
    for n, d in ((1, 1), (2, 3), (3, 17), (1, 0)):
        done.verify(n=n, d=d)


def test_large_values_do_not_overflow_and_parts_may_be_infinite():
    done = optimize(powers, schedule=dealt(powers).fuse("j_t", "k_t").fuse("j", "k"))
    x = np.array([[-np.inf, 800.0, 801.0, -np.inf, -np.inf, 799.0], [-800.0, -np.inf, -801.0, -900.0, -805.0, -801.5]])
    m, s = np.full(2, -np.inf), np.zeros(2)
    done(m=m, s=s, x=x, w=np.ones(6), n=2, d=6)
    np.testing.assert_allclose(s, np.exp(x - x.max(axis=1, keepdims=True)).sum(axis=1), rtol=1e-12)


def test_a_variance_far_from_zero_keeps_its_digits():
    done = optimize(squares, schedule=dealt(squares).fuse("j_t", "k_t").fuse("j", "k"))
    x = np.random.default_rng(0).standard_normal((3, 50)) + 1e8
    m, s = np.zeros(3), np.zeros(3)
    done(m=m, s=s, x=x, n=3, d=50)
    np.testing.assert_allclose(s, x.var(axis=1) * 50, rtol=1e-6)


@pytest.mark.parametrize("value", [1e200, -1e200])
def test_a_value_whose_square_overflows_may_be_far_from_zero(value):
    """The first term is as far from the mean of no terms, and adds nothing."""
    done = optimize(squares, schedule=dealt(squares, 1))
    m, s = np.zeros(1), np.zeros(1)
    done(m=m, s=s, x=np.full((1, 4), value), n=1, d=4)
    assert s[0] == 0.0


def test_sums_of_floats_need_leave():
    with pytest.raises(IllegalSchedule, match="combine its floats in another order"):
        Schedule(powers).tile("k", sizes=(8,)).online("k_o", "s")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("s[i] += x[i, k] * m[i]", "S1 is no sum of powers or squares of differences"),
        ("s[i] += (x[i, k] - m[i]) * (x[i, k] + m[i])", "S1 is no sum of powers or squares of differences"),
        ("s[i] += exp(m[i] - x[i, k])", "from a value that is not the same for all terms"),
        ("s[i] += exp(m[i] - m[i])", "from a value that is not the same for all terms"),
        ("s[i] += m[i] * exp(x[i, k] - m[i])", "from a value that is not the same for all terms"),
    ],
)
def test_other_sums_are_refused(line, message):
    fn = parse_nest(
        "def other(m: ps.f64['n'], s: ps.f64['n'], x: ps.f64['n', 'd'], n: ps.size, d: ps.size):\n"
        "    for i in range(n):\n"
        "        for j in range(d):\n"
        "            m[i] = max(m[i], x[i, j])\n"
        "        for k in range(d):\n"
        f"            {line}\n",
        "other.py",
    )
    with pytest.raises(InputError, match=message):
        Schedule(fn, options=FREE).tile("k", sizes=(8,)).online("k_o", "s")


def test_what_changes_in_between_is_refused():
    """Terms are relative to what m was when they were added."""
    fn = parse_nest(
        "def running(m: ps.f64[1], s: ps.f64[1], x: ps.f64['d'], d: ps.size):\n"
        "    for k in range(d):\n"
        "        m[0] = max(m[0], x[k])\n"
        "        s[0] += exp(x[k] - m[0])\n",
        "running.py",
    )
    with pytest.raises(IllegalSchedule, match=r"(flow|anti) dependence on m"):
        Schedule(fn, options=FREE).tile("k", sizes=(8,)).online("k_o", "s")


@pytest.mark.parametrize("seed", range(3))
def test_random_sums_compute_the_same(seed):
    rng = random.Random(seed)
    fn = rng.choice([powers, squares])
    parts = rng.choice([2, 4, 8])
    in_tiles = Schedule(fn, options=FREE).tile("k", sizes=(parts,)).online("k_o", "s").parallel("k_o")
    schedule = rng.choice([in_tiles, dealt(fn, parts).fuse("j_t", "k_t")])
    optimize(fn, schedule=schedule).verify(n=rng.randrange(1, 4), d=rng.randrange(1, 30))
