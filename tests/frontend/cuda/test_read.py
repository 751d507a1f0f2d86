"""polysched/frontend/cuda: kernels of whole CUDA files, and for each the text that it needs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from polysched.errors import InputError
from polysched.frontend.cuda.read import CudaFile, read_cuda

WHOLE = """\
#include <stdio.h>
#include <thrust/device_vector.h>
#define TWO 2
#define SCALE(x) (factor * (x))

thrust::device_vector<int> everywhere;
__constant__ float factor;
int calls = 0;
struct Range {
    int low, high;
    Range(int n) : low(0), high(n) { calls++; }
    __device__ bool has(int i) const { return low <= i && i < high; }
};
__device__ __forceinline__ float
scaled(float x) { return SCALE(x); }  // <<< no launch
__device__ float unused(float x);

/* the host has a function of the kernel's name */
template <class T, int n = TWO>
__global__ void scale(T *a, Range range)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (range.has(i))
        a[i] = n * scaled(a[i]);
}

void scale(float *a, int n)
{
#ifdef CHECK
    puts("<<<");
#else
    scale<float><<<n / 32, 32>>>(a, Range(n));
#endif
}

int main() { std::unknown<int> x; scale<double, 3><<<1, 1>>>(nullptr, x); }
"""


def text_of(file: CudaFile, kernel: str) -> str:
    return file.text_of(file.kernel(kernel))


def words(text: str) -> str:
    """The lines that are not empty."""
    return "\n".join(line.rstrip() for line in text.splitlines() if line.strip())


def test_a_kernel_of_a_whole_file():
    file = read_cuda(WHOLE)
    assert [str(kernel) for kernel in file.kernels] == ["template <class T, int n = TWO> scale(T *a, Range range)"]
    text = text_of(file, "scale<float>")
    for line in ("int calls = 0;", "everywhere", "unused", "main", "void scale(float", "Range(int n)", "no launch"):
        assert line not in text
    lines = text.partition('#line 3 "kernel.cu"\n')[2].splitlines()
    assert [k for k, line in enumerate(lines, 3) if "scaled(" in line] == [15, 24]
    assert words(text).startswith(
        """\
#include <stdio.h>
#if __has_include(<thrust/device_vector.h>)
#include <thrust/device_vector.h>
#endif
#line 3 "kernel.cu"
#define TWO 2
#define SCALE(x) (factor * (x))
__constant__ float factor;
struct Range {
    int low, high;
    __device__ bool has(int i) const { return low <= i && i < high; }
};
__device__ __forceinline__ float
scaled(float x) { return SCALE(x); }
template <class T, int n = TWO>
__global__ void scale(T *a, Range range)
"""
    )


def test_parameters_and_variables():
    file = read_cuda(WHOLE)
    kernel = file.kernel("scale")
    a, scope = kernel.parameters
    assert (a.name, a.type, a.is_pointer, a.dtype) == ("a", "T *", True, None)
    assert (scope.name, scope.dtype) == ("range", np.dtype([("low", "i4"), ("high", "i4")]))
    (factor,) = file.variables_of(kernel)
    assert (factor.name, factor.dtype, factor.is_empty) == ("factor", np.float32, True)
    assert kernel.example == "scale<float>" and not file.is_dynamic(kernel)


MANY = """\
namespace outer { namespace {
__device__ int counts[4];
__global__ void inside(int *a) { a[0] = counts[1]; }
} }
extern "C" __global__ void plain(int) {}
extern "C" { __global__ void braces(unsigned char *bytes, float4 v, const double *const *rows) {} }
template <typename T> struct Shared { __device__ operator T *() { extern __shared__ int all[]; return (T *)all; } };
enum Kind { even, odd };
__device__ float2 operator+(float2 a, float2 b) { return make_float2(a.x + b.x, a.y + b.y); }
__global__ void forward(Kind kind);
__global__ void forward(Kind kind) { float *all = Shared<float>(); all[kind == odd] = 1; }
#define KERNEL(type) __global__ void of_##type(type *a) { a[0] = 1; }
KERNEL(int)
__global__ void nested() { plain<<<1, 1>>>(1); }
"""


def test_kernels_wherever_they_stand():
    file = read_cuda(MANY)
    names = ["outer::inside", "plain", "braces", "forward", "of_int", "nested"]
    assert [kernel.qualified for kernel in file.kernels] == names
    assert str(file.kernel("plain")) == "plain(int parameter1)"
    kinds = [(it.is_pointer, it.dtype) for it in file.kernel("braces").parameters]
    assert kinds[0] == (True, np.uint8)
    assert kinds[1] == (False, np.dtype([(name, "f4") for name in "xyzw"]))
    assert kinds[2] == (True, np.dtype("V8"))
    assert words(text_of(file, "outer::inside")).splitlines()[:4] == MANY.splitlines()[:4]
    assert file.is_dynamic(file.kernel("forward")) and not file.is_dynamic(file.kernel("plain"))
    kept = words(text_of(file, "forward"))
    assert "enum Kind" in kept and "struct Shared" in kept and kept.count("forward(Kind kind)") == 2
    assert "KERNEL(int)" in text_of(file, "of_int").splitlines()[12]


def test_what_is_refused():
    file = read_cuda(MANY)
    with pytest.raises(InputError, match=r"^kernel.cu:14:33: a kernel that launches kernels cannot be checked\n"):
        text_of(file, "nested")
    with pytest.raises(
        InputError, match=r"^the text has no kernel 'none'\nhint: it has: inside, plain, braces, forward"
    ):
        file.kernel("none")
    twice = read_cuda("__global__ void f(int a) {}\n__global__ void f(float a) {}\n")
    with pytest.raises(InputError, match=r"^kernel.cu:2:17: 'f' is the name of 2 kernels\n"):
        twice.kernel("f")
    with pytest.raises(InputError, match=r"^'none\.cu' cannot be read: No such file or directory$"):
        read_cuda(Path("none.cu"))


def test_names_that_a_kernel_cannot_know():
    file = read_cuda('#include "gone.h"\n#include "cuda.h"\nint n;\nvoid help() {}\n__global__ void f() {}\n')
    assert file.why_unknown("help") == "'help' of kernel.cu:4 belongs to the host: a kernel cannot use it"
    assert file.why_unknown("n") == "'n' of kernel.cu:3 belongs to the host: a kernel cannot use it"
    missing = "it may be in a header that was not found, 'gone.h': give its folder with -I"
    assert file.why_unknown("other", {"cuda.h"}) == missing
    assert read_cuda("__global__ void f() {}").why_unknown("other") == ""


def test_included_files_are_in_the_text_once(tmp_path):
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "once.cuh").write_bytes(
        b"#pragma once\r\n#define ONE 1 /* gr\xfc\xdfe */\r\n__device__ int one() { return ONE; }\r\nint host;\r\n"
    )
    (tmp_path / "guarded.h").write_text('#ifndef G\n#define G\n#include "once.cuh"\nenum { SIZE = 4 };\n#endif\n')
    (tmp_path / "whole.cu").write_bytes(
        b'#include "guarded.h"\n#include <once.cuh>\n#include "guarded.h"\n#if 0\n#include "nothing.h"\n#endif\n'
        b'#include "math.h"\n__global__ void f(int *a) { a[SIZE] = one() + N; }\nvoid g() { f<<<1, 1>>>(0); }\n'
    )
    file = read_cuda(tmp_path / "whole.cu", [str(tmp_path / "more")], ["N=3"])
    assert list(file.texts) == ["whole.cu", "guarded.h", "more/once.cuh"]
    assert (
        words(text_of(file, "f"))
        == """\
