from __future__ import annotations

import numpy as np
import pytest

import polysched as ps
from polysched.codegen.emit.opencl import emit_opencl
from polysched.errors import LaunchError
from polysched.ir.build import mul, store, var
from polysched.ir.dtypes import i64
from polysched.ir.nodes import Array
from polysched.runtime.gpu import opencl
from polysched.runtime.gpu.opencl import load_opencl
from tests.nests import loop, nest
from tests.opencl import loader

n, i = var("n"), var("i")
V = Array("V", i64, (n,))
FN = nest("square", "n", [V], loop("i", 0, n, store(V, (i,), mul(i, i)), kind="thread.x"))


def test_numpy_arrays_are_copied_there_and_back():
    loader()
    out = np.zeros(200, np.int64)
    run = load_opencl(emit_opencl(FN), FN)
    run(V=out)
    np.testing.assert_array_equal(out, np.arange(200) ** 2)
    out[:] = 0
    assert run.time({"V": out}, 2).median > 0
    assert not out.any()


def test_optimize_and_call():
    loader()

    @ps.nest
    def double(a: ps.f32[n], n: ps.size):
        for i in range(n):
            a[i] = a[i] + a[i]

    a = np.arange(70, dtype=np.float32)
    ps.optimize(double, target="opencl")(a=a)
    np.testing.assert_array_equal(a, np.arange(0, 140, 2))


def test_an_error_of_opencl_is_named():
    loader()
    run = load_opencl(emit_opencl(FN), FN)
    failing = opencl.OpenclProgram(FN, lambda *_: -5)
    assert repr(failing) == "OpenclProgram(square)"
    with pytest.raises(LaunchError, match="square cannot run: OpenCL's error -5; run it on the CPU by"):
        failing(V=np.zeros(3, np.int64))
    run(V=np.zeros(3, np.int64))


def test_without_opencl_the_error_names_the_extra(monkeypatch):
    def missing(_):
        raise ModuleNotFoundError("No module named 'pyopencl'")

    opencl.opencl_library.cache_clear()
    monkeypatch.setattr(opencl, "import_module", missing)
    monkeypatch.setattr(opencl.ctypes.util, "find_library", lambda _: None)
    message = r'OpenCL is missing \(No module named .pyopencl.\): pip install "polysched\[opencl\]"; or run it on the'
    with pytest.raises(LaunchError, match=message):
        load_opencl(emit_opencl(FN), FN)
