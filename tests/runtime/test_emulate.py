import numpy as np
import pytest

from polysched.codegen.emit.cuda import emit_cuda
from polysched.errors import LaunchError
from polysched.ir.build import add, load, mul, store, sub, var
from polysched.ir.dtypes import i64
from polysched.ir.nodes import Array, Barrier
from polysched.runtime.emulate import emulate
from tests.nests import loop, nest

n, i = var("n"), var("i")
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


def test_barriers_are_refused():
    fn = nest("wait", "n", [V], loop("i", 0, 4, store(V, (i,), i), Barrier(), kind="thread.x"))
    with pytest.raises(LaunchError, match="wait has barriers; emulation runs one thread after another"):
        emulate(emit_cuda(fn), fn)


def test_arguments_are_checked_first():
    fn = nest("square", "n", [V], loop("i", 0, n, store(V, (i,), mul(i, i)), kind="thread.x"))
    with pytest.raises(LaunchError, match=r"V must be a numpy array i64\[n\], not float64 of shape \(3,\)"):
        emulate(emit_cuda(fn), fn)(V=np.zeros(3))