#line 1 "guarded.h"
#ifndef G
#define G
#line 1 "more/once.cuh"
#define ONE 1 /* gr\ufffd\ufffde */
__device__ int one() { return ONE; }
#line 4 "guarded.h"
enum { SIZE = 4 };
#endif
#line 2 "whole.cu"
#if 0
#include "nothing.h"
#endif
#include "math.h"
__global__ void f(int *a) { a[SIZE] = one() + N; }"""
    )


def test_namespaces_that_are_opened_are_there():
    text = (
        "namespace a { namespace b { void host(); } }\nusing namespace a::b;\n__global__ void f(int *a) { a[0] = 1; }\n"
    )
    assert text_of(read_cuda(text), "f").splitlines()[:2] == ["namespace a::b {}", '#line 1 "kernel.cu"']
    assert words(text_of(read_cuda(text), "f")).endswith(
        "using namespace a::b;\n__global__ void f(int *a) { a[0] = 1; }"
    )


def test_our_own_text_is_read():
    file = read_cuda(Path("tests/golden/heat.cu"))
    kernels = [kernel.name for kernel in file.kernels]
    assert kernels and all("<<<" not in text_of(file, name).split("__global__", 1)[1] for name in kernels)


def test_included_text_stands_inside_of_brackets(tmp_path):
    (tmp_path / "inner.h").write_text("// a comment that is longer than the brackets\ntypedef int number;\n")
    (tmp_path / "whole.cu").write_text(
        'extern "C" {\n#include "inner.h"\n__global__ void f(number *a) { a[0] = 1; }\nvoid host() {}\n}\n'
    )
    assert (
        words(text_of(read_cuda(tmp_path / "whole.cu"), "f"))
        == """\
extern "C" {
#line 1 "inner.h"
typedef int number;
#line 3 "whole.cu"
__global__ void f(number *a) { a[0] = 1; }
}"""
    )


def test_variables_are_whole_whatever_is_wrong_with_them():
    text = """\
__constant__ int a, b[COUNT + 1]; __constant__ int c = COUNT(2, 3);
struct Pair { int x, y; } __align__(8);
template <int n> __device__ int help(cuda::barrier<cuda::block> &x, int y) { return n; }
__global__ void f(Pair *d) { d->x = a + c + help<1>(); }"""
    assert text_of(read_cuda(text), "f") == text


def test_a_kernel_of_that_name_may_be_defined_elsewhere():
    own = "template <class T = int> __global__ void f(T *a);\ntemplate <class T> __global__ void f(T *a) { a[0] = 1; }"
    text = f"__global__ void f(int *a, int n);\n{own}"
    assert words(text_of(read_cuda(text), "f")) == own
