"""The checker on whole CUDA files: host code around kernels, headers beside them, structs, variables of the device."""

from __future__ import annotations

import ctypes
import re

import numpy as np
import pytest

import polysched as ps
from polysched.cli import main
from polysched.frontend.cuda.read import read_cuda
from polysched.runtime.argument_texts import example_call, named_arguments
from polysched.runtime.emulated.refusals import refusal

TILE = """\
#ifndef TILE_CUH
#define TILE_CUH
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
template <class T> struct Shared
{
    __device__ operator T *() { extern __shared__ int __all[]; return (T *)__all; }
};
template <class T> __device__ T from_left(T *tile, T own, cg::thread_block block)
{
    tile[threadIdx.x] = own;
    cg::sync(block);
    return tile[threadIdx.x ? threadIdx.x - 1 : 0];
}
#endif
"""
WHOLE = """\
#include <cstdio>
#include <vector>
#include <helper_cuda.h>
#include "tile.cuh"

struct Window { int n; struct { float low, high; } clip; float *out; };
__constant__ float weights[2];
__device__ unsigned seen = 0;
static std::vector<float> results;

template <class T> __global__ void smooth(const T *in, Window window)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    T *tile = Shared<T>();
    const T left = from_left(tile, i < window.n ? in[i] : T(0), cg::this_thread_block());
    if (i < window.n) {
        window.out[i] = min(max(weights[0] * left + weights[1] * in[i], window.clip.low), window.clip.high);
        atomicAdd(&seen, 1u);
    }
}

int main(int argc, char **argv)
{
    Window window = {100, {0, 1}, nullptr};
    checkCudaErrors(cudaMalloc(&window.out, 400));
    smooth<float><<<4, 32, 128>>>(nullptr, window);
    getLastCudaError("smooth");
}
"""


@pytest.fixture
def whole(tmp_path):
    (tmp_path / "tile.cuh").write_text(TILE)
    path = tmp_path / "whole.cu"
    path.write_text(WHOLE)
    return path


def arguments(n: int = 100) -> dict:
    numbers = np.random.default_rng(0).uniform(0, 1, 100).astype(np.float32)
    window = {"n": n, "clip": {"low": 0.25, "high": 0.75}, "out": np.zeros(100, np.float32)}
    return {"in": numbers, "window": window}


def run(path, **given) -> ps.CheckReport:
    return ps.check_cuda(path, "smooth<float>", 4, 32, dynamic_shared_bytes=128, **given)


@pytest.mark.slow
def test_a_kernel_with_a_struct_and_variables_of_the_device(whole):
    given, seen = arguments(), np.zeros(1, np.uint32)
    report = run(whole, **given, weights=np.array([0.5, 0.25], np.float32), seen=seen)
    assert report.is_silent, str(report)
    own = given["in"]
    left = own[np.maximum(np.arange(100) - (np.arange(100) % 32 > 0), 0)]
    assert np.allclose(given["window"]["out"], np.clip(0.5 * left + 0.25 * own, 0.25, 0.75))
    assert seen.tolist() == [100]
    assert run(whole, **arguments()).is_silent  # the variables are as they were, and constant memory has trial data
    found = {finding.what for finding in run(whole, **arguments(n=101)).findings}
    assert found == {f"{name}[100], but it has 100 elements" for name in ("in", "window.out")}


def test_a_missing_barrier_is_found_at_its_line_of_the_header(whole):
    (whole.parent / "tile.cuh").write_text(TILE.replace("cg::sync(block);", ""))
    findings = run(whole, **arguments()).findings
    place = next(place for it in findings for place in it.places if it.kind == "race" and place.does == "reads")
    assert (place.file, place.line) == ("tile.cuh", 13)
    assert " reads in line 13 of tile.cuh: return tile[threadIdx.x ? threadIdx.x - 1 : 0];" in str(place)


def test_a_launch_from_the_command_line(whole, capsys):
    launch = [
        "verify",
        str(whole),
        "--kernel",
        "smooth<float>",
        "--grid",
        "4",
        "--block",
        "32",
        "--dynamic-shared",
        "128",
    ]
    window = ["window.n=100", "window.clip.low=0.5", "window.clip.high=2", "window.out=f32[100]", "seen=7"]
    given = [option for it in window for option in ("--arg", it)]
    assert main([*launch, *given, "--arg", "in=[100]"]) == 2
    assert capsys.readouterr().err == "in=[100]: the type of 'in' is not known\nhint: one of " + (
        "f64, f32, f16, i8, i16, i32, i64, u8, u16, u32, u64, bool, as in in=f32[100]\n"
    )
    assert main([*launch, *given, "--arg", "in=f32[100]"]) == 0
    assert capsys.readouterr().out.startswith("no races, ")


