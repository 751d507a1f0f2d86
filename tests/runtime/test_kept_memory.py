"""Memory that kernels in C keep from call to call, for temporaries too large for a stack."""

import ctypes
import faulthandler
import gc
import os
import pickle
import resource
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import polysched as ps
from polysched.codegen.emit.c import emit_c
from polysched.ir.build import add, load, mul, store, var
from polysched.ir.dtypes import f64
from polysched.ir.nodes import Alloc, Array, Call, Store
from polysched.runtime import cpu
from polysched.runtime.toolchain import compile_shared
from tests.nests import loop, nest
from tests.runtime.test_forked import in_child

MB = 1 << 20
n, m, i, j = var("n"), var("m"), var("i"), var("j")
V, W = Array("V", f64, (n,)), Array("W", f64, (m,))
T, U = Array("T", f64, (n,)), Array("U", f64, (m,))


def doubled(before=()):
    """V *= 2 by way of a temporary as large as V, filled before `before`."""
    return [
        Alloc(T),
        loop("i", 0, n, store(T, (i,), mul(load(V, i), 2.0))),
        *before,
        loop("j", 0, n, store(V, (j,), load(T, j))),
    ]


@pytest.fixture
def run():
    """`doubled`, loaded anew."""
    fn = nest("doubled", "n", [V], *doubled())
    run = cpu.load(emit_c(fn), fn)
    run.release()  # what other tests have left of the same library
    return run


def changed(old, new):
    """`doubled` with other text in the header."""
    text, fn = cpu._KEPT_MEMORY.read_text(), nest("doubled", "n", [V], *doubled())
    assert old in text
    source = emit_c(fn)
    library = cpu.open_library(str(compile_shared(source.text, "doubled", ahead=text.replace(old, new))))
    return cpu.CpuProgram(fn, library, cpu.c_function(library, source, fn))


def kept(run):
    return ctypes.c_size_t.in_dll(run.library, "polysched_kept_bytes").value


def fresh_pages(run, **arrays):
    """How many pages a call has to ask the system for."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    run(**arrays)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def test_the_second_call_gets_no_fresh_pages(run):
    values = np.ones(5 * MB)
    many = 40 * MB // os.sysconf("SC_PAGE_SIZE")
    assert fresh_pages(run, V=values) >= many
    assert fresh_pages(run, V=values) < many // 10
    assert kept(run) == 40 * MB
    run.release()
    assert kept(run) == 0
    assert fresh_pages(run, V=values) >= many
    assert (values == 8).all()


def test_small_temporaries_are_not_kept(run):
    for size in (0, 1, 1000, (1 << 14) - 1):
        values = np.ones(size)
        run(V=values)
        assert (values == 2).all() and kept(run) == 0
    run(V=np.ones(1 << 14))
    assert kept(run) == 1 << 17


def test_it_keeps_no_more_than_twice_what_it_has_needed_at_one_time(run):
    """Blocks that have become too small go, the oldest first; one that is far too large is not taken."""
    for k in range(1, 41):
        run(V=np.ones(k * MB // 8))
        assert kept(run) <= 2 * k * MB
    for k in (3, 40, 3, 40):
        run(V=np.ones(k * MB // 8))
        assert 40 * MB <= kept(run) <= 80 * MB


def test_it_keeps_no_more_than_a_gigabyte():
    """Here a megabyte."""
    run = changed("POLYSCHED_MOST = 1 << 30", "POLYSCHED_MOST = 1 << 20")
    run(V=np.ones(MB // 8))
    assert kept(run) == MB
    run(V=np.ones(MB // 8 + 8))
    assert kept(run) == 0


def test_blocks_of_one_call_are_apart_and_used_again():
    """Two temporaries at a time, of any sizes."""
    fill = loop("i", 0, m, store(U, (i,), load(W, i)))
    fn = nest("f", "n m", [V, W], Alloc(U), fill, *doubled(), loop("i", 0, m, store(W, (i,), mul(load(U, i), 3.0))))
    run, rng = cpu.load(emit_c(fn), fn), np.random.default_rng(0)
    most = 0
    for a, b in rng.integers(0, 200_000, (40, 2)):
        v, w = rng.random(a), rng.random(b)
        doubles, triples = 2 * v, 3 * w
        run(V=v, W=w)
        np.testing.assert_array_equal(v, doubles)
        np.testing.assert_array_equal(w, triples)
        most = max(most, 8 * (a + b) + 128)
        assert kept(run) <= 2 * most


def test_threads_of_python_call_one_kernel(run):
    """ctypes lets go of Python's lock, so that calls overlap; some give back meanwhile."""

    def work(seed):
        rng = np.random.default_rng(seed)
        for size in rng.integers(10_000, 100_000, 100):
            values = np.full(size, float(seed))
            run(V=values)
            assert (values == 2.0 * seed).all()
            if size % 10 == 0:
                run.release()
        return True

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(work, range(6)))
    assert kept(run) <= 2 * 6 * 800_000
    run.release()
    assert kept(run) == 0


def test_temporaries_inside_of_parallel_loops():
    """Each thread has its own."""
    A = Array("A", f64, (m, n))
    flat = Array("A", f64, (mul(m, n),))
    here = add(mul(var("k"), n), i)
    body = [
        Alloc(T),
        loop("i", 0, n, store(T, (i,), mul(load(flat, here), 2.0))),
        loop("i", 0, n, store(flat, (here,), load(T, i))),
    ]
    fn = nest("rows", "m n", [flat], loop("k", 0, m, *body, kind="parallel"))
    run = cpu.load(emit_c(fn), nest("rows", "m n", [A], *fn.body), threads=4)
    values = np.arange(64.0 * 20_000).reshape(64, 20_000)
    expected = 8 * values
    for _ in range(3):
        run(A=values)
    np.testing.assert_array_equal(values, expected)
    assert 0 < kept(run) <= 2 * 4 * 160_000


