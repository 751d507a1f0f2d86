from __future__ import annotations

import ctypes

import numpy as np
import pytest

from polysched.errors import LaunchError
from polysched.ir.build import load, store, var
from polysched.ir.dtypes import f64
from polysched.ir.nodes import Array
from polysched.runtime.arguments import Binder
from polysched.runtime.views import host_view, view_of
from tests.nests import loop, nest

n, i = var("n"), var("i")


class Device:
    """An array as CuPy and others describe it."""

    def __init__(self, **changes):
        known = {"shape": (3, 4), "typestr": "<f8", "data": (4096, False), "strides": None, "version": 3}
        self.__cuda_array_interface__ = known | changes


def test_numpy_s_and_a_device_s_array_are_seen_alike():
    host, device = view_of(np.zeros((3, 4))), view_of(Device())
    for form in (host.form, device.form):
        assert (form.dtype, form.shape, form.nbytes) == (np.float64, (3, 4), 96)
        assert form.is_contiguous
        assert form.is_aligned
        assert form.is_writable
    assert not host.form.is_on_device
    assert device.form.is_on_device
    assert device.at == 4096


def test_forms_are_equal_where_only_the_place_differs():
    """They are the keys under which checks are remembered, so lists in an interface will not do."""
    first, second = np.zeros((3, 4)), np.ones((3, 4))
    assert view_of(first).form == view_of(second).form
    assert hash(view_of(Device(shape=[3, 4], strides=[32, 8])).form) == hash(view_of(Device(strides=(32, 8))).form)
    assert view_of(Device(data=(4100, False))).form != view_of(Device()).form  # not aligned
    second.flags.writeable = False
    assert view_of(first).form != view_of(second).form


@pytest.mark.parametrize(
    ("shape", "strides", "contiguous"),
    [
        ((3, 4), (32, 8), True),
        ((3, 4), (8, 24), False),
        ((3, 4), (64, 8), False),
        ((1, 4), (999, 8), True),
        ((0, 4), (1, 1), True),
        ((), (), True),
    ],
)
def test_gaps_are_seen(shape, strides, contiguous):
    assert view_of(Device(shape=shape, strides=strides)).form.is_contiguous == contiguous


@pytest.mark.parametrize("given", [None, [0.0], 1.0, np.float64(1), np.ma.zeros(3), "a"])
def test_what_is_no_array_is_none(given):
    assert view_of(given) is None


def test_an_array_that_cannot_be_described_says_why():
    class Tensor:
        @property
        def __cuda_array_interface__(self):
            raise RuntimeError("Can't get __cuda_array_interface__ on Variable that requires grad.")

    with pytest.raises(LaunchError, match=r"a Tensor cannot be read: Can't get .* that requires grad"):
        view_of(Tensor())


def test_c_programs_refuse_a_device_s_array():
    A, x = Array("A", f64, (n,)), Array("x", f64, (n,))
    fn = nest("f", "n", [A, x], loop("i", 0, n, store(A, (i,), load(x, i))))
    message = (
        r"x must be a numpy array f64\[n\], not a Device on a CUDA device; copy it to the host, or use target=\"cuda\""
    )
    with pytest.raises(LaunchError, match=message):
        Binder(fn)({"A": np.zeros(3), "x": Device(shape=(3,))})


# --- DLPack


class Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    )


class ByDlpack:
    """An array of floats whose library speaks DLPack alone."""

    def __init__(self, shape, strides=None, *, device=(2, 0), code=2, bits=32, lanes=1):
        count = len(shape)
        self.tensor = Tensor(4096, (ctypes.c_int32 * 2)(*device), count, code, bits, lanes, byte_offset=64)
        self.tensor.shape = (ctypes.c_int64 * count)(*shape)
        if strides:
            self.tensor.strides = (ctypes.c_int64 * count)(*strides)

    def __dlpack_device__(self):
        return tuple(self.tensor.device)

    def __dlpack__(self, *, stream):
        assert stream == 1  # the one that kernels are launched on
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        return new(ctypes.addressof(self.tensor), b"dltensor", None)


def test_dlpack_is_read():
    view = view_of(ByDlpack((3, 4)))
    assert (view.form.dtype, view.form.shape, view.form.strides, view.at) == (np.float32, (3, 4), None, 4096 + 64)
    assert view.form.is_on_device
    assert view_of(ByDlpack((3, 4), (4, 1))).form.is_contiguous
    assert not view_of(ByDlpack((3, 4), (1, 3))).form.is_contiguous


@pytest.mark.parametrize(
    ("code", "bits", "dtype"), [(0, 64, np.int64), (1, 8, np.uint8), (2, 16, np.float16), (6, 8, np.bool_)]
)
def test_the_types_of_dlpack(code, bits, dtype):
    assert view_of(ByDlpack((3,), code=code, bits=bits)).form.dtype == dtype


def test_other_types_and_places_are_refused():
    with pytest.raises(LaunchError, match="a ByDlpack of DLPack's type 4 is none of polysched's"):
        view_of(ByDlpack((3,), code=4, bits=16))  # bfloat16
    with pytest.raises(LaunchError, match="a ByDlpack of DLPack's type 2"):
        view_of(ByDlpack((3,), lanes=4))
    assert view_of(ByDlpack((3,), device=(10, 0))) is None  # of ROCm


@pytest.mark.parametrize(
    "array",
    [
        np.zeros(4)[1:],
        np.zeros((3, 4))[:, ::-1],
        np.zeros(0),
        np.array(1.5),
        np.zeros(3, ">f8"),
        np.zeros(3, "M8[s]"),
        np.zeros(3, [("a", "i4"), ("b", "f8")]),
        np.array([None, 1]),
        np.frombuffer(b"12345678"),
        np.zeros((2, 2)).view(np.matrix),
    ],
    ids=["part", "reversed", "empty", "scalar", "foreign", "dates", "records", "objects", "read-only", "subclass"],
)
def test_the_address_of_any_array_is_the_one_that_numpy_tells(array):
    view = host_view(array)
    assert (view.at, view.form.is_writable) == (array.ctypes.data, array.flags.writeable)
