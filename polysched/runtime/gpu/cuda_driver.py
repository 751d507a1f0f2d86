"""The GPU that kernels are launched on: its memory, its clock, through NVIDIA's bindings of CUDA's driver.

    with on_gpu("cuda", pointers) as gpu:       a context is current in here
        at = gpu.allocate(800)
        gpu.copy_in(at, array)
        gpu.synchronize()

"cuda" is cuda-bindings, of the extra [cuda], "pycuda" is PyCUDA, of the extra [pycuda]. Both use the context that is
current, so that arrays of CuPy, PyTorch, Numba and PyCUDA are used where they are; else the one that they all share.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Literal, TypeAlias

import numpy as np

from polysched.errors import LaunchError

Launcher = Literal["cuda", "pycuda"]
LAUNCHERS: dict[Launcher, tuple[str, str]] = {  # the package of each, and what it is called
    "cuda": ("cuda.bindings", "cuda-bindings"),
    "pycuda": ("pycuda", "PyCUDA"),
}

DRIVER = "libcuda.so.1"
INSTEAD = 'run it on the CPU by optimize(nest, target="c"), or emulated by .program(...)'


def require_driver() -> None:
    """LaunchError if this machine has no driver of NVIDIA's."""
    try:
        ctypes.CDLL(DRIVER)
    except OSError as error:
        raise LaunchError(f"this machine has no NVIDIA driver, which launches kernels ({error}); {INSTEAD}") from error


def require_bindings(launcher: Launcher, module: str = "") -> Any:
    """The package that the launcher goes through, or a module of it; LaunchError if it is not installed."""
    package, name = LAUNCHERS[launcher]
    try:
        return import_module(package + module)
    except ImportError as error:
        message = f'{name} is missing ({error}): pip install "polysched[{launcher}]"; or {INSTEAD}'
        raise LaunchError(message) from error


@contextmanager
def on_gpu(launcher: Launcher, pointers: Mapping[str, int]) -> Iterator[Gpu]:
    """The device that these arrays are on, or else the current one, or the first; its context is current meanwhile.

    LaunchError if there is none, or nothing to reach it by, or the arrays are on several.
    """
    require_driver()
    with _bindings(pointers) if launcher == "cuda" else _pycuda() as gpu:
        yield gpu


# --- cuda-bindings


@contextmanager
def _bindings(pointers: Mapping[str, int]) -> Iterator[Gpu]:
    gpu = _Bindings(require_bindings("cuda", ".driver"))
    gpu.call("cuInit", 0)
    if gpu.call("cuDeviceGetCount") == 0:
        raise LaunchError(f"this machine has no CUDA device; {INSTEAD}")
    ordinal = _device_of(gpu, pointers)
    current = gpu.call("cuCtxGetCurrent")
    if int(current) and ordinal in (None, int(gpu.call("cuCtxGetDevice"))):
        yield gpu
        return
    gpu.call("cuCtxPushCurrent", _primary_context(gpu, ordinal or 0))
    try:
        yield gpu
    finally:
        gpu.call("cuCtxPopCurrent")


_retained: dict[int, Any] = {}


def _primary_context(gpu: _Bindings, ordinal: int) -> Any:
    """The context that all libraries share; held as long as the process runs, since to make one takes long."""
    if ordinal not in _retained:
        _retained[ordinal] = gpu.call("cuDevicePrimaryCtxRetain", gpu.call("cuDeviceGet", ordinal))
    return _retained[ordinal]


def _device_of(gpu: _Bindings, pointers: Mapping[str, int]) -> int | None:
    """The number of the device that the memory is on; None if there is none."""
    attribute = gpu.driver.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
    found: dict[int, str] = {}
    for name, at in pointers.items():
        try:
            found.setdefault(int(gpu.call("cuPointerGetAttribute", attribute, at)), name)
        except LaunchError as error:
            raise LaunchError(f"{name} is in no memory of a CUDA device: {error}") from error
    if len(found) > 1:
        places = " and ".join(f"{name} on device {ordinal}" for ordinal, name in found.items())
        raise LaunchError(f"the arrays are on several devices, {places}; copy them to one")
    return next(iter(found), None)