def test_a_kernel_that_is_called_inside_of_itself():
    """By a function of the user's, while its temporaries are in use."""
    text = "double (*hook_of_test)(double); double called_back(double x) { return hook_of_test ? hook_of_test(x) : x; }"
    library = ctypes.CDLL(str(compile_shared(text, "hooks")), ctypes.RTLD_GLOBAL)
    once = Store("V", (var("c"),), Call("called_back", (load(V, var("c")),), f64))
    fn = nest("again", "n", [V], *doubled([loop("c", 0, 1, once)]))
    run, inner = cpu.load(emit_c(fn), fn), np.full(50_000, 3.0)
    depth = []

    @ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)
    def hook(x):
        if len(depth) < 3:
            depth.append(x)
            run(V=inner)
            run.release()
        return x

    ctypes.c_void_p.in_dll(library, "hook_of_test").value = ctypes.cast(hook, ctypes.c_void_p).value
    try:
        outer = np.full(50_000, 5.0)
        run(V=outer)
    finally:
        ctypes.c_void_p.in_dll(library, "hook_of_test").value = None
    assert (outer == 10).all() and depth == [5, 3, 3]
    assert (inner == 6).all()  # each of the calls on it has stored twice what was there before all of them


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
def test_a_child_of_fork_calls_what_threads_of_its_parent_are_in(run):
    """Its copy of the lock may be held by a thread that it does not have."""
    is_over = False

    def busy():
        while not is_over:
            run(V=np.ones(20_000))

    def work():
        values = np.ones(50_000)
        for _ in range(3):
            run(V=values)
        run.release()
        return bool((values == 8).all())

    with ThreadPoolExecutor(3) as pool:
        threads = [pool.submit(busy) for _ in range(3)]
        try:
            assert all(in_child(work) for _ in range(10))
        finally:
            is_over = True
        for thread in threads:
            thread.result()


def test_a_lock_that_is_never_given_back_stops_nobody():
    run, values = changed("static char polysched_lock", "char polysched_lock"), np.ones(50_000)
    run(V=values)
    lock = ctypes.c_byte.in_dll(run.library, "polysched_lock")
    lock.value = 1
    run(V=values)
    run.release()
    lock.value = 0
    assert (values == 4).all() and kept(run) == 400_000
    run(V=values)
    run.release()
    assert (values == 8).all() and kept(run) == 0


def two_stages():
    """The second reads rows from both ends of the first, which is kept whole."""
    n, m = ps.var("n"), ps.var("m")
    a = ps.placeholder((n + 1, m), ps.f32, "a")
    t = ps.compute((n + 1, m), lambda y, x: a[y, x] * 2.0, "t", inline=False)
    return ps.function("two_stages", [a], [ps.compute((n, m), lambda y, x: t[n - y, x] + t[y, x], "o")])


def test_a_result_gives_it_back_when_asked_and_when_it_dies():
    done = ps.optimize(two_stages())
    assert "malloc(" in done.source.text and "kept" not in done.source.text  # a user's own build keeps nothing
    done.release()  # nothing has been loaded yet
    a, o = np.ones((301, 300), np.float32), np.zeros((300, 300), np.float32)
    done(a=a, o=o)
    assert (o == 4).all()
    run = cpu.CpuProgram(done.nest, done._launched.library, done._launched.entry)
    assert kept(run) == (301 * 300 * 4 + 63) // 64 * 64
    done.release()
    assert kept(run) == 0
    again = pickle.loads(pickle.dumps(done))
    for each in (done, again):
        each(a=a, o=o)
    assert kept(run) > 0
    del done, each
    gc.collect()
    again(a=a, o=o)
    assert kept(run) > 0
    del again
    gc.collect()
    assert kept(run) == 0


@pytest.mark.skipif(
    not Path("/proc/self/statm").exists(), reason="the system does not say how much memory it has given"
)
@pytest.mark.parametrize(("most", "status"), [(80, 0), (20, -signal.SIGABRT)])
def test_where_memory_ends_kept_blocks_go_first_and_then_it_aborts(run, most, status):
    """48 MB are kept when 64 are needed."""
    small, large = np.ones(6 * MB), np.ones(8 * MB)

    def work():
        run(V=small)
        run(V=large)
        return bool((large == 2).all())

    if (child := os.fork()) == 0:
        run(V=np.ones(1))  # starts a thread
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + most * MB,) * 2)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        faulthandler.disable()
        os._exit(0 if work() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == status


def test_it_takes_no_names():
    """A nest may be called what a header that its text does not include defines."""
    fn, values = nest("atomic_load", "n", [V], *doubled()), np.ones(9)
    cpu.load(emit_c(fn), fn)(V=values)
    assert (values == 2).all()


def test_messages_count_the_lines_of_the_text():
    value = Call("fabs", (Call("nowhere", (load(V, i),), f64), load(V, i)), f64)  # which takes one
    fn = nest("f", "n", [V], *doubled(), loop("i", 0, n, Store("V", (i,), value)))
    with pytest.raises(ps.ToolchainError, match=r"line \d+ of f\.c: V\[i\] = fabs\(nowhere"):
        cpu.load(emit_c(fn), fn)
