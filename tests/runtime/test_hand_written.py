"""runtime/emulated/hand_written.py: kernels in CUDA's words, their arguments, and what the checker says of them."""

from __future__ import annotations

import re

import numpy as np
import pytest

import polysched as ps
from polysched.runtime.argument_texts import named_arguments


def floats(*shape: int) -> np.ndarray:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


def check(body: str, block: int = 32, *, grid: int = 1, parameters: str = "float *a", **arguments) -> ps.CheckReport:
    """What is found in a kernel of this body; it runs on an array of 64 floats."""
    body = body.replace("LANE", "threadIdx.x")
    text = f"__device__ float table[4];\n__global__ void kernel({parameters}) {{\n{body}\n}}\n"
    return ps.check_cuda(text, "kernel", grid, block, **{"a": floats(64), **arguments})


def test_a_kernel_runs_in_place_and_its_traffic_is_counted():
    text = """
    __global__ void __launch_bounds__(64) flip(float *a, const float *__restrict__ b, int n = 0)
    {
        extern __shared__ __align__(16) float tile[];
        const int t = threadIdx.x;
        tile[t] = b[2 * t];
        __syncthreads();
        a[t] = n * tile[63 - t];
    }"""
    a, b = np.zeros(64, np.float32), floats(128)
    report = ps.check_cuda(text, "flip", 1, 64, dynamic_shared_bytes=256, a=a, b=b, n=np.int64(3))
    assert a.tolist() == [3.0 * 2 * (63 - k) for k in range(64)]
    assert report.is_silent
    assert (
        str(report)
        == """\
no races, uninitialized reads or accesses out of bounds
flip:6: reads b, 4 bytes a lane: 8 sectors a request (4 needed), 2 requests: tile[t] = b[2 * t];
flip:6: writes tile, 4 bytes a lane: 1 cycles a request (1 needed), 2 requests: tile[t] = b[2 * t];
flip:8: writes a, 4 bytes a lane: 4 sectors a request (4 needed), 2 requests: a[t] = n * tile[63 - t];
flip:8: reads tile, 4 bytes a lane: 1 cycles a request (1 needed), 2 requests: a[t] = n * tile[63 - t];"""
    )
    assert [traffic.excess for traffic in report.traffic] == [2.0, 1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("access", "cycles"),
    [
        ("s[threadIdx.x]", 1),
        ("s[2 * threadIdx.x]", 2),
        ("s[32 * threadIdx.x]", 32),
        ("s[33 * threadIdx.x]", 1),
        ("s[5]", 1),  # one word for all
        ("((double *)s)[threadIdx.x]", 2),
        ("((float4 *)s)[threadIdx.x].x", 4),  # a float of every fourth word
        ("((float4 *)s)[4 * threadIdx.x].x", 16),
    ],
)
def test_bank_conflicts(access, cycles):
    fill = "__shared__ float s[2100]; for (int k = threadIdx.x; k < 2100; k += 32) s[k] = 1;\n__syncwarp();"
    (reads,) = (t for t in check(f"{fill}\na[0] += {access};").traffic if t.array == "s" and t.does == "reads")
    assert reads.per_request == cycles


@pytest.mark.parametrize(
    ("access", "sectors"),
    [
        ("a[threadIdx.x]", 4),
        ("a[2 * threadIdx.x]", 8),
        ("a[8 * threadIdx.x]", 32),
        ("a[threadIdx.x + 1]", 5),
        ("a[7]", 1),
    ],
)
def test_sectors(access, sectors):
    report = check(f"float x = {access};\nif (x < -1) table[0] = x;", a=floats(256))
    assert report.traffic[0].per_request == sectors


