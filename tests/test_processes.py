"""Nests, schedules and results in other processes: they pickle, copy, and work there."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import polysched as ps
from polysched.errors import InputError, Loc
from polysched.operators import conv2d_nchw
from polysched.operators.examples import gemm, stencil

ROOT = Path(__file__).parent.parent


@ps.op
def softmax(x: ps.f64["n", "m"]):
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return e / np.sum(e, axis=1, keepdims=True)


@ps.nest
def recurrence(a: ps.f64["n + 1"], n: ps.size):
    for i in range(n):
        a[i + 1] = a[i]


def results():
    """Results of all kinds: with solved ILPs, tiles, products, stages of GPUs, by hand."""
    yield ps.optimize(recurrence)
    yield ps.optimize(stencil)
    yield ps.optimize(gemm, "cuda")
    yield ps.optimize(softmax, "opencl")
    yield ps.optimize(conv2d_nchw(batch=1, in_channel=3, in_size=8, num_filter=4, kernel=3, padding=1))
    yield ps.optimize(stencil, schedule=ps.Schedule(stencil).skew("j", by="i").tile("i", "j", sizes=(4, 8)))


def sent(value):
    return pickle.loads(pickle.dumps(value))


@pytest.mark.parametrize("again", [sent, copy.deepcopy])
def test_results_pickle_with_all_that_led_to_them(again):
    for done in results():
        other = again(done)
        for name in ("nest", "source", "rungs", "options", "kernel", "scop", "dependences", "tree"):
            assert getattr(other, name) == getattr(done, name)
        assert [event.name for event in other.events] == [event.name for event in done.events]
        assert other.explain() == done.explain()
        assert [str(solve.schedule) for solve in other.scheduled.solves] == [
            str(solve.schedule) for solve in done.scheduled.solves
        ]
        assert str(again(other).source) == str(done.source)


def test_a_result_that_has_run_pickles_and_runs_again():
    done = ps.optimize(stencil)
    a, b = np.ones((9, 10)), np.ones((9, 10))
    done(a=a)
    assert done.program is not None
    sent(done)(a=b)
    assert np.array_equal(a, b)
    assert done.verify() and sent(done).verify()


def test_a_call_reads_no_stage():
    done = sent(ps.optimize(stencil))
    done(a=np.ones((9, 10)))
    assert "scop" not in vars(done) and "events" not in vars(done)
    assert done.scop.name == "stencil"
    with pytest.raises(AttributeError, match="has no attribute 'sources'"):
        _ = done.sources


def test_nests_and_operators_pickle():
    """Their Python function is found by its name."""
    for value in (recurrence, softmax, stencil):
        other = sent(value)
        assert type(other) is type(value) and other.name == value.name
        assert copy.deepcopy(value) is value
        assert str(ps.optimize(other).source) == str(ps.optimize(value).source)
        twice = sent(other)
    a = np.arange(90.0).reshape(9, 10)
    b = a.copy()
    twice(a, 8)
    stencil(b, 8)
    assert np.array_equal(a, b)


def test_a_nest_without_a_name_for_its_function_says_so():
    @ps.nest
    def inner(a: ps.f64["n"], n: ps.size):
        for i in range(n):
            a[i] = 1.0

    other = sent(inner)
    assert other == inner
    with pytest.raises(InputError, match=r"'test_a_nest.*inner' of module .* is not in this process"):
        other(np.zeros(3), 3)
    a = np.zeros(3)
    ps.optimize(other)(a=a)
    assert a.tolist() == [1.0, 1.0, 1.0]


def test_schedules_pickle_and_go_on():
    schedule = ps.Schedule(stencil).skew("j", by="i")
    for other in (sent(schedule), copy.deepcopy(schedule)):
        assert str(other.history) == str(schedule.history)
        assert str(other.tile("i", "j", sizes=(4, 8))) == str(schedule.tile("i", "j", sizes=(4, 8)))


def test_errors_pickle():
    for error in (
        InputError("wrong", Loc("f.py", 1, 2, "x = y"), "right"),
        ps.ToolchainError("no compiler"),
        refusal(),
    ):
        other = sent(error)
        assert type(other) is type(error) and str(other) == str(error)


def refusal():
    with pytest.raises(ps.IllegalSchedule) as error:
        ps.Schedule(recurrence).parallel("i")
    return error.value


@pytest.mark.parametrize("start", ["spawn", "fork"])
@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
def test_a_pool_of_processes_runs_results_and_optimizes_nests(start):
    done = ps.optimize(stencil)
    a = np.ones((41, 42))
    done(a=a)
    with ProcessPoolExecutor(2, multiprocessing.get_context(start)) as pool:
        again = pool.submit(run, done, np.ones((41, 42)))
        other = pool.submit(ps.optimize, stencil)
        assert np.array_equal(again.result(timeout=100), a)
        assert str(other.result(timeout=100).source) == str(done.source)


def run(done, a):
    done(a=a)
    return a


def test_a_nest_does_not_need_its_file_once_it_is_read(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        "import polysched as ps\n\n"
        "@ps.nest\n"
        "def mine(a: ps.f64['n'], n: ps.size):\n"
        "    for i in range(n):\n"
        "        a[i] = 2.0\n"
    )
    program = """
import os, pickle, linecache, numpy as np, polysched as ps, mine
os.remove(mine.__file__)
linecache.clearcache()
a = np.zeros(3)
done = ps.optimize(pickle.loads(pickle.dumps(mine.mine)))
done(a=a)
print(done.verify() and a.tolist(), "mine.py:5" in done.explain(), mine.mine(a, 3))
try:
    ps.Schedule(mine.mine).tile("i", sizes=(0,))
except ps.PolyschedError:
    print("refused")
"""
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}"}
    command = [sys.executable, "-c", program]
    printed = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100)
    assert printed.stdout == "[2.0, 2.0, 2.0] True None\nrefused\n", printed.stderr
