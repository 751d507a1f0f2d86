"""codegen/expr/pressure.py: temporaries taken back where a loop has too many of them."""

from __future__ import annotations

import random

import pytest

from polysched.codegen.expr.licm import licm
from polysched.codegen.expr.normalize import normalize
from polysched.codegen.expr.pressure import _Lives, relieve
from polysched.config.target import TARGETS
from polysched.ir.build import add, binary, const, load, mul, store, sub, var
from polysched.ir.dtypes import i64
from polysched.ir.nodes import Array, Function, If, Let, Stmt
from polysched.ir.text import show
from polysched.ir.verify import verify
from tests.codegen.programs import random_program
from tests.codegen.test_licm import tiled_matmul
from tests.nests import arguments_for, assert_same_outcome, canonical, loop, nest, random_nest

OUT, IN = Array("Out", i64, (const(100),)), Array("In", i64, (const(100),))
i, j, k, n, m, s, t, u = map(var, "ijknmstu")


def function(*body: Stmt) -> Function:
    return nest("f", "n m", (OUT, IN), *body)


def most_live(fn: Function) -> int:
    """How many integer temporaries live across one loop, at most."""
    return max(map(len, _Lives(fn).temporaries().values()), default=0)


def rows() -> Function:
    """Two rows of arrays, from one base."""
    update = store(OUT, (add(t, j),), load(IN, add(s, j)))
    return function(loop("i", 0, n, Let("s", mul(i, m)), Let("t", add(s, 5)), loop("j", 0, m, update)))


def test_A18_what_one_addition_recomputes_is_taken_back():
    assert most_live(rows()) == 2
    assert show(relieve(rows(), budget=1).body) == (
        "for i in 0..n:\n    s = i * m\n    for j in 0..m:\n        Out[s + 5 + j] = In[s + j]"
    )


def test_A18_nothing_is_taken_back_within_the_budget():
    assert relieve(rows(), budget=2) is not None
    fn = rows()
    assert relieve(fn, budget=2) is fn


@pytest.mark.parametrize("budget", {target.registers for target in TARGETS.values()})
def test_A18_the_temporaries_of_A2_stay(budget):
    fn = licm(normalize(tiled_matmul()))
    assert most_live(fn) == 9
    assert relieve(fn, budget=budget) is fn


def test_what_more_than_an_addition_recomputes_stays():
    update = store(OUT, (add(t, j),), load(IN, add(s, j)))
    fn = function(loop("i", 0, n, Let("s", mul(i, m)), Let("t", mul(i, n)), loop("j", 0, m, update)))
    assert relieve(fn, budget=0) is fn


def test_what_needs_a_name_that_is_dead_there_stays():
    update = store(OUT, (add(t, j),), load(IN, add(t, j, 1)))
    fn = function(loop("i", 0, n, Let("s", mul(i, m)), Let("t", add(s, n)), loop("j", 0, m, update)))
    assert relieve(fn, budget=0) is fn  # s and n would live across j instead of t


def test_a_loop_variable_lives_in_its_loop():
    fn = function(loop("i", 0, n, Let("t", sub(i, 3)), loop("j", 0, m, store(OUT, (add(t, j),), 1))))
    assert show(relieve(fn, budget=0).body) == ("for i in 0..n:\n    for j in 0..m:\n        Out[i - 3 + j] = 1")


def test_a_name_is_counted_across_the_loops_inside_of_those_that_use_it():
    inner = loop("j", 0, m, loop("k", 0, m, store(OUT, (k,), 1)), store(OUT, (add(s, j),), 1))
    fn = function(loop("i", 0, n, Let("s", mul(i, m)), inner))
    assert most_live(fn) == 1


def test_of_two_names_the_one_used_less_goes():
    body = loop("j", 0, m, store(OUT, (add(t, j),), load(IN, add(s, t, j))), store(OUT, (add(u, j),), s))
    lets = (Let("s", mul(i, m)), Let("t", add(s, i)), Let("u", add(s, 7)))
    after = relieve(function(loop("i", 0, n, *lets, body)), budget=2)
    assert "t = s + i" in show(after.body) and "Out[s + 7 + j] = s" in show(after.body)


def test_conditions_and_bounds_are_uses():
    guard = If(binary("<", t, j), (store(OUT, (j,), s),))
    fn = function(loop("i", 0, n, Let("s", mul(i, m)), Let("t", add(s, 1)), loop("j", s, n, guard)))
    assert "if s + 1 < j:" in show(relieve(fn, budget=1).body)


@pytest.mark.parametrize("fn", canonical(), ids=lambda fn: fn.name)
def test_nests_of_the_tests_are_within_the_budget(fn):
    moved = licm(normalize(fn))
    assert relieve(moved, budget=TARGETS["cuda"].registers) is moved


@pytest.mark.parametrize("seed", range(40))
def test_random_programs_compute_the_same(seed):
    rng = random.Random(seed)
    fn = random_program(rng) if seed % 3 else random_nest(rng)
    moved = licm(normalize(fn))
    for budget in (0, 2):
        after = relieve(moved, budget=budget)
        verify(after, "source")
        assert most_live(after) <= most_live(moved)
        assert relieve(after, budget=budget) is after
        for size in (0, 2):
            assert_same_outcome(moved, after, arguments_for(fn, rng, size))
