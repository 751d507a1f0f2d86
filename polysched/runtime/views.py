"""Arrays of any library, seen alike: numpy's in the host's memory, and those on a CUDA device.

    view_of(numpy.zeros(4))         float64 of shape (4,) at an address
    view_of(cupy.zeros(4))          the same on a device, by __cuda_array_interface__
    view_of(tvm.nd.array(...))      by DLPack
    view_of([0.0])                  None
"""

from __future__ import annotations

import ctypes
from math import prod
from typing import Any, NamedTuple

import numpy as np

from polysched.errors import LaunchError


class Form(NamedTuple):
    """All that decides whether an array fits, but where it is; of equal ones, all fit or none."""

    dtype: np.dtype
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None  # in bytes; None: in C order without gaps
    is_aligned: bool
    is_writable: bool
    is_on_device: bool

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
        return prod(self.shape) * self.dtype.itemsize


class View(NamedTuple):
    """An array, wherever it is."""

    form: Form
    at: int  # address of the first element
    owner: Any  # the memory lives as long as this
    stream: int | None = None  # of CUDA, on which what wrote it last may still run


def view_of(given: Any) -> View | None:
    """The array that `given` is; None if it is none. LaunchError if it is one that cannot be seen."""
    if isinstance(given, np.ndarray):
        # numpy.ma is not there until it is named, and takes longer to import than a call.
        is_masked = type(given) is not np.ndarray and isinstance(given, np.ma.MaskedArray)
        return None if is_masked else host_view(given)
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
    dtype, at = array.dtype, _address(array)
    is_aligned, is_writable = not at % dtype.alignment, array.flags.writeable
    return View(Form(dtype, array.shape, array.strides, is_aligned, is_writable, is_on_device=False), at, array)


def _address(array: np.ndarray) -> int:
    """As `array.ctypes.data`, in half the time."""
    capsule = _interface_of(array)  # which frees what it holds when it goes
    return _ArrayInterface.from_address(_pointer(capsule, None)).data or 0


# https://numpy.org/doc/stable/reference/arrays.interface.html#c-struct-access
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_interface_of = np.ndarray.__array_struct__.__get__


class _ArrayInterface(ctypes.Structure):
    _fields_ = (
        ("two", ctypes.c_int),
        ("nd", ctypes.c_int),
        ("typekind", ctypes.c_char),
        ("itemsize", ctypes.c_int),
        ("flags", ctypes.c_int),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("data", ctypes.c_void_p),
    )


def _by_interface(interface: dict[str, Any], owner: Any) -> View:
    """https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html"""
    if interface.get("mask") is not None:
        raise LaunchError(f"a {type(owner).__name__} with a mask cannot be read; fill it first")
    address, is_read_only = interface["data"]
    dtype, shape, at = np.dtype(interface["typestr"]), tuple(interface["shape"]), address or 0
    strides = interface.get("strides")
    strides = None if strides is None else tuple(strides)
    form = Form(dtype, shape, strides, not at % dtype.alignment, not is_read_only, is_on_device=True)
    return View(form, at, owner, interface.get("stream"))


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
    tensor = _Tensor.from_address(_pointer(capsule, b"dltensor"))
    kind = _KINDS.get(tensor.code)
    if kind is None or tensor.lanes != 1:
        raise LaunchError(f"a {type(given).__name__} of DLPack's type {tensor.code} is none of polysched's")
    dtype = np.dtype("bool") if kind == "b" else np.dtype(f"{kind}{tensor.bits // 8}")
    strides = tuple(stride * dtype.itemsize for stride in tensor.strides[: tensor.ndim]) if tensor.strides else None
    shape, at = tuple(tensor.shape[: tensor.ndim]), (tensor.data or 0) + tensor.byte_offset
    is_writable = True  # an array that is read-only cannot be said to be so
    form = Form(dtype, shape, strides, not at % dtype.alignment, is_writable, is_on_device=True)
    return View(form, at, (given, capsule))
