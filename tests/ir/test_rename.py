"""polysched/ir/rename.py: fresh names, so that copies of statements bind names of their own."""

from __future__ import annotations

import random

import nests
import pytest
from nests import add, binary, load, loop, nest, store, var

from polysched.ir.dtypes import i64
from polysched.ir.nodes import Alloc, Array, Const, For, Let
from polysched.ir.rename import bound_names, fresh_names, rename_bound, used_names
from polysched.ir.text import show
from polysched.ir.verify import verify

A, T = Array("A", i64, (add(var("n"), 1),)), Array("t", i64, (Const(2),), "private")
BODY = (
    Alloc(T),
    loop("i", 0, var("n"), Let("x", load(A, var("i"))), store(T, (0,), var("x")), store(A, (var("i"),), load(T, 0))),
)


def test_what_is_bound_gets_other_names_and_what_is_not_keeps_its_own():
    assert show(rename_bound(BODY, lambda name: f"{name}_2")) == (
        "alloc t_2: private i64[2]\n"
        "for i_2 in 0..n:\n"
        "    x_2 = A[i_2]\n"
        "    t_2[0] = x_2\n"
        "    A[i_2] = t_2[0]"
    )


def test_without_bindings_nothing_changes():
    body = (store(A, (0,), load(A, var("i"))),)
    assert rename_bound(body, lambda name: f"{name}_2") is body


def test_a_name_bound_twice_in_a_body_is_renamed_once():
    names = iter(["x", "y"])
    body = (loop("i", 0, 2, store(A, (var("i"),), 0)), loop("i", 0, 3, store(A, (var("i"),), 1)))
    renamed = rename_bound(body, lambda name: next(names))
    assert [stmt.var for stmt in renamed] == ["x", "x"]


def test_conditions_of_parallel_loops_are_renamed_too():
    when = (binary("<", var("i"), 4),)
    inner = For("j", Const(0), var("n"), 1, (store(A, (var("j"),), 1),), "parallel", when=when)
    (renamed,) = rename_bound((loop("i", 0, 2, inner),), lambda name: f"{name}_2")
    assert renamed.body[0].when == (binary("<", var("i_2"), 4),)


def test_fresh_names_are_not_taken_and_are_from_then_on():
    taken = {"r0", "r2"}
    names = fresh_names("r", taken)
    assert [next(names), next(names)] == ["r1", "r3"]
    assert next(fresh_names("r", taken)) == "r4"


def test_the_names_of_a_function_are_used():
    fn = nest("f", "n", [A], *BODY, scalars=(var("a"),))
    assert used_names(fn) == {"f", "n", "a", "A", "t", "i", "x"}


@pytest.mark.parametrize("seed", range(20))
def test_a_copy_of_a_random_nest_computes_the_same_and_shares_no_name(seed):
    fn = nests.random_nest(random.Random(seed))
    names = fresh_names("r", used_names(fn))
    body = rename_bound(fn.body, lambda name: next(names))
    assert set(bound_names(body)).isdisjoint(bound_names(fn.body))
    copied = nest(fn.name, "n", fn.arrays, *body)
    verify(copied, "source")
    nests.assert_same_outcome(fn, copied, nests.arguments_for(fn, random.Random(seed), 4))
