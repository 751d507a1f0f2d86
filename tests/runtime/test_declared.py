"""polysched/runtime/emulated/declared.py: kernels and arrays, as a text declares them."""

from __future__ import annotations

import pytest

from polysched.runtime.emulated.declared import (
    DeclaredArray,
    declared_arrays,
    declared_kernels,
    dynamic_arrays,
    template_parameters,
    without_comments,
)


def arrays(text: str) -> list[tuple]:
    return [(array.name, array.function, array.extents, array.itemsize) for array in declared_arrays(text)]


def test_declarations_and_no_uses_of_the_same_name():
    text = """
    __device__ int table[4] = {1, 2, 3, 4};
    __global__ void f(float *a) { extern __shared__ float s[]; s[0] = a[0]; table[1] = s[1]; }
    // __global__ void old() { __shared__ double s[3]; }
    __global__ void __launch_bounds__(64) g() { __shared__ __align__(16) double s[2][8], t[8]; s[0][1] = t[2]; }
    __constant__ float4 last[2];"""
    assert arrays(text) == [
        ("table", "", (4,), 4),
        ("s", "f", ("",), 4),
        ("s", "g", (2, 8), 8),
        ("t", "g", (8,), 8),
        ("last", "", (2,), 16),
    ]
    assert dynamic_arrays(text) == ["s"] and list(declared_kernels(without_comments(text))) == ["f", "g"]


@pytest.mark.parametrize(
    ("extents", "itemsize", "size", "shape"),
    [
        ((2, 3), None, 48, ((2, 3), 8)),
        ((2, 3), 8, 48, ((2, 3), 8)),
        (("N", 3), 4, 48, ((4, 3), 4)),
        (("N",), 4, 0, ((0,), 4)),
        (("N",), None, 48, None),
        (("N", 3, "N"), 4, 48, ((2, 3, 2), 4)),
        (("N", "N"), 4, 48, None),
        (("N", "M"), 4, 64, None),
        ((5,), None, 48, None),
        ((5,), 4, 48, None),
        ((0,), None, 48, None),
    ],
)
def test_shapes_that_follow_from_the_size(extents, itemsize, size, shape):
    assert DeclaredArray("s", "f", extents, itemsize).shape(size) == shape


def test_types():
    words = ("unsigned char", "uint16_t", "long long", "unsigned", "half", "float2", "short int", "T")
    sizes = [declared_arrays(f"__global__ void f() {{ __shared__ {it} s[2]; }}")[0].itemsize for it in words]
    assert sizes == [1, 2, 8, 4, 2, 8, 2, None]


def test_kernels_of_opencl():
    text = "__kernel void __attribute__((reqd_work_group_size(8, 1, 1))) f(__global long *a) { __local long s[8]; }"
    assert arrays(text) == [("s", "f", (8,), 8)]


def test_templates():
    text = "template <class T, int N> static __global__ void f(T *a) {} __global__ void g() {}"
    assert (template_parameters(text, "f"), template_parameters(text, "g")) == ("class T, int N", "")
