"""polysched/runtime/gpu/cuda.py and cuda_driver.py: on this machine's GPU, or on a stand-in for NVIDIA's driver."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

import polysched as ps
from polysched.codegen.emit.cuda import emit_cuda
from polysched.codegen.memory.linearize import linearize
from polysched.errors import LaunchError, ToolchainError
from polysched.ir.build import add, load, mul, store, var
from polysched.ir.contents import contents_of
from polysched.ir.dtypes import boolean, f16, f32, f64, i64
from polysched.ir.nodes import Alloc, Array, Cast, Let, Select, Var
from polysched.runtime.gpu import cuda_driver
from polysched.runtime.gpu.cuda import load_cuda
from tests import fake_cuda
from tests.nests import loop, nest

n, i, j, t = (var(name) for name in "nijt")
A, B, V = Array("A", f64, (n, n)), Array("B", f64, (n, n)), Array("V", i64, (n,))


@pytest.fixture
def device(monkeypatch):
    return fake_cuda.device(monkeypatch)


@pytest.fixture
def on_fake(device):
    if device.fake is None:
        pytest.skip("this machine has a GPU, which does not fail on request")
    return device


def program(fn, **options):
    return load_cuda(emit_cuda(linearize(fn)), fn, **options)


def scale():
    """V = 2 V + 1"""
    return nest("scale", "n", [V], loop("i", 0, n, store(V, (i,), add(mul(load(V, i), 2), 1)), kind="thread.x"))


def transpose():
    """B = A', A is only read"""
    body = loop("i", 0, n, loop("j", 0, n, store(B, (j, i), load(A, i, j)), kind="thread.x"), kind="block.x")
    return nest("transpose", "n", [A, B], body)


def test_numpy_arrays_are_copied_there_and_back(device):
    a, b = np.arange(9.0).reshape(3, 3), np.zeros((3, 3))
    program(transpose())(A=a, B=b)
    np.testing.assert_array_equal(b, a.T)


def test_arrays_on_the_device_are_changed_in_place(device):
    v = device.array(np.arange(5))
    program(scale())(V=v)
    np.testing.assert_array_equal(v.get(), 2 * np.arange(5) + 1)


def test_numpy_arrays_and_those_on_the_device_may_be_mixed(device):
    a, b = np.arange(9.0).reshape(3, 3), device.array(np.zeros((3, 3)))
    program(transpose())(A=a, B=b)
    np.testing.assert_array_equal(b.get(), a.T)


def test_a_default_is_copied_there(device):
    a, b = np.arange(9.0).reshape(3, 3), device.array(np.zeros((3, 3)))
    run = program(replace(transpose(), defaults=(("A", contents_of(a, f64)),)))
    run(B=b)
    np.testing.assert_array_equal(b.get(), a.T)
    run(A=device.array(2 * a), B=b)
    np.testing.assert_array_equal(b.get(), 2 * a.T)


def test_only_what_is_not_there_is_copied(on_fake):
    run, a, b = program(transpose()), on_fake.array(np.eye(3)), np.zeros((3, 3))
    run(A=a, B=b)
    on_fake.calls()
    allocations = on_fake.fake.fake_allocations()
    run(A=a, B=b)
    in_order = "cuMemAlloc_v2 cuMemcpyHtoD_v2 cuLaunchKernel cuCtxSynchronize cuMemcpyDtoH_v2 cuMemFree_v2"
    assert on_fake.calls() == in_order.split()
    assert on_fake.fake.fake_allocations() == allocations


def with_work_for_the_host():
    """V = 7 V: a bound loaded on the host, a temporary between two kernels."""
    buffer = Array("buffer", i64, (n,))
    return nest(
        "f",
        "n",
        [V],
        Alloc(buffer),
        loop("i", 0, n, store(buffer, (i,), mul(3, load(V, i))), kind="thread.x"),
        Let("steps", load(V, 1)),
        loop("t", 0, var("steps"), loop("j", 0, n, store(V, (j,), add(load(V, j), load(buffer, j))), kind="thread.x")),
    )