def test_the_kernels_of_a_file_are_listed(whole, capsys):
    assert main(["verify", str(whole)]) == 0
    assert capsys.readouterr().out == (
        f"{whole} has 1 kernel; with --grid and --block, one is checked\n\n"
        "whole.cu:11: template <class T> smooth(const T *in, Window window)\n"
        f"  polysched verify {whole} --kernel 'smooth<float>' --grid 4 --block 32 --dynamic-shared 4096 "
        "--arg 'in=f32[1000]' --arg window.n=100 --arg window.clip.low=0.5 --arg window.clip.high=0.5 "
        "--arg 'window.out=f32[1000]'\n"
        "  --arg also for variables of the device: float[2] weights, unsigned int seen\n"
    )


def test_examples_of_arguments():
    text = "struct P { int n; double *a; };\n__global__ void f(P p, double *a, P *q, half s, bool *b) {}"
    call = " ".join(example_call(read_cuda(text).kernel("f"), is_dynamic=False))
    assert call.partition("--block 32 ")[2] == (
        "--arg p.n=100 --arg 'p.a=f32[1000]' --arg 'a=f64[1000]' --arg 'q=[1000]' --arg s=0.5 --arg 'b=bool[1000]'"
    )


def test_arguments_of_the_command_line():
    kernel = read_cuda("struct P { int n; float s; };\n__global__ void f(P *q, double *a) {}").kernel("f")
    given = named_arguments(["q=[5]", "a=[3]", "p.n=3", "p.in.a=f32[2]"], kernel.parameters)
    assert given["q"].dtype.names == ("n", "s") and given["q"].shape == (5,) and given["q"]["s"].min() > 0
    assert (given["a"].dtype, given["p"]["n"], given["p"]["in"]["a"].shape) == (np.float64, 3, (2,))
    for texts, message in (
        (["a=zz[3]"], "a=zz[3]: 'zz' is no type\nhint: one of f64, f32"),
        (["p=3", "p.n=4"], "'p.n=4': p is given before, and not by its fields"),
    ):
        with pytest.raises(ps.InputError, match=re.escape(message)):
            named_arguments(texts, kernel.parameters)


def test_a_struct_of_numpy_or_ctypes_is_taken_too():
    class Pair(ctypes.Structure):
        _fields_ = (("n", ctypes.c_int), ("s", ctypes.c_float))

    text = "struct Pair { int n; float s; };\n__global__ void f(Pair p, float4 v, float *a) { a[p.n] = p.s * v.y; }"
    four = np.array((0, 3, 0, 0), [(name, "f4") for name in "xyzw"])
    for pair in (Pair(1, 2.0), np.array((1, 2.0), [("n", "i4"), ("s", "f4")])):
        a = np.zeros(2, np.float32)
        assert ps.check_cuda(text, "f", 1, 1, p=pair, v=four, a=a).is_silent
        assert a.tolist() == [0, 6]
    for given, message in (
        ({"n": 1, "m": 2}, "p has no field 'm': it has n, s"),
        ({"n": [1, 2]}, "p.n is int32, not list"),
        ({"s": np.zeros(3)}, "p.s is float32, not ndarray"),
        (3, "p is a struct, not int: give its fields, as in {'n': 3}"),
        (np.zeros(3, np.int32), "p has 8 bytes, but 12 are given"),
    ):
        with pytest.raises(ps.LaunchError, match=re.escape(message)):
            ps.check_cuda(text, "f", 1, 1, p=given, v=four, a=a)


def test_variables_that_do_not_fit():
    text = "__constant__ int table[2];\n__global__ void f(int *a) { a[0] = table[1]; }"
    a = np.zeros(1, np.int32)
    for given, message in (
        ({"table": np.zeros(3, np.int32)}, "table, int[2], has 8 bytes, but 12 are given"),
        ({"table": np.zeros(1)}, "table is of int32, but what is given is of float64"),
        ({"tables": 1}, "f takes a, and table of the device; given are tables, a"),
    ):
        with pytest.raises(ps.LaunchError, match=re.escape(message)):
            ps.check_cuda(text, "f", 1, 1, **given, a=a)


def test_a_refusal_names_one_construct():
    text = "#include <gone.h>\nint total;\n__global__ void f(int *a) { a[0] = total; }\n"
    with pytest.raises(ps.ToolchainError) as refused:
        ps.check_cuda(text, "f", 1, 1, a=np.zeros(1, np.int32))
    assert str(refused.value) == (
        "kernel.cu:3: 'total' is not known here: neither the text nor our header of CUDA's words has it\n"
        "  __global__ void f(int *a) { a[0] = total; }\n"
        "hint: 'total' of kernel.cu:2 belongs to the host: a kernel cannot use it"
    )


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("a[0] = tex1D<float>(0, 1);", "kernel.cu:2: 'tex1D': textures are not supported"),
        ("cuda::barrier<1> b;", "kernel.cu:2: 'cuda': barriers and pipelines of libcu++ are not supported"),
        ("a[0] = (*(float2 *)a + *(float2 *)a).x;", "hint: 'operator+' of kernel.cu:1 belongs to the host"),
    ],
)
def test_a_refusal_says_what_is_not_supported(body, said):
    head = "float2 operator+(float2 a, float2 b) { return make_float2(a.x + b.x, a.y + b.y); }"
    with pytest.raises(ps.ToolchainError, match=re.escape(said)):
        ps.check_cuda(f"{head}\n__global__ void f(float *a) {{ {body} }}", "f", 1, 1, a=np.zeros(2, np.float32))