WRONG = [
    ("race", "s[1], without a barrier in between", "__shared__ int s[33]; s[LANE] = 0; a[0] = s[LANE + 1];"),
    ("race", "table[0]", "table[LANE % 4] = LANE;"),
    ("race", "s[31]", """__shared__ float s[32]; s[LANE] = 0;
        __syncwarp(LANE < 16 ? 0xffff : 0xffff0000);
        a[LANE] = s[31 - LANE];"""),
    ("race", "a[0]", "if (LANE == 1) atomicAdd(a, 1.f); else if (LANE == 0) a[0] = 1;"),
    ("uninitialized", "s[8], which nothing has written", "__shared__ int s[9]; a[LANE] = s[8];"),
    ("out of bounds", "a[64], but it has 64 elements", "a[LANE + 33] = 1;"),
    ("out of bounds", "a[-2], but it has 64 elements", "if (LANE == 0) a[-2] = 1;"),
    ("out of bounds", "far from any array", "a[1L << 40] = 1;"),
    ("out of bounds", "far from any array", "*(float *)nullptr = 1;"),
    ("out of bounds", "index 4 of 'float [4]'", """float own[4];
        for (int k = 0; k <= 4; k++) own[k] = a[k];
        a[own[2] > 0] = own[3];"""),
    ("out of bounds", "index 8 of 'int [8]'", "__shared__ int s[4][8]; s[0][LANE] = 1;"),
    ("misaligned", "a, 16 bytes at byte 4, which is no multiple of 16", "float4 v = *(float4 *)(a + 1); a[0] = v.x;"),
    ("misaligned", "a, 16 bytes at byte 4, which is no multiple of 16", """__shared__ __align__(16) float s[128];
        __pipeline_memcpy_async(s + 4 * LANE, a + 1, 16, 8);"""),
    ("misaligned", "s, 16 bytes at byte 8, which is no multiple of 16", """__shared__ __align__(16) float s[128];
        __pipeline_memcpy_async(s + 2, a, 16);"""),
    ("in flight", "s[0], while an asynchronous copy to it has not been waited for", """__shared__ float s[32];
        __pipeline_memcpy_async(s + LANE, a + LANE, 4);
        __pipeline_commit();
        a[LANE + 32] = s[LANE];"""),
    ("fault", "division by zero", "a[0] = 1 / (int)(blockIdx.x - gridDim.x + 1);"),
    ("fault", "a mask that leaves out the lane itself", "__syncwarp(1);"),
    ("fault", "thread (1, 0, 0) of block (0, 0, 0) waits in line 3 for thread (0, 0, 0), which waits in line 4",
        "if (LANE) __syncwarp();\nelse __syncthreads();"),
    ("fault", "thread (0, 0, 0) waits at the barrier in line 3, but thread (5, 0, 0) has done this without",
        "if (LANE < 5) __syncthreads();\na[LANE] = 1;"),
    ("fault", "thread (0, 0, 0) waits at the barrier in line 4, but thread (5, 0, 0) at the one in line 3",
        "if (LANE >= 5) __syncthreads();\nelse __syncthreads();"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "message", "body"), WRONG)
def test_what_is_found(kind, message, body):
    report = check(body)
    assert any(f.kind == kind and message in f.what and f.kernel == "kernel" for f in report.findings), str(report)


def test_an_assertion_that_fails():
    text = "#include <cassert>\n__global__ void kernel(int n) { assert(n > 0); }"
    (finding,) = ps.check_cuda(text, "kernel", 1, 1, n=0).findings
    assert finding.what == "assert(n > 0) fails in line 2, in thread (0, 0, 0) of block (0, 0, 0)"


TWO = """
__global__ void dynamic(float *a) { extern __shared__ float s[]; s[threadIdx.x] = 1; a[threadIdx.x] = s[63]; }
__global__ void fixed(float *a)
{
    __shared__ float s[64];
    float *t = s;
    t[threadIdx.x] = a[threadIdx.x];
    __syncthreads();
    a[threadIdx.x] = t[blockDim.x - 1 - threadIdx.x];
}
__global__ void large(float *a) { __shared__ float s[640]; s[threadIdx.x] = 1; a[threadIdx.x] = s[threadIdx.x]; }
"""


def test_shared_arrays_of_one_name_in_two_kernels():
    assert ps.check_cuda(TWO, "fixed", 1, 64, a=floats(64)).is_silent
    races = ps.check_cuda(TWO, "dynamic", 1, 64, dynamic_shared_bytes=256, a=floats(64)).findings
    assert [finding.what[:5] for finding in races if finding.kind == "race"][:1] == ["s[63]"]
    assert ps.check_cuda(TWO, "large", 1, 128, a=floats(128)).is_silent