def test_the_host_s_part_loops_allocates_and_reads_back(device):
    v = np.arange(1, 9)
    program(with_work_for_the_host())(V=v)
    np.testing.assert_array_equal(v, np.arange(1, 9) * 7)


def test_an_element_that_cannot_be_read_back_ends_the_call(on_fake):
    v = on_fake.array(np.arange(1, 9))
    on_fake.fail("cuMemcpyDtoH_v2", 719)
    with pytest.raises(LaunchError, match=r"f cannot run: f:\d+: cudaMemcpy\(&value, .*\): unspecified launch failure"):
        program(with_work_for_the_host())(V=v)
    assert on_fake.calls()[-1] == "cuMemFree_v2"


def test_scalars_of_every_width_reach_the_kernel(device):
    H = Array("H", f16, (n,))
    scalars = (Var("x", f32), Var("h", f16), Var("yes", boolean))
    value = Cast(Select(Var("yes", boolean), add(Var("x", f32), Cast(Var("h", f16), f32)), Var("x", f32)), f16)
    fn = nest("f", "n", [H], loop("i", 0, n, store(H, (i,), value), kind="thread.x"), scalars=scalars)
    h = np.zeros(3, np.float16)
    program(fn)(H=h, x=1.5, h=0.25, yes=True)
    np.testing.assert_array_equal(h, np.full(3, 1.75, np.float16))


def test_empty_arrays_launch_nothing(device):
    program(scale())(V=np.zeros(0, int))


def test_time_leaves_the_arrays_as_they_are(device):
    v, w = np.arange(5), device.array(np.arange(5))
    for given in (v, w):
        taken = program(scale()).time({"V": given}, 3)
        assert len(taken.samples) == 3
        assert taken.min > 0
    np.testing.assert_array_equal(v, np.arange(5))
    np.testing.assert_array_equal(w.get(), np.arange(5))


def test_a_stream_that_may_still_write_is_waited_for(on_fake):
    program(scale())(V=on_fake.array(np.arange(5), stream=1))
    assert on_fake.calls().count("cuStreamSynchronize") == 1


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("cuLaunchKernel", "scale cannot run: scale:.*: launch of scale_k0: unspecified launch failure"),
        ("cuCtxSynchronize", "cuCtxSynchronize failed: unspecified launch failure"),
        ("cuLibraryLoadData", "scale cannot run: unspecified launch failure"),
        ("cuMemAlloc_v2", "cuMemAlloc failed: unspecified launch failure"),
    ],
)
def test_what_fails_is_named_and_leaves_no_memory_behind(on_fake, function, message):
    before = on_fake.fake.fake_allocations()
    on_fake.fail(function, 719)
    v = np.arange(5)
    with pytest.raises(LaunchError, match=message):
        program(scale())(V=v)
    np.testing.assert_array_equal(v, np.arange(5))
    assert on_fake.fake.fake_allocations() == before


def test_a_temporary_that_has_no_room_is_named(on_fake):
    fn = nest("f", "n", [V], Alloc(Array("t", i64, (n,))), loop("i", 0, n, store(V, (i,), i), kind="thread.x"))
    v = on_fake.array(np.arange(5))
    on_fake.fail("cuMemAlloc_v2", 2)
    message = r"f cannot run: f:\d+: polysched_malloc\(\(void \*\*\)&t, .*\): out of memory"
    with pytest.raises(LaunchError, match=message):
        program(fn)(V=v)


def test_temporaries_are_taken_and_given_back_in_the_order_of_launches(on_fake):
    run, v = program(with_work_for_the_host()), on_fake.array(np.arange(1, 4))
    run(V=v)
    assert {"cuMemAllocAsync", "cuMemFreeAsync"} <= set(on_fake.calls())
    before = on_fake.fake.fake_allocations()
    on_fake.fail("cuMemAllocAsync", 801)  # not supported
    run(V=v)
    assert "cuMemAlloc_v2" in on_fake.calls()
    assert on_fake.fake.fake_allocations() == before


