"""Kernels in children of fork, of parents whose kernels have run on threads."""

import os
import signal
import time

import numpy as np
import pytest

import polysched as ps
from polysched.errors import LaunchError
from polysched.operators.examples import gemm, stencil
from polysched.runtime import forked

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork"),
    pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning"),
]


def in_child(work, seconds=60):
    """What `work` gives in a child: True, False, or None if it hangs."""
    if (child := os.fork()) == 0:
        status = 1
        try:
            status = 0 if work() else 1
        finally:
            os._exit(status)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status == 0
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


@pytest.fixture
def product(monkeypatch):
    """A kernel that has run on threads, its arrays, and the result."""
    done = ps.optimize(gemm)
    n = 200
    a, b = np.random.default_rng(1).random((2, n, n))
    arguments = {"A": a, "B": b}
    library = done._launched.library
    before = library.omp_get_max_threads()
    library.omp_set_num_threads(3)
    c = np.zeros((n, n))
    done(C=c, **arguments)
    yield done, arguments, c
    library.omp_set_num_threads(before)


def test_a_child_of_fork_runs_what_its_parent_has_run(product):
    done, arguments, expected = product

    def work():
        results = [np.zeros(expected.shape) for _ in range(2)]
        for c in results:
            done(C=c, **arguments)
        return all(np.array_equal(c, expected) for c in results)

    assert in_child(work) is True
    assert in_child(lambda: work() and in_child(work)) is True  # and a child of a child


def test_a_child_of_fork_optimizes_what_its_parent_has_not(product):
    def work():
        a, expected = np.ones((9, 10)), np.ones((9, 10))
        ps.optimize(stencil)(a=a)
        stencil(expected, 8)
        return np.array_equal(a, expected)

    assert in_child(work) is True


def test_what_is_wrong_is_raised_in_a_child_as_well(product):
    done, arguments, _ = product

    def work():
        try:
            done(C=np.zeros((3, 3)), **arguments)
        except LaunchError:
            return True

    assert in_child(work) is True


def test_a_device_works_in_the_process_that_has_started_it(monkeypatch):
    monkeypatch.setattr(forked, "_used", {})
    forked.require_own("OpenCL")
    forked.require_own("OpenCL")

    def work():
        forked.require_own("CUDA")  # which the parent has not used
        with pytest.raises(LaunchError, match=r'a fork of one that has used OpenCL, .* start processes by "spawn"'):
            forked.require_own("OpenCL")
        return True

    assert in_child(work) is True