@pytest.mark.parametrize("element", [-1, 64])
def test_shared_arrays_of_another_kernel_are_out_of_bounds(element):
    body = f"{{ __shared__ float s[64]; float *t = s; t[n] = 1; a[0] = t[n + {element}]; }}\n"
    text = "".join(f"__global__ void {name}(float *a, int n) {body}" for name in ("f", "g", "h"))
    (finding,) = ps.check_cuda(text, "g", 1, 1, a=floats(1), n=0).findings
    assert finding.kind == "out of bounds" and finding.what.startswith("s")


def test_dynamic_shared_memory_that_the_launch_does_not_give():
    (finding,) = ps.check_cuda(TWO, "dynamic", 1, 64, a=floats(64)).findings
    assert (finding.kind, finding.array) == ("out of bounds", "s")
    assert finding.what == (
        "s[0], but it has 0 elements: the launch gives no dynamic shared memory; give dynamic_shared_bytes, "
        "or --dynamic-shared BYTES"
    )


def test_a_race_between_blocks_names_both():
    (finding,) = check("if (threadIdx.x == 7) a[3] = blockIdx.x;", grid=2).findings
    assert str(finding) == (
        "kernel: race between blocks: a[3], of one launch, in no order\n"
        "  thread (7, 0, 0) of block (1, 0, 0) writes in line 3: if (threadIdx.x == 7) a[3] = blockIdx.x;\n"
        "  thread (7, 0, 0) of block (0, 0, 0) writes in line 3: if (threadIdx.x == 7) a[3] = blockIdx.x;"
    )


@pytest.mark.parametrize(
    "body",
    [
        "atomicAdd(a, 1.f); atomicMax((int *)a + 1, 3);",
        "((unsigned char *)a)[threadIdx.x] = threadIdx.x;",
        "__shared__ float s[32]; s[LANE] = a[LANE]; __syncwarp(); a[LANE] = s[31 - LANE];",
        "__shared__ int s[32]; s[31 - LANE] = 2; __syncthreads(); a[LANE] = s[LANE]; __syncthreads(); s[LANE] = 1;",
        "a[threadIdx.x] += a[threadIdx.x + 32];",
        "float own[8]; for (int k = 0; k < 8; k++) own[k] = a[k + 32]; a[threadIdx.x] = own[threadIdx.x % 8];",
        "if (__syncthreads_or(a[threadIdx.x] < 0)) return; __syncthreads(); a[threadIdx.x] = 1;",
    ],
)
def test_what_is_right_is_silent(body):
    assert check(body).findings == ()


def test_functions_of_warps():
    body = """
    const int lane = threadIdx.x, all = 0xffffffff;
    int k = 0;
    a[k++ * 32 + lane] = __shfl_down_sync(all, lane, 3);
    a[k++ * 32 + lane] = __shfl_up_sync(all, lane, 3, 16);
    a[k++ * 32 + lane] = __shfl_xor_sync(all, lane, 5);
    a[k++ * 32 + lane] = __shfl_sync(all, lane, 9, 8);
    a[k++ * 32 + lane] = __popc(__ballot_sync(all, lane % 3 == 0));
    a[k++ * 32 + lane] = __any_sync(all, lane == 4) + 2 * __all_sync(all, lane == 4);
    a[k++ * 32 + lane] = __reduce_max_sync(all, lane);
    a[k++ * 32 + lane] = __syncthreads_count(lane > 3);
    if (lane < 8) a[k * 32 + lane] = __shfl_sync(0xff, lane, 7 - lane);"""
    a = np.zeros((9, 32), np.float32)
    assert check(body, a=a).findings == ()
    lane = np.arange(32)
    wanted = [
        np.where(lane + 3 < 32, lane + 3, lane), np.where(lane % 16 >= 3, lane - 3, lane), lane ^ 5, lane // 8 * 8 + 1,
        0 * lane + 11, 0 * lane + 1, 0 * lane + 31, 0 * lane + 28, np.where(lane < 8, 7 - lane, 0),
    ]  # fmt: skip
    assert (a == np.array(wanted)).all()


