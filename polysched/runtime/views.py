"""Arrays of any library, seen alike: numpy's in the host's memory, and those on a CUDA device.

    view_of(numpy.zeros(4))         float64 of shape (4,) at an address
    view_of(cupy.zeros(4))          the same on a device, by __cuda_array_interface__
    view_of(tvm.nd.array(...))      by DLPack
    view_of([0.0])                  None
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from polysched.errors import LaunchError


@dataclass(frozen=True, kw_only=True)
class View:
    """An array, wherever it is."""

    dtype: np.dtype
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None  # in bytes; None: in C order without gaps
    at: int  # address of the first element
    is_writable: bool
    is_on_device: bool
    stream: int | None = None  # of CUDA, on which what wrote it last may still run
    owner: Any = field(default=None, repr=False, compare=False)  # the memory lives as long as this

    @property
    def is_contiguous(self) -> bool:
        """In C order, without gaps?"""
        if self.strides is None or 0 in self.shape:
            return True
        expected = self.dtype.itemsize
        for extent, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if extent != 1 and stride != expected:
                return False
            expected *= extent
        return True

    @property
    def nbytes(self) -> int:
        """Of the elements."""
        return int(np.prod(self.shape, dtype=object)) * self.dtype.itemsize


def view_of(given: Any) -> View | None:
    """The array that `given` is; None if it is none. LaunchError if it is one that cannot be seen."""
    if isinstance(given, np.ndarray):
        return None if isinstance(given, np.ma.MaskedArray) else host_view(given)
    try:
        interface = getattr(given, "__cuda_array_interface__", None)
    except (RuntimeError, TypeError) as error:  # PyTorch has it raise for tensors that need it
        raise LaunchError(f"a {type(given).__name__} cannot be read: {error}") from error
    if interface is not None:
        return _by_interface(interface, given)
    if hasattr(given, "__dlpack__") and hasattr(given, "__dlpack_device__"):
        return _by_dlpack(given)
    return None


def host_view(array: np.ndarray) -> View:
    """The same for a numpy array, whatever it holds."""
    return View(
        dtype=array.dtype,
        shape=array.shape,
        strides=array.strides,
        at=array.ctypes.data,
        is_writable=array.flags.writeable,
        is_on_device=False,
        owner=array,
    )


def _by_interface(interface: dict[str, Any], owner: Any) -> View:
    """https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html"""
    if interface.get("mask") is not None:
        raise LaunchError(f"a {type(owner).__name__} with a mask cannot be read; fill it first")
    at, is_read_only = interface["data"]
    return View(
        dtype=np.dtype(interface["typestr"]),
        shape=tuple(interface["shape"]),
        strides=interface.get("strides"),
        at=at or 0,
        is_writable=not is_read_only,
        is_on_device=True,
        stream=interface.get("stream"),
        owner=owner,
    )


# --- DLPack: https://dmlc.github.io/dlpack/latest/c_api.html

_CUDA, _CUDA_MANAGED = 2, 13
_KINDS = {0: "i", 1: "u", 2: "f", 6: "b"}
_LEGACY_STREAM = 1


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


def _by_dlpack(given: Any) -> View | None:
    """None if it is not on a CUDA device. The capsule is not consumed: it frees what it holds when the view goes."""
    device, _ = given.__dlpack_device__()
    if int(device) not in (_CUDA, _CUDA_MANAGED):
        return None
    capsule = given.__dlpack__(stream=_LEGACY_STREAM)  # which waits for what writes it
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    tensor = _Tensor.from_address(get(capsule, b"dltensor"))
    kind = _KINDS.get(tensor.code)
    if kind is None or tensor.lanes != 1:
        raise LaunchError(f"a {type(given).__name__} of DLPack's type {tensor.code} is none of polysched's")
    dtype = np.dtype("bool") if kind == "b" else np.dtype(f"{kind}{tensor.bits // 8}")
    strides = None
    if tensor.strides:
        strides = tuple(stride * dtype.itemsize for stride in tensor.strides[: tensor.ndim])
    return View(
        dtype=dtype,
        shape=tuple(tensor.shape[: tensor.ndim]),
        strides=strides,
        at=(tensor.data or 0) + tensor.byte_offset,
        is_writable=True,  # an array that is read-only cannot be said to be so
        is_on_device=True,
        owner=(given, capsule),
    )
