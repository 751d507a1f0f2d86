"""polysched/support/bounded.py: calls in a process of their own, which end in time or are ended."""

from __future__ import annotations

import math
import os
import pickle
import time

import nests
import pytest

from polysched.codegen.lower import lower
from polysched.errors import BudgetExceeded
from polysched.model.extract import extract
from polysched.support import isl
from polysched.support.bounded import call_within

PLENTY = 60.0  # seconds


def test_the_result_comes_back():
    assert call_within(PLENTY, math.gcd, 12, 18) == 6


def test_it_ran_in_another_process():
    assert call_within(PLENTY, os.getpid) != os.getpid()


def test_trees_and_nests_go_there_and_back():
    scop = extract(nests.jacobi_1d())
    assert call_within(PLENTY, lower, scop.tree, scop) == lower(scop.tree, scop)


def test_what_takes_too_long_is_ended():
    with pytest.raises(BudgetExceeded, match=r"^sleep took more than 0\.2 s$"):
        call_within(0.2, time.sleep, 600)


@pytest.mark.parametrize("seconds", [0.0, -1.0])
def test_no_time_at_all_is_no_result(seconds):
    with pytest.raises(BudgetExceeded, match=r"^gcd took more than"):
        call_within(seconds, math.gcd, 12, 18)


def test_a_failure_is_named_with_its_last_line():
    with pytest.raises(RuntimeError, match=r"(?s)^sqrt failed in its process:.*ValueError: math domain error$"):
        call_within(PLENTY, math.sqrt, -1.0)


def test_a_process_that_dies_without_a_word_shows_its_status():
    with pytest.raises(BudgetExceeded, match=r"^_exit failed: 7$"):
        call_within(PLENTY, os._exit, 7)


SAME_NAMES = isl.Map("{ S[i] -> S[i + 1] }").set_dim_name(isl.dim_type.out, 0, "i")


@pytest.mark.parametrize(
    "value",
    [
        SAME_NAMES,
        isl.UnionMap.from_map(SAME_NAMES),
        isl.Map("[n] -> { S[i] -> S[i + 1] : 0 <= i < n }"),
        isl.Map("{ S[i, j] -> S[i, j] }"),
        isl.UnionMap("[n] -> { S[i] -> S[i + 1]; S[i] -> T[i]; T[i] -> [i] }"),
        isl.Set("[n] -> { S[i] : exists k : i = 2k and 0 <= i < n }"),
        isl.UnionSet("[n, m] -> { S[i] : i < n; T[i] : i < m }"),
        isl.UnionSet("{ }"),
    ],
    ids=str,
)
def test_isl_sets_and_maps_survive_pickling(value):
    copy = pickle.loads(pickle.dumps(value))
    assert type(copy) is type(value) and copy.is_equal(value)
    assert str(copy) == str(value)
