"""The pool of threads of networks: each iteration of a loop runs once, whoever takes it, and whoever else calls."""

from __future__ import annotations

import ctypes
import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event, Thread

import numpy as np
import pytest

import polysched as ps
from polysched.networks.running.programs import pool
from polysched.runtime.toolchain import compile_shared

TEXT = """
void many(int *a, int n, int loops)
{
    for (int t = 0; t < loops; t++) {
        #pragma omp parallel for schedule(static)
        for (int i = 0; i < n; i++) a[i] = a[i] + (i > 0 ? 1 : t);
    }
}

void nested(int *a, int n)
{
    #pragma omp parallel for schedule(static)
    for (int i = 0; i < n; i++) {
        #pragma omp parallel for schedule(static)
        for (int j = 0; j < n; j++) a[i * n + j] += 1;
    }
}

int sum(const int *a, int n)
{
    int total = 0;
    #pragma omp parallel for schedule(static) reduction(+:total)
    for (int i = 0; i < n; i++) total += a[i];
    return total;
}
"""


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    return ctypes.CDLL(str(compile_shared(TEXT, "loops", flags=("-O1", "-fopenmp"), libraries=pool())))


def many(library: ctypes.CDLL, n: int, loops: int) -> np.ndarray:
    a = np.zeros(n, np.int32)
    library.many(ctypes.c_void_p(a.ctypes.data), n, loops)
    return a


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_loops_run_once_and_one_after_the_other(library, threads):
    """Also loops of fewer iterations than parts, and of none."""
    library.omp_set_num_threads(threads)
    assert library.omp_get_max_threads() == threads
    for n in (0, 1, 3, 100):
        wanted = np.full(n, 2000)
        wanted[:1] = 2000 * 1999 // 2
        assert np.array_equal(many(library, n, 2000), wanted)


def test_loops_in_loops_and_sums(library):
    library.omp_set_num_threads(3)
    a = np.zeros(40 * 40, np.int32)
    library.nested(ctypes.c_void_p(a.ctypes.data), 40)
    assert (a == 1).all()
    assert library.sum(ctypes.c_void_p(a.ctypes.data), len(a)) == len(a)


def test_several_callers_at_a_time(library):
    library.omp_set_num_threads(3)
    with ThreadPoolExecutor(4) as callers:
        found = list(callers.map(lambda _: many(library, 50, 3000), range(8)))
    assert all((a[1:] == 3000).all() for a in found)


def test_a_child_of_fork_has_threads_of_its_own(library):
    library.omp_set_num_threads(3)
    many(library, 50, 10)
    child = multiprocessing.get_context("fork").Process(target=_in_child, args=(library,))
    child.start()
    child.join(60)
    assert child.exitcode == 0
    assert (many(library, 50, 10)[1:] == 10).all()


def _in_child(library: ctypes.CDLL) -> None:
    assert (many(library, 50, 500)[1:] == 500).all()


@contextmanager
def running(net: ps.Network, x: np.ndarray) -> Iterator[None]:
    """A thread calls the network, again and again."""
    enough = Event()

    def run() -> None:
        while not enough.is_set():
            net(x=x)

    thread = Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        enough.set()
        thread.join()


def test_a_child_does_not_wait_for_threads_of_its_parent():
    """Forked while another thread is inside of a call."""
    pytest.importorskip("onnx")
    from nets import model
    from onnx import helper

    net = ps.network(model([helper.make_node("Tanh", ["x"], ["y"])], {"x": [1000, 1000]}, ["y"], {}))
    x = np.zeros((1000, 1000), np.float32)
    net(x=x)
    with running(net, x):
        children = [multiprocessing.get_context("fork").Process(target=net, kwargs={"x": x}) for _ in range(4)]
        for child in children:
            child.start()
        for child in children:
            child.join(20)
            child.kill()
    assert [child.exitcode for child in children] == [0] * 4
