import ctypes
import re
from dataclasses import replace
from resource import RUSAGE_SELF, getrusage

import numpy as np
import pytest

from polysched.codegen.emit.cuda import emit_cuda
from polysched.errors import BudgetExceeded, KernelError, LaunchError
from polysched.ir.build import add, const, load, mul, store, sub, var
from polysched.ir.dtypes import i64
from polysched.ir.nodes import Alloc, Array, Barrier
from polysched.runtime.cpu import open_library
from polysched.runtime.emulated.emulate import CPP_FLAGS, cuda_header, emulate, run_emulated
from polysched.runtime.toolchain import compile_shared
from polysched.support.clock import running
from tests.nests import loop, nest

n, i, j = var("n"), var("i"), var("j")
V = Array("V", i64, (n,))


def test_the_cuda_text_runs_on_numpy_arrays():
    fn = nest("square", "n", [V], loop("i", 0, n, store(V, (i,), mul(i, i)), kind="thread.x"))
    out = np.zeros(200, np.int64)
    emulate(emit_cuda(fn), fn)(V=out)
    np.testing.assert_array_equal(out, np.arange(200) ** 2)


def test_a_loop_that_is_not_parallel_gives_other_results_in_reverse():
    """A running sum, wrongly mapped: right by chance when the first block runs first."""
    body = loop("i", 1, n, store(V, (i,), add(load(V, i), load(V, sub(i, 1)))), kind="block.x")
    fn = nest("scan", "n", [V], body)
    program = emulate(emit_cuda(fn), fn)
    results = []
    for program.reverse in (False, True):
        out = np.ones(4, np.int64)
        program(V=out)
        results.append(out.tolist())
    assert results == [[1, 2, 3, 4], [1, 2, 2, 2]]


def test_threads_wait_at_barriers():
    """Rotated through shared memory: each thread reads what another one has stored."""
    tile = Array("tile", i64, (const(4),), space="shared")
    body = (
        Alloc(tile),
        loop("i", 0, 4, store(tile, (i,), load(V, i)), kind="thread.x"),
        Barrier(),
        loop("j", 0, 4, store(V, (j,), load(tile, sub(3, j))), kind="thread.x"),
    )
    fn = nest("rotate", "n", [V], loop("b", 0, 1, *body, kind="block.x"))
    program = emulate(emit_cuda(fn), fn)
    for program.reverse in (False, True):
        out = np.arange(4)
        program(V=out)
        assert out.tolist() == [3, 2, 1, 0]


def test_launches_of_one_call_share_the_memory_of_stacks():
    """A launch on fresh memory of its own would fault a page in for each stack that its threads need."""
    steps = var("steps")
    body = (loop("i", 0, 32, store(V, (i,), add(load(V, i), 1)), Barrier(), kind="thread.x"),)
    fn = nest("count", "n steps", [V], loop("t", 0, steps, loop("b", 0, 1, *body, kind="block.x")))
    program = emulate(emit_cuda(fn), fn)

    def faults(launches: int) -> int:
        before, out = getrusage(RUSAGE_SELF).ru_minflt, np.zeros(32, np.int64)
        program(V=out, steps=launches)
        assert out.tolist() == [launches] * 32
        return getrusage(RUSAGE_SELF).ru_minflt - before

    faults(1)
    assert faults(200) < 200 * 32


def test_no_launch_begins_when_the_time_is_up():
    fn = nest("square", "n", [V], loop("i", 0, n, store(V, (i,), mul(i, i)), kind="thread.x"))
    program, out = emulate(emit_cuda(fn), fn), np.zeros(4, np.int64)
    with running(0.0), pytest.raises(BudgetExceeded, match="running kernels on the CPU ran out of time"):
        program(V=out)
    assert not out.any()
    program(V=out)
    assert out.tolist() == [0, 1, 4, 9]


def test_without_our_own_switch_of_stacks_it_is_the_same():
    """What other processors than x86-64 use."""
    text = f"""#define POLYSCHED_UCONTEXT
{cuda_header()}
__global__ void rotate(int *a) {{ int x = a[threadIdx.x]; __syncthreads(); a[(threadIdx.x + 1) % blockDim.x] = x; }}
extern "C" void entry(int *a) {{ POLYSCHED_LAUNCH(rotate, 1, 200, a); }}"""
    library = open_library(str(compile_shared(text, "rotate", language="c++", flags=("-O1", *CPP_FLAGS))))
    out = np.arange(200, dtype=np.int32)
    run_emulated(library, False, library.entry, ctypes.c_void_p(out.ctypes.data))
    assert out.tolist() == [199, *range(199)]


def test_what_a_gpu_does_not_define_is_an_error():
    body = loop("i", 0, 4, store(V, (i,), i), Barrier(), kind="thread.x")
    source = emit_cuda(nest("wait", "n", [V], body))
    either = r"if (threadIdx.x < 2) \1 else __syncthreads();"
    text = re.sub(r"__launch_bounds__\(\d+\)", "", source.text)
    text = re.sub(r"(__syncthreads\(\);)", either, text)
    line = text[: text.index("__syncthreads")].count("\n") + 1
    message = f"wait_k0: in block (0, 0, 0), thread (0, 0, 0) waits at the barrier in line {line}, but thread (2, 0, 0)"
    with pytest.raises(KernelError, match=re.escape(message)):
        emulate(replace(source, text=text), nest("wait", "n", [V], body))(V=np.zeros(4, np.int64))


def test_arguments_are_checked_first():
    fn = nest("square", "n", [V], loop("i", 0, n, store(V, (i,), mul(i, i)), kind="thread.x"))
    with pytest.raises(LaunchError, match=r"V must be a numpy array i64\[n\], not float64 of shape \(3,\)"):
        emulate(emit_cuda(fn), fn)(V=np.zeros(3))