# --- arguments


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"typestr": "<f8"}, "V must be an array i64[n], not float64 of shape (5,); convert it with .astype(int64)"),
        ({"shape": (5, 1)}, "not int64 of shape (5, 1): 2 dimensions instead of 1"),
        ({"strides": (16,)}, "in C order without gaps; its strides are (16,); pass a contiguous copy"),
        ({"mask": object()}, "a DeviceArray with a mask cannot be read"),
    ],
)
def test_arrays_on_the_device_are_checked_like_numpy_s(device, changes, message):
    with pytest.raises(LaunchError, match=re.escape(message)):
        program(scale())(V=device.array(np.arange(5), **changes))


def test_what_is_read_only_is_not_written(device):
    v = device.array(np.arange(5))
    v.__cuda_array_interface__["data"] = (v.at, True)
    with pytest.raises(LaunchError, match="V is written, but the array given is read-only"):
        program(scale())(V=v)


def test_an_array_under_two_names_is_refused(device):
    a = device.array(np.eye(3))
    with pytest.raises(LaunchError, match="A and B share memory, and B is written; pass a copy of one of them"):
        program(transpose())(A=a, B=a)


def test_memory_that_is_not_the_device_s_is_refused(on_fake):
    v = on_fake.array(np.arange(5), data=(16, False))
    with pytest.raises(LaunchError, match="V is in no memory of a CUDA device: cuPointerGetAttribute failed"):
        program(scale())(V=v)


def test_what_is_no_array_is_refused(device):
    message = r"V must be a numpy array or one on a CUDA device, i64\[n\], not list"
    with pytest.raises(LaunchError, match=message):
        program(scale())(V=[1, 2])


# --- what is missing


def test_without_a_driver_the_error_says_what_else_runs_the_nest(monkeypatch):
    monkeypatch.setattr(cuda_driver, "DRIVER", "libcuda-of-nobody.so.1")
    message = (
        r"this machine has no NVIDIA driver, which launches kernels \(libcuda-of-nobody.so.1: .*\); "
        r'run it on the CPU by optimize\(nest, target="c"\), or emulated by .program\(...\)'
    )
    with pytest.raises(LaunchError, match=message):
        program(scale())(V=np.arange(5))


def test_without_a_device_the_error_says_so(on_fake):
    on_fake.fake.fake_devices(0)
    with pytest.raises(LaunchError, match="this machine has no CUDA device; run it on the CPU by"):
        program(scale())(V=np.arange(5))


@pytest.mark.parametrize(
    ("launcher", "module", "message"),
    [
        ("cuda", "cuda.bindings.driver", 'cuda-bindings is missing .*: pip install "polysched\\[cuda\\]"; or run it'),
        ("pycuda", "pycuda.driver", 'PyCUDA is missing .*: pip install "polysched\\[pycuda\\]"; or run it'),
    ],
)
def test_without_the_bindings_the_error_names_the_extra(monkeypatch, launcher, module, message):
    monkeypatch.setattr(cuda_driver, "require_driver", lambda: None)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(LaunchError, match=message):
        program(scale(), launcher=launcher)(V=np.arange(5))


def test_an_unknown_launcher_is_refused():
    with pytest.raises(LaunchError, match="there is no launcher 'opencl'; they are cuda, pycuda"):
        program(scale(), launcher="opencl")


def test_a_launcher_that_is_not_installed_is_refused_at_once(monkeypatch):
    monkeypatch.setitem(sys.modules, "pycuda", None)
    done = ps.optimize(scale(), target="cuda")
    with pytest.raises(LaunchError, match=r'PyCUDA is missing .*: pip install "polysched\[pycuda\]"; or run it'):
        done.launcher("pycuda")
    with pytest.raises(LaunchError, match="there is no launcher 'hip'; they are cuda, pycuda"):
        done.launcher("hip")


def test_a_program_is_shown_in_one_line():
    assert repr(program(scale(), launcher="pycuda")) == "CudaProgram(scale, launcher='pycuda')"