ARGUMENTS = """\
struct Twice { __device__ float operator()(float x) { return 2 * x; } };
__device__ float half_of(float x) { return x / 2; }
typedef float (*Function)(float);
template <class T> __global__ void f(float *a) { a[0] = T()(a[0]); }
template <Function function> __global__ void g(float *a) { a[0] = function(a[0]); }
"""


def test_arguments_of_templates_are_of_the_file():
    a = np.ones(1, np.float32)
    assert ps.check_cuda(ARGUMENTS, "f<Twice>", 1, 1, a=a).is_silent and a[0] == 2
    assert ps.check_cuda(ARGUMENTS, "g<half_of>", 1, 1, a=a).is_silent and a[0] == 1


@pytest.mark.parametrize(("arguments", "why"), [("Thrice", "'Thrice' was not declared in this scope"), ("16", "")])
def test_arguments_that_a_template_does_not_take(arguments, why):
    with pytest.raises(ps.InputError) as refused:
        ps.check_cuda(ARGUMENTS, f"g<{arguments}>", 1, 1, a=np.ones(1, np.float32))
    assert str(refused.value) == f"'g<{arguments}>' is none of template <Function function>{': ' if why else ''}{why}"


def test_a_file_sees_that_nvcc_reads_it():
    head = "#include <math.h>\n#include <algorithm>\n#ifdef __CUDACC__\n__host__ __device__\n#endif\ninline float one()"
    text = f"{head} {{ return 1; }}\n__global__ void f(float *a) {{ a[0] = one(); }}"
    assert ps.check_cuda(text, "f", 1, 1, a=np.zeros(1, np.float32)).is_silent


def test_an_extent_by_value():
    text = "__global__ void f(cudaExtent size, int *a) { a[0] = size.width * size.height * size.depth; }"
    a = np.zeros(1, np.int32)
    ps.check_cuda(text, "f", 1, 1, size={"width": 2, "height": 3, "depth": 5}, a=a)
    assert a[0] == 30


def test_an_error_of_a_header_for_the_host(tmp_path):
    error = "#ifndef HAS_CLOCK\n#error no clock\n#endif\n"
    (tmp_path / "timer.h").write_text(f"{error}void start();\n")
    (tmp_path / "whole.cu").write_text('#include "timer.h"\n__global__ void f(int *a) { a[0] = 1; }\n')
    assert ps.check_cuda(tmp_path / "whole.cu", "f", 1, 1, a=np.zeros(1, np.int32)).is_silent
    (tmp_path / "timer.h").write_text(f"{error}typedef int number;\n")
    (tmp_path / "whole.cu").write_text('#include "timer.h"\n__global__ void f(number *a) { a[0] = 1; }\n')
    with pytest.raises(ps.ToolchainError, match="#error no clock"):
        ps.check_cuda(tmp_path / "whole.cu", "f", 1, 1, a=np.zeros(1, np.int32))


MESSAGE = """\
groups.h:9:5: error: static assertion failed: tiles of more than 32 threads are not known here
ours.h: In instantiation of 'f<64>':
mine.cu:2:8:   required from here
ours.h:7:2: error: static assertion failed: tiles of more than 32 threads are not known here
mine.cu:1:1: error: 'cg::other' has not been declared
"""


def test_a_refusal_by_a_header_of_ours_is_at_the_line_that_asks():
    assert refusal(MESSAGE, {"mine.cu": "one\n  tile<64>();\n"}, lambda name: "") == (
        "mine.cu:2: tiles of more than 32 threads are not known here\n"
        "  tile<64>();\n"
        "hint: if nvcc takes it, it is not supported"
    )
    one = "a.cu:1:1: error: variable or field 'f' declared void\na.cu:1:9: error: 'complex' was not declared"
    said = refusal(one, {"a.cu": "void f(complex *);"}, lambda name: "")
    assert said.startswith("a.cu:1: 'complex' is not known here")
    assert refusal("g++: fatal error: no input files", {"mine.cu": ""}, lambda name: "") == ""


def test_a_file_without_kernels_names_the_headers_that_are_missing(tmp_path, capsys):
    path = tmp_path / "host.cu"
    path.write_text('#include <cuda_runtime.h>\n#include "kernels.cuh"\nint main() {}\n')
    assert main(["verify", str(path)]) == 2
    assert capsys.readouterr().err == (
        f"'{path}' has 0 kernels: none\n"
        "hint: it may be in a header that was not found, 'kernels.cuh': give its folder with -I\n"
    )