def test_templates_vectors_and_included_files(tmp_path):
    (tmp_path / "twice.cuh").write_text("#pragma once\n__device__ inline float twice(float x) { return 2 * x; }\n")
    path = tmp_path / "mine.cu"
    path.write_text("""\
#include <cuda_runtime.h>
#include "twice.cuh"
template <class T, int N> __global__ void scale(T *out, const float4 *in, bool on) // a comment, with (parentheses
{
    __shared__ T tile[N];
    float4 v = __ldg(&in[threadIdx.x]);
    tile[threadIdx.x] = on ? twice(v.x + v.y + v.z + v.w) : 0;
    out[threadIdx.x] = tile[threadIdx.x];
}
""")
    out = np.zeros(4)
    report = ps.check_cuda(path, "scale<double, 4>", 1, 4, out=out, **{"in": floats(4, 4)}, on=True)
    assert out.tolist() == [12, 44, 76, 108]
    assert report.is_silent
    assert [(t.line, t.size) for t in report.traffic if t.array == "in"] == [(6, 16)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"b": 1}, "kernel takes a, n; given are a, n, b"),
        ({"a": floats(3).astype(float)}, "a points to float32, but the array given is of float64"),
        ({"a": floats(6, 6)[:, ::2]}, "a must be in C order without gaps"),
        ({"a": 1.0}, "a is a pointer: give a numpy array, not float"),
        ({"n": 1.5}, "n is an integer, not 1.5"),
        ({"n": 1 << 31}, "n is 2147483648, but must be from -2147483648 to 2147483647"),
        ({"n": floats(2)}, "n is a number, not ndarray"),
    ],
)
def test_arguments_that_do_not_fit(arguments, message):
    with pytest.raises(ps.LaunchError, match=re.escape(message)):
        check("a[0] = n;", parameters="float *a, int n", **{"n": 1, **arguments})


@pytest.mark.parametrize("kind", ["float **", "float *const *", "void **"])
def test_pointers_to_pointers_are_no_arrays(kind):
    with pytest.raises(ps.LaunchError, match="a points to pointers; only kernels that take each"):
        check("*a[0] = 1;" if "float" in kind else "", parameters=f"{kind}a", a=floats(4))


def test_texts_that_cannot_be_checked():
    with pytest.raises(ps.InputError, match="the text has no kernel 'f'\nhint: it has: g"):
        ps.check_cuda("__global__ void g() {}", "f", 1, 1)
    with pytest.raises(ps.ToolchainError, match=r"kernel.cu:2: 'nothing' is not known here: .*\n  { nothing\(\); }"):
        ps.check_cuda("__global__ void g()\n{ nothing(); }", "g", 1, 1)
    with pytest.raises(ps.ToolchainError, match=r"^kernel.cu:1: lvalue required .*\n  __global__ .*\nhint: if nvcc"):
        ps.check_cuda("__global__ void g() { 1 = 2; }", "g", 1, 1)
    with pytest.raises(ps.InputError, match=r"'f' is a template, <class T, int N>\nhint: .* as in 'f<float, 16>'"):
        ps.check_cuda("template <class T, int N> __global__ void f(T *a) {}", "f", 1, 1)
    with pytest.raises(ps.LaunchError, match=r"grid is \(2, 0\), but CUDA launches one block or more"):
        ps.check_cuda("__global__ void g() {}", "g", (2, 0), 1)
    with pytest.raises(ps.LaunchError, match="grid is -1, but is one to three integers"):
        ps.check_cuda("__global__ void g() {}", "g", -1, 1)
    with pytest.raises(ps.LaunchError, match="dynamic_shared_bytes is 232449, but a block has 0 to 232448"):
        ps.check_cuda("__global__ void g() { extern __shared__ int s[]; }", "g", 1, 1, dynamic_shared_bytes=232449)
    with pytest.raises(ps.LaunchError, match="grid is \\(1, 2, 3, 4\\), but is one to three integers"):
        ps.check_cuda("__global__ void g() {}", "g", (1, 2, 3, 4), 1)


def test_arguments_of_the_command_line(tmp_path):
    np.save(tmp_path / "x.npy", floats(3))
    given = named_arguments(["a=f32[4,5]", f"x={tmp_path / 'x.npy'}", "n=3", "s=0.5"])
    assert (given["a"].shape, given["a"].dtype, given["n"], given["s"]) == ((4, 5), np.float32, 3, 0.5)
    assert given["x"].tolist() == [0, 1, 2]
    with pytest.raises(ps.InputError, match="'n' is no argument\nhint: write NAME=f32"):
        named_arguments(["n"])
