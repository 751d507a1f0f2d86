"""Random programs, PolyBench and the classics through the passes over expressions; fuzz_expressions.py runs more."""

from __future__ import annotations

import random

import numpy as np
import pytest

import polysched as ps
from benchmarks.polybench import KERNELS
from benchmarks.polybench.data import initial_data
from polysched.ir.node import rewrite, walk
from polysched.ir.nodes import Binary, Const, If, Select, Store
from tests.codegen import soundness
from tests.codegen.soundness import assert_same, case, check, check_compiled, failure, result
from tests.nests import arguments_for, canonical
from tests.shrink import shrink


@pytest.mark.parametrize("first", range(0, 1000, 50))
def test_passes_keep_results_and_traps(first):
    for seed in range(first, first + 50):
        check(case(seed))


def test_a_pass_settles_where_nothing_comes():
    check(case(4018068))  # from facts that contradict each other all follows, but what is found first is chance


def test_what_the_stage_makes_computes_the_same_in_c():
    check_compiled(case(seed, "stage for c") for seed in range(40))


@pytest.mark.parametrize("target", ["c", "cuda"])
@pytest.mark.parametrize("name", KERNELS)
def test_polybench_kernels_compute_the_same_bits(name, target):
    data = initial_data(name, dict.fromkeys(KERNELS[name].sizes["mini"], 3))
    flat = {key: value.ravel() if isinstance(value, np.ndarray) else value for key, value in data.items()}
    assert_stage_keeps(KERNELS[name].nest, target, flat)


@pytest.mark.parametrize("target", ["c", "cuda"])
@pytest.mark.parametrize("fn", canonical(), ids=lambda fn: fn.name)
def test_classics_compute_the_same_bits(fn, target):
    data = arguments_for(fn, random.Random(0), n=5)
    assert_stage_keeps(fn, target, {k: v.ravel() if isinstance(v, np.ndarray) else v for k, v in data.items()})


def assert_stage_keeps(nest, target, arguments):
    done = ps.optimize(nest, target, options=ps.Options(tile_sizes=(3, 5), tensor="off"))
    before = next(event.value for event in done.events if event.name == "linearize")
    expected = result(before, arguments)
    assert expected is not None
    assert_same(expected, result(done.kernel, arguments), arguments)


def truncates(node):
    """Rounds a quotient the wrong way."""
    return Binary("truncdiv", node.left, node.right) if isinstance(node, Binary) and node.op == "floordiv" else None


def forgets_a_guard(node):
    return node.then if isinstance(node, If) and not node.other else None


def evaluates_eagerly(node):
    """A trap that was guarded happens, and nothing else changes."""
    match node:
        case Select(cond, Binary("floordiv" | "floormod" | "truncdiv" | "truncmod") as quotient, other):
            kept = Binary("^", Binary("^", quotient, quotient), other)
            return Select(cond, quotient, kept)
    return None


def drops_traps(node):
    match node:
        case Store(_, _, Binary("floormod", _, divisor)) if not isinstance(divisor, Const):
            return ()
    return None


def loses_the_sign_of_zero(node):
    match node:
        case Store(array, index, value) if value.dtype.is_float:
            return Store(array, index, Binary("+", value, Const(0.0, value.dtype)))
    return None


PLANTED = (truncates, forgets_a_guard, evaluates_eagerly, drops_traps, loses_the_sign_of_zero)


@pytest.mark.parametrize("wrong", PLANTED, ids=lambda fn: fn.__name__)
def test_a_wrong_pass_is_found_and_its_fault_is_shown_by_a_small_program(wrong, monkeypatch):
    monkeypatch.setitem(soundness.PASSES, "planted", lambda fn: rewrite(fn, wrong))
    monkeypatch.setitem(soundness.STAGES, "planted", lambda fn: rewrite(fn, wrong))  # idempotent or not
    cases = (case(seed, "planted") for seed in range(300))
    found = next(one for one in cases if failure(one))
    small = shrink(found.fn, lambda fn: bool(failure(soundness.Case("planted", found.seed, fn))), "lowered")
    assert sum(1 for node in walk(small.body) if isinstance(node, Store)) <= 2  # one to make the value, one to show it


@pytest.mark.slow
def test_a_wrong_pass_is_found_in_c(monkeypatch):
    monkeypatch.setitem(soundness.PASSES, "planted", lambda fn: rewrite(fn, truncates))
    with pytest.raises(AssertionError, match=r"seed [0-9]+: in C, [A-Z] is"):
        check_compiled(case(seed, "planted") for seed in range(40))


def test_a_seed_gives_the_same_case_again():
    assert case(5).fn == case(5).fn
    assert {case(seed).name for seed in range(len(soundness.PASSES))} == set(soundness.PASSES)