class _Bindings:
    """A device; LaunchError if a call of the driver fails."""

    def __init__(self, driver: Any):
        self.driver = driver

    def call(self, name: str, *arguments: Any) -> Any:
        status, *values = getattr(self.driver, name)(*arguments)
        if status:
            text = self.driver.cuGetErrorString(status)[1]
            raise LaunchError(f"{name} failed: {text.decode() if text else status}")
        return values[0] if values else None

    @property
    def arch(self) -> str:
        """Of the device whose context is current, as compilers name it: "sm_90"."""
        device, which = self.call("cuCtxGetDevice"), "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_"
        attributes = (getattr(self.driver.CUdevice_attribute, which + part) for part in ("MAJOR", "MINOR"))
        return "sm_" + "".join(str(self.call("cuDeviceGetAttribute", each, device)) for each in attributes)

    def allocate(self, size: int) -> int:
        return int(self.call("cuMemAlloc", max(size, 1)))

    def release(self, at: int) -> None:
        self.call("cuMemFree", at)

    def copy_in(self, to: int, array: np.ndarray) -> None:
        self.call("cuMemcpyHtoD", to, array.ctypes.data, array.nbytes)

    def copy_out(self, array: np.ndarray, at: int) -> None:
        self.call("cuMemcpyDtoH", array.ctypes.data, at, array.nbytes)

    def copy(self, to: int, at: int, size: int) -> None:
        self.call("cuMemcpyDtoD", to, at, size)

    def synchronize(self, stream: int | None = None) -> None:
        """Waits for a stream, or for all of the device."""
        if stream is None:
            self.call("cuCtxSynchronize")
        else:
            self.call("cuStreamSynchronize", stream)

    def milliseconds(self, run: Callable[[], None]) -> float:
        """How long the device takes for what `run` launches."""
        events = [self.call("cuEventCreate", 0) for _ in range(2)]
        try:
            self.call("cuEventRecord", events[0], 0)
            run()
            self.call("cuEventRecord", events[1], 0)
            self.call("cuEventSynchronize", events[1])
            return float(self.call("cuEventElapsedTime", *events))
        finally:
            for event in events:
                self.call("cuEventDestroy", event)


# --- PyCUDA


@contextmanager
def _pycuda() -> Iterator[Gpu]:
    driver = require_bindings("pycuda", ".driver")
    driver.init()
    if driver.Device.count() == 0:
        raise LaunchError(f"this machine has no CUDA device; {INSTEAD}")
    own = None
    if driver.Context.get_current() is None:
        own = _retained.setdefault(-1, driver.Device(0).retain_primary_context())  # PyCUDA's object for it
        own.push()
    try:
        yield _Pycuda(driver)
    except driver.Error as error:
        raise LaunchError(f"PyCUDA: {error}") from error
    finally:
        if own is not None:
            own.pop()


class _Pycuda:
    """The same by PyCUDA."""

    def __init__(self, driver: Any):
        self.driver = driver
        major, minor = driver.Context.get_device().compute_capability()
        self.arch = f"sm_{major}{minor}"
        self.allocations: dict[int, Any] = {}  # which PyCUDA frees with their object

    def allocate(self, size: int) -> int:
        allocation = self.driver.mem_alloc(max(size, 1))
        self.allocations[int(allocation)] = allocation
        return int(allocation)

    def release(self, at: int) -> None:
        self.allocations.pop(at).free()

    def copy_in(self, to: int, array: np.ndarray) -> None:
        if array.nbytes:
            self.driver.memcpy_htod(to, array)

    def copy_out(self, array: np.ndarray, at: int) -> None:
        if array.nbytes:
            self.driver.memcpy_dtoh(array, at)

    def copy(self, to: int, at: int, size: int) -> None:
        if size:
            self.driver.memcpy_dtod(to, at, size)

    def synchronize(self, stream: int | None = None) -> None:
        self.driver.Context.synchronize()

    def milliseconds(self, run: Callable[[], None]) -> float:
        begin, end = self.driver.Event(), self.driver.Event()
        begin.record()
        run()
        end.record().synchronize()
        return float(begin.time_till(end))


Gpu: TypeAlias = _Bindings | _Pycuda  # whose context is current