def test_a_text_that_does_not_compile_shows_its_line(device, monkeypatch):
    def refuses(*_, **__):
        raise ToolchainError("the compiler failed")

    monkeypatch.setattr("polysched.runtime.gpu.cuda.cubin", refuses)
    with pytest.raises(ToolchainError, match="the compiler failed"):
        program(scale())(V=np.arange(5))


def test_pycuda_launches_the_same(on_fake, monkeypatch):
    """PyCUDA itself cannot be imported without a driver: this is what is used of it, on the stand-in."""
    monkeypatch.setitem(sys.modules, "pycuda.driver", stand_in_for_pycuda(on_fake.fake))
    v = np.arange(5)
    run = program(scale(), launcher="pycuda")
    run(V=v)
    np.testing.assert_array_equal(v, 2 * np.arange(5) + 1)
    assert run.time({"V": v}, 2).samples == (0.5, 0.5)


def stand_in_for_pycuda(fake) -> ModuleType:
    module = ModuleType("pycuda.driver")
    taken = {}

    class Allocation:
        def __init__(self, size):
            self.memory = np.zeros(size, np.uint8)
            taken[int(self)] = self.memory

        def __int__(self):
            return self.memory.ctypes.data

        def free(self):
            del taken[int(self)]

    class Context:
        get_current = staticmethod(lambda: None)
        get_device = staticmethod(lambda: SimpleNamespace(compute_capability=lambda: (9, 0)))
        synchronize = staticmethod(lambda: None)
        push = pop = staticmethod(lambda: None)

    class Device:
        count = staticmethod(lambda: 1)

        def __init__(self, ordinal):
            self.retain_primary_context = Context

    class Event:
        def record(self):
            return self

        synchronize = record

        def time_till(self, other):
            return 0.5

    def memcpy_htod(to, array):
        taken[to][:] = array.view(np.uint8)

    def memcpy_dtoh(array, at):
        array.view(np.uint8)[:] = taken[at]

    def memcpy_dtod(to, at, size):
        taken[to][:size] = taken[at][:size]

    module.__dict__.update(locals(), init=lambda: None, mem_alloc=Allocation, Error=OSError)
    return module


# --- the whole way


def test_optimize_and_call(device):
    @ps.nest
    def smooth(a: ps.f64[n], b: ps.f64[n], steps: ps.size, n: ps.size):
        for _ in range(steps):
            for i in range(1, n - 1):
                b[i] = 0.5 * (a[i - 1] + a[i + 1])
            for i in range(1, n - 1):
                a[i] = b[i]

    a, b = np.random.default_rng(0).random((2, 70))
    expected = [a.copy(), b.copy()]
    ps.optimize(smooth)(a=expected[0], b=expected[1], steps=4)
    done = ps.optimize(smooth, target="cuda")
    done(a=a, b=b, steps=4)
    np.testing.assert_array_equal([a, b], expected)
    assert done.time(a=a, b=b, steps=4, runs=2).median > 0
    np.testing.assert_array_equal([a, b], expected)


@ps.op
def halves(a: ps.i64[n]):
    return np.sqrt(np.logical_and(3, a**0))


def test_a_half_that_the_host_computes_arrives(device):
    done = ps.optimize(halves, "cuda")
    assert "__half t0" in done.source.device
    out = np.empty(5, np.float16)
    done(a=np.arange(5), out=out)
    assert (out == 1).all()


@ps.nest
def last_of(a: ps.f64[1], b: ps.i32[n + 1, 2 * n + 1], n: ps.size):
    for i in range(n - 3, 0, -1):
        a[0] = min(1.25, float(b[i + 1, 2 * i + 2]))


def test_a_temporary_has_no_less_than_no_elements(device):
    done = ps.optimize(last_of, "cuda")
    assert "t0" in done.source.device, "the array is expanded"
    for n in range(6):
        a, b = np.ones(1), np.zeros((n + 1, 2 * n + 1), np.int32)
        done(a=a, b=b)
        assert a[0] == (0 if n > 3 else 1)
