"""A CUDA device for tests: this machine's, or a stand-in for NVIDIA's driver that runs kernels on the CPU.

    gpu = device()                          skips the test where cuda-bindings or g++ is missing
    gpu.array(numpy_array)                  with __cuda_array_interface__, in the device's memory
    gpu.fail("cuLaunchKernel", 719)         stand-in only

The launcher is the real one; only machine code is something else for the stand-in: the same text, compiled by g++ with
the header of the emulator.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from functools import cache
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from polysched.codegen.emit.source import Source
from polysched.runtime.emulated.emulate import CPP_FLAGS, cuda_header
from polysched.runtime.gpu import cuda
from polysched.runtime.gpu.cuda_driver import on_gpu
from polysched.runtime.toolchain import compile_shared

_FAKE = Path(__file__).parent / "c" / "fake_cuda.cpp"
_RUN = """
#include <utility>

template <class... T, size_t... K>
static void polysched_unpack(void (*kernel)(T...), void **values, std::index_sequence<K...>)
{
    kernel(*(T *)values[K]...);
}

template <class... T> static void polysched_unpack(void (*kernel)(T...), void **values)
{
    polysched_unpack(kernel, values, std::index_sequence_for<T...>());
}
"""
_RUN_KERNEL = """
static void call_{kernel}(void **values) {{ polysched_unpack({kernel}, values); }}
extern "C" int run_{kernel}(const unsigned *n, void **values)
{{
    polysched_dynamic = n[6];
    POLYSCHED_LAUNCH(call_{kernel}, dim3(n[0], n[1], n[2]), dim3(n[3], n[4], n[5]), values);
    return polysched_fault[0] ? 719 : 0;
}}
"""


def emulated(source: Source, arch: str, *, contract: bool = False) -> bytes:
    """In place of machine code: the path of a library with the kernels."""
    names = [name for kernel in source.kernels for name in (kernel.name, kernel.wide) if name]
    runs = "".join(_RUN_KERNEL.format(kernel=name) for name in names)
    text = f"{cuda_header(source.device)}{source.device}{_RUN}{runs}"
    return str(compile_shared(text, source.entry, language="c++", flags=("-O1", *CPP_FLAGS))).encode() + b"\0"


class Device:
    """What tests need of a device besides launching."""

    def __init__(self, fake: ctypes.CDLL | None):
        self.fake = fake

    def array(self, values: np.ndarray, **changes) -> DeviceArray:
        with on_gpu("cuda", {}) as gpu:
            at = gpu.allocate(values.nbytes)
            gpu.copy_in(at, np.ascontiguousarray(values))
        return DeviceArray(values, at, changes)

    def fail(self, function: str, status: int) -> None:
        assert self.fake is not None
        self.fake.fake_failure(function.encode(), status)

    def calls(self) -> list[str]:
        """Names of the functions called since the last time."""
        assert self.fake is not None
        return self.fake.fake_calls().decode().split()


class DeviceArray:
    """Memory on the device, described as CuPy does; `changes` to that, for what is wrong with it."""

    def __init__(self, values: np.ndarray, at: int, changes: dict):
        self.like, self.at = values, at
        self.__cuda_array_interface__ = {
            "shape": values.shape,
            "typestr": values.dtype.str,
            "data": (at, False),
            "strides": None,
            "version": 3,
            **changes,
        }

    def get(self) -> np.ndarray:
        out = np.empty_like(self.like)
        with on_gpu("cuda", {}) as gpu:
            gpu.copy_out(out, self.at)
        return out


@cache
def _loaded() -> ctypes.CDLL | None:
    """The stand-in, loaded under the driver's name; None if this machine has a driver."""
    try:
        ctypes.CDLL("libcuda.so.1")
        return None
    except OSError:
        pass
    folder = tempfile.mkdtemp(prefix="polysched-fake-cuda-")
    path = Path(folder, "libcuda.so.1")
    command = ["g++", "-std=c++17", "-O1", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", str(_FAKE), "-o", str(path)]
    subprocess.run([*command, "-ldl"], check=True)
    fake = ctypes.CDLL(str(path))  # found from now on by whoever loads the driver
    fake.fake_calls.restype = ctypes.c_char_p
    fake.fake_allocations.restype = ctypes.c_size_t
    return fake


def device(patch: pytest.MonkeyPatch) -> Device:
    """This machine's device, or the stand-in."""
    pytest.importorskip("cuda.bindings", reason="needs cuda-bindings, of the extra [cuda]")
    if shutil.which("g++") is None:
        pytest.skip("needs g++")
    fake = _loaded()
    if fake is None:
        driver = import_module("cuda.bindings.driver")
        if driver.cuInit(0)[0] or not driver.cuDeviceGetCount()[1]:
            pytest.skip("this machine has NVIDIA's driver, but no device")
        return Device(None)
    fake.fake_failure(b"", 0)
    fake.fake_devices(1)
    fake.fake_calls()
    patch.setattr(cuda, "cubin", emulated)
    return Device(fake)
