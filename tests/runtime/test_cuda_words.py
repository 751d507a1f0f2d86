"""What CUDA's texts use of its words: each runs as CUDA has it, and a fault that is put in is found."""

from __future__ import annotations

import re

import numpy as np
import pytest

import polysched as ps


def check(text: str, grid=1, block=32, *, kernel: str = "k", **arguments) -> ps.CheckReport:
    return ps.check_cuda(text, kernel, grid, block, **arguments)


def floats(n: int) -> np.ndarray:
    return np.arange(n, dtype=np.float32)


def computed(body: str, count: int, dtype: type = np.int64, head: str = "") -> list:
    """What a thread gives out by GIVE(value)."""
    name = {np.int64: "long long", np.float64: "double", np.uint32: "unsigned"}[dtype]
    out = np.zeros(count, dtype)
    text = f"{head}\n#define GIVE(...) out[at++] = __VA_ARGS__\n__global__ void k({name} *out) {{ int at = 0; {body} }}"
    report = check(text, 1, 1, out=out)
    assert report.is_silent, str(report)
    return out.tolist()


def test_alignment_stands_wherever_nvcc_lets_it():
    text = """
    template <class T> struct alignas(4 * sizeof(T)) Four { T x[4]; };
    template <class T> __global__ void k(T *a)
    {
        __shared__ alignas(alignof(float4)) T one[3], two[4];
        extern __shared__ alignas(128) T three[];
        one[0] = two[0] = three[0] = 1;
        a[0] = (size_t)one % 16 + (size_t)two % 16 + (size_t)three % 128, a[1] = alignof(Four<T>);
    }"""
    a = floats(2)
    assert check(text, 1, 1, kernel="k<float>", dynamic_shared_bytes=4, a=a).is_silent
    assert a.tolist() == [0, 16]


def test_names_of_numbers():
    head = "#include <math_constants.h>"
    given = computed("GIVE(-INFINITY); GIVE(CUDART_PI_F); GIVE(UINT_MAX); GIVE(CUDART_LN2);", 4, np.float64, head)
    assert given == [-np.inf, np.float32(np.pi), 2**32 - 1, np.log(2)]


# --- launches


@pytest.mark.parametrize(
    ("head", "bounds", "kernel"),
    [
        ("", "__launch_bounds__(32 * 2)", "k"),
        ("", "__launch_bounds__(64, 4)", "k"),
        ("#define W 32", "__launch_bounds__(W * 2, W / 16)", "k"),
        ("constexpr int width = 1 << 6;", "__launch_bounds__((width))", "k"),
        ("#define BOUNDS __launch_bounds__(64)", "BOUNDS", "k"),
        ("template <typename T, int N, bool on = true>", "__launch_bounds__(N * sizeof(T))", "k<float, 16>"),
    ],
)
def test_launch_bounds_are_any_constant(head, bounds, kernel):
    text = f"{head}\n__global__ void {bounds} k(float *a) {{ a[threadIdx.x] = 1; }}"
    assert check(text, 1, 64, kernel=kernel, a=floats(128)).is_silent
    (finding,) = check(text, 1, 65, kernel=kernel, a=floats(128)).findings
    assert finding.what == "blocks of 65 x 1 x 1 threads, but its __launch_bounds__ allow 64"


def test_shared_memory_that_is_too_much():
    text = """
    __global__ void k(float *a) { __shared__ float s[N]; extern __shared__ float d[]; s[0] = a[0]; a[1] = s[0]; }"""
    assert check(f"#define N 12288\n{text}", 1, 1, a=floats(2)).is_silent
    (finding,) = check(f"#define N 12289\n{text}", 1, 1, a=floats(2)).findings
    assert finding.kind == "fault"
    assert "declares 49156 bytes of shared memory, but CUDA compiles at most" in finding.what
    (finding,) = check(f"#define N 12288\n{text}", 1, 1, a=floats(2), dynamic_shared_bytes=200000).findings
    assert "declares 49152 bytes of shared memory and gets 200000, but a block has 232448" in finding.what


# --- threads that return early

EARLY = """
__global__ void k(const float *a, float *b, int n)
{
    __shared__ float s[64];
    const int i = blockIdx.x * 64 + threadIdx.x;
    if (i >= n) return;
    s[threadIdx.x] = a[i];
    __syncthreads();
    b[i] = s[threadIdx.x ^ 1];
}"""
HALVED = """
__global__ void k(float *a)
{
    __shared__ float s[64];
    s[threadIdx.x] = a[threadIdx.x];
    for (int half = 32; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x >= half) return;
        s[threadIdx.x] += s[threadIdx.x + half];
    }
    a[0] = s[0];
}"""
ELECTED = """
__global__ void k(float *a)
{
    __shared__ float s[64];
    for (int r = 0; ; r++) {
        if (threadIdx.x < r || r == 8) return;
        __syncthreads();
        if (threadIdx.x == r) s[r] = 1, a[r] = s[r];
    }
}"""


def test_barriers_are_for_those_that_have_not_returned():
    b = np.zeros(100, np.float32)
    assert check(EARLY, 2, 64, a=floats(100), b=b, n=100).is_silent
    assert b.tolist() == [k ^ 1 for k in range(100)]
    a = floats(64)
    assert check(HALVED, 1, 64, a=a).is_silent
    assert a[0] == sum(range(64))
    assert check(ELECTED, 1, 64, a=floats(64)).is_silent
    for text, arguments in ((EARLY, {"a": floats(100), "b": b, "n": 100}), (HALVED, {"a": floats(64)})):
        found = check(text.replace("__syncthreads();", ""), 2 if "n" in arguments else 1, 64, **arguments).findings
        assert "race" in {finding.kind for finding in found}


def test_barriers_that_some_threads_go_around():
    for text in (EARLY, HALVED):
        skipped = text.replace("__syncthreads();", "if (threadIdx.x != 5) __syncthreads();")
        arguments = {"a": floats(64)} | ({"b": floats(64), "n": 64} if text == EARLY else {})
        report = check(skipped, 1, 64, **arguments)
        assert "fault" in {finding.kind for finding in report.findings}, str(report)


def test_shuffles_that_lanes_of_their_mask_go_around():
    text = "__global__ void k(float *a) { float v = a[threadIdx.x]; MEET; a[threadIdx.x] = v; }"
    for meet in ("v = __shfl_sync(0xffffffffu, v, 3)", "__syncwarp()", "v = __ballot_sync(0xffffffffu, v > 1)"):
        assert check(text.replace("MEET", f"if (threadIdx.x > 19) return; {meet}"), 1, 64, a=floats(64)).is_silent
        (finding,) = check(text.replace("MEET", f"if (threadIdx.x < 20) {meet}"), 1, 64, a=floats(64)).findings
        assert "waits for its warp in line 1, but thread (20, 0, 0) has done this without" in finding.what


@pytest.mark.parametrize(
    ("block", "body", "lane"),
    [
        (32, "if (threadIdx.x < 16) v += __shfl_down_sync(0xffffffffu, v, 8);", "16, which has returned"),
        (32, "if (threadIdx.x > 19) return; v += __shfl_xor_sync(0xffffffffu, v, 16);", "20, which has returned"),
        (48, "v += __shfl_down_sync(0xffffffffu, v, 8);", "16, which the block does not have"),
        (32, "if (threadIdx.x > 19) return; v = __shfl_sync(0xffffffffu, v, 3);", None),
        (32, "if (threadIdx.x < 16) v += __shfl_down_sync(0xffff, v, 8, 16);", None),
        (48, "v = __popc(__ballot_sync(0xffffffffu, v > 3)); __syncwarp();", None),
    ],
)
def test_shuffles_from_lanes_that_are_not_there(block, body, lane):
    text = f"__global__ void k(float *a) {{ float v = a[threadIdx.x]; {body} a[threadIdx.x] = v; }}"
    report = check(text, 1, block, a=floats(64))
    assert report.is_silent == (lane is None)
    assert lane is None or f"takes the value of lane {lane}" in {finding.what for finding in report.findings}


def test_what_is_between_the_fields_of_structs_depends_on_nothing():
    table = np.zeros(32, np.dtype([("key", np.int8), ("value", np.int64)], align=True))
    text = """struct P { char key; long value; };
    __global__ void k(P *table, float *a) { int i; i = threadIdx.x; a[i] = table[i].value; }"""
    assert check(text, table=table, a=floats(32)).is_silent


@pytest.mark.parametrize("kind", ["float4", "half2", "Own"])
def test_shared_arrays_of_classes(kind):
    text = f"""#include <cuda_fp16.h>
    struct Own {{ float x; Own() = default; __device__ Own(float x) : x(x) {{}} }};
    __global__ void k(float *a) {{
        __shared__ {kind} s[32];
        s[threadIdx.x].x = a[threadIdx.x];
        __syncthreads();
        a[threadIdx.x] = s[31 - threadIdx.x].x; }}"""
    a = floats(32)
    assert check(text, a=a).is_silent and a[1] == 30
    found = check(text.replace("__syncthreads();", ""), a=floats(32)).findings
    assert {finding.array for finding in found} == {"s"}


def test_results_that_depend_on_lanes_that_a_mask_does_not_name():
    text = """__global__ void k(float *a) {
        float v = a[threadIdx.x];
        if (threadIdx.x < 8)
            for (int by = 4; by; by /= 2)
                v += __shfl_down_sync(0xffu, v, by);
        if (threadIdx.x < SUMS) a[threadIdx.x] = v; }"""
    a = floats(32)
    assert check(text.replace("SUMS", "1"), a=a).is_silent and a[0] == 28
    (finding,) = check(text.replace("SUMS", "2"), a=floats(32)).findings
    taken = "what a shuffle takes from lane 8, which its mask does not name"
    assert (finding.kind, finding.what, finding.places[0].line) == ("uninitialized", f"a depends on {taken}", 5)


# --- values that are none


@pytest.mark.parametrize(
    ("body", "declared"),
    [
        ("float s; for (int i = 0; i < 4; i++) s += a[i]; a[LANE + 4] = s;", "float s; in line 1"),
        ("float s[4]; for (int i = 0; i < 4; i++) s[i] += a[i]; a[LANE + 4] = s[LANE & 3];", "float s[4]; in line 1"),
        ("float s[4]; for (int i = 0; i < 3; i++) s[i] = a[i]; a[LANE + 4] = s[LANE & 3];", "float s[4]; in line 1"),
        ("int n, m = 1;\nint j; if (LANE < 99) j = 3; a[LANE + 4] = j;", None),
        ("float s; if (LANE < 7) s = 1; if (LANE < 7) a[LANE + 4] = s;", None),
        ("struct P { float x, y; };\nP p; p.x = 1; a[LANE + 4] = p.x + p.y;", "P p; in line 2"),
    ],
)
def test_local_variables_without_a_value(body, declared):
    a = floats(64)
    report = check(f"__global__ void k(float *a) {{ {body.replace('LANE', 'threadIdx.x')} }}", a=a)
    whats = [finding.what for finding in report.findings if finding.kind == "uninitialized"]
    assert len(report.findings) == len(whats) == bool(declared)
    if declared:
        assert whats[0].startswith("a depends on a local variable that has no value: ") and declared in whats[0]


def test_device_variables_are_as_before_when_a_kernel_runs_twice():
    a = floats(32)
    text = "__device__ int count;\n__global__ void k(float *a) { int j; j = atomicAdd(&count, 1); a[threadIdx.x] = j; }"
    assert check(text, a=a).is_silent
    assert a.tolist() == list(range(32))


@pytest.mark.parametrize(
    ("value", "what"),
    [
        ("n * n", "60000 * 60000 does not fit into 32 bits"),
        ("n + 2147483647", "60000 + 2147483647 does not fit into 32 bits"),
        ("-(n - 60001 - 2147483647)", "- -2147483648 does not fit into 32 bits"),
        ("(unsigned)n * n", None),
        ("atomicAdd(&big, n)", None),
        ("__mul24(n, n)", None),
    ],
)
def test_integers_that_overflow(value, what):
    text = f"__device__ int big = 2147483647;\n__global__ void k(int *a, int n) {{ a[0] = ({value}) & 63; }}"
    report = check(text, 1, 1, a=np.zeros(1, np.int32), n=60000)
    assert [what in finding.what for finding in report.findings] == [True] * bool(what)


# --- what orders blocks

LAST = """
__device__ unsigned count;
__device__ float sums[8];
__global__ void k(const float *a, float *out)
{
    __shared__ float s[32];
    __shared__ bool is_last;
    s[threadIdx.x] = a[blockIdx.x * 32 + threadIdx.x];
    for (int half = 16; half; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) s[threadIdx.x] += s[threadIdx.x + half];
    }
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = s[0];
        __threadfence();
        is_last = atomicInc(&count, gridDim.x - 1) == gridDim.x - 1;
    }
    /* told */ __syncthreads();
    if (is_last && threadIdx.x == 0) count = 0;
    if (is_last && threadIdx.x < gridDim.x) {
        s[threadIdx.x] = sums[threadIdx.x];
        __syncwarp((1 << gridDim.x) - 1);
        if (threadIdx.x == 0)
            for (int b = 0; b < gridDim.x; b++) *out += s[b];
    }
}"""
SCATTERED = """
__device__ unsigned count;
__global__ void k(float *a, float *out)
{
    __shared__ bool is_last;
    a[blockIdx.x * 32 + threadIdx.x] += 1;
    __threadfence();
    /* all */ __syncthreads();
    if (threadIdx.x == 0) is_last = atomicAdd(&count, 1) == gridDim.x - 1;
    __syncthreads();
    if (is_last) out[threadIdx.x] = a[threadIdx.x] + a[96 + threadIdx.x];
}"""


def test_the_last_block_reads_what_the_others_have_published():
    a, out = floats(128), np.zeros(1, np.float32)
    assert check(LAST, 4, a=a, out=out).is_silent
    assert out[0] == a.sum()
    early = LAST.replace("__shared__ float", "if (threadIdx.x == 4 && blockIdx.x) count = 0; __shared__ float")
    assert "race between blocks" in {f.kind for f in check(early, 4, a=a, out=out).findings}
    assert check(SCATTERED, 4, a=a, out=floats(32)).is_silent


@pytest.mark.parametrize(
    ("text", "missing", "kind"),
    [
        (LAST, "__threadfence();", "race between blocks"),
        (LAST, "/* told */ __syncthreads();", "race"),
        (LAST, "__syncwarp((1 << gridDim.x) - 1);", "race"),
        (SCATTERED, "__threadfence();", "race between blocks"),
        (SCATTERED, "/* all */ __syncthreads();", "race between blocks"),
    ],
)
def test_what_a_last_block_needs(text, missing, kind):
    out = floats(32 if text == SCATTERED else 1)
    report = check(text.replace(missing, ""), 4, a=floats(128), out=out)
    assert kind in {finding.kind for finding in report.findings}, str(report)


def test_an_atomic_operation_before_the_fence_publishes_nothing():
    late = LAST.replace("__threadfence();", "")
    late = late.replace("gridDim.x - 1;\n    }", "gridDim.x - 1; __threadfence();\n    }")
    assert "race between blocks" in {f.kind for f in check(late, 4, a=floats(128), out=floats(1)).findings}


def test_threads_may_write_the_same_by_one_instruction():
    text = "__global__ void k(int *f, int n) { if (n) *f = 1; }"
    assert check(text, 2, f=np.zeros(1, np.int32), n=1).is_silent
    other = text.replace("= 1", "= threadIdx.x / 31")
    assert [f.kind for f in check(other, f=np.zeros(1, np.int32), n=1).findings] == ["race"]
    two = "__global__ void k(int *f) { if (threadIdx.x) *f = 1; else f[0] = 1; }"
    assert [f.kind for f in check(two, f=np.zeros(1, np.int32)).findings] == ["race"]


# --- cooperative groups

GROUPS = """
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
template <typename T> struct SharedMemory {
    __device__ inline operator T *() { extern __shared__ int __smem[]; return (T *)__smem; }
};
__device__ float total(cg::thread_group group, float *s, float value)
{
    for (int half = group.size() / 2; half > 0; half /= 2) {
        s[group.thread_rank()] = value;
        group.sync();
        if (group.thread_rank() < half) value += s[group.thread_rank() + half];
        group.sync();
    }
    return value;
}
"""
REDUCED = f"""{GROUPS}
template <typename T, unsigned blockSize, bool is_even> __global__ void k(const T *a, T *out, int n)
{{
    T *s = SharedMemory<T>();
    cg::thread_block cta = cg::this_thread_block();
    cg::thread_block_tile<32> tile = cg::tiled_partition<32>(cta);
    T sum = is_even || cta.thread_rank() < n ? a[cta.group_index().x * blockSize + cta.thread_rank()] : 0;
    sum = cg::reduce(tile, sum, cg::plus<T>());
    if (tile.thread_rank() == 0) s[tile.meta_group_rank()] = sum;
    cg::sync(cta);
    if (tile.meta_group_rank() == 0) {{
        sum = tile.thread_rank() < tile.meta_group_size() ? s[tile.thread_rank()] : 0;
        for (int by = tile.size() / 2; by > 0; by /= 2) sum += tile.shfl_down(sum, by);
        if (tile.thread_rank() == 0) out[cta.group_index().x] = sum;
    }}
}}"""


def test_blocks_and_tiles():
    a, out = floats(256), np.zeros(2, np.float32)
    run = {"kernel": "k<float, 128, true>", "dynamic_shared_bytes": 16, "a": a, "out": out, "n": 128}
    assert check(REDUCED, 2, 128, **run).is_silent
    assert out.tolist() == [a[:128].sum(), a[128:].sum()]
    found = check(REDUCED.replace("cg::sync(cta);", ""), 2, 128, **run).findings
    assert {finding.kind for finding in found} >= {"race"}


def test_groups_that_are_known_when_they_run():
    text = f"""{GROUPS}
    __global__ void k(const float *a, float *out)
    {{
        __shared__ float s[64];
        cg::thread_block block = cg::this_thread_block();
        const float all = total(block, s, a[block.thread_rank()]);
        cg::thread_block_tile<16> tile = cg::tiled_partition<16>(block);
        block.sync();
        const float part = total(tile, s + block.thread_rank() / 16 * 16, a[block.thread_rank()]);
        if (block.thread_rank() == 0) out[0] = all;
        if (tile.thread_rank() == 0) out[1 + block.thread_rank() / 16] = part;
    }}"""
    a, out = floats(64), np.zeros(5, np.float32)
    assert check(text, 1, 64, a=a, out=out).is_silent
    assert out.tolist() == [a.sum(), *a.reshape(4, 16).sum(1)]
    mutants = [text[: it.start()] + text[it.end() :] for it in re.finditer(r"group\.sync\(\);", text)]
    for mutant in mutants:
        assert "race" in {finding.kind for finding in check(mutant, 1, 64, a=a, out=out).findings}


def test_tiles_of_several_warps():
    text = f"""{GROUPS}
    __global__ void k(const float *a, float *out)
    {{
        __shared__ float s[256];
        __shared__ cg::block_tile_memory<256> scratch;
        auto tile = cg::tiled_partition<64>(cg::this_thread_block(scratch));
        const int t = threadIdx.x;
        s[t] = a[t];
        tile.sync();
        const float other = s[t ^ 32];
        cg::sync(tile);
        s[t] = 0;
        const float sum = cg::reduce(tile, other, cg::plus<float>());
        if (tile.thread_rank() == 0) out[tile.meta_group_rank()] = sum * tile.meta_group_size();
    }}"""
    a, out = floats(256), np.zeros(4, np.float32)
    assert check(text, 1, 256, a=a, out=out).is_silent
    assert out.tolist() == (4 * a.reshape(4, 64).sum(1)).tolist()
    mutants = [text.replace("tile.sync();", ""), text.replace("cg::sync(tile);", ""), text.replace("t ^ 32", "t ^ 64")]
    for mutant in mutants:
        assert "race" in {finding.kind for finding in check(mutant, 1, 256, a=a, out=out).findings}


@pytest.mark.parametrize("size", [32, 64])
def test_sums_are_the_same_in_all_lanes(size):
    text = """#include <cooperative_groups/reduce.h>
    namespace cg = cooperative_groups;
    __global__ void k(const float *a, float *sums) {
        const auto tile = cg::tiled_partition<SIZE>(cg::this_thread_block());
        const float sum = cg::reduce(tile, a[threadIdx.x], cg::plus<float>());
        sums[tile.meta_group_rank()] = sum;
    }"""
    a = np.random.default_rng(0).uniform(size=128).astype(np.float32)
    assert check(text.replace("SIZE", str(size)), 1, 128, a=a, sums=floats(128 // size)).is_silent


def test_lanes_that_are_there():
    text = f"""{GROUPS}
    __global__ void k(int *out)
    {{
        const int t = threadIdx.x;
        if (t % 3 == 0) {{
            cg::coalesced_group some = cg::coalesced_threads();
            out[t] = some.size() * 100 + some.thread_rank() + 10000 * some.shfl(t, 2);
            if (t > 14) out[t] += 1000000 * __popc(__activemask());
        }}
        auto four = cg::tiled_partition<4>(cg::tiled_partition<8>(cg::this_thread_block()));
        const int odd = cg::binary_partition(cg::coalesced_threads(), t % 2).size();
        out[32 + t] = four.shfl_xor(t, 3) + 100 * four.ballot(t % 2) + 10000 * four.any(t == 5)
            + 100000 * four.all(t < 6) + 1000000 * four.meta_group_rank() + odd;
        out[64 + t] = cg::inclusive_scan(four, t, cg::plus<int>()) + 1000 * cg::exclusive_scan(four, t)
            + 1000000 * cg::reduce(four, t, cg::greater<int>());
    }}"""
    out, t = np.zeros(96, np.int32), np.arange(32)
    assert check(text, out=out).is_silent
    some = 1100 + t // 3 + 60000 + np.where(t > 14, 6000000, 0)
    assert out[:32].tolist() == np.where(t % 3 == 0, some, 0).tolist()
    tile = (t ^ 3) + 1000 + 10000 * (t // 4 == 1) + 100000 * (t // 4 == 0) + 1000000 * (t // 4 % 2) + 16
    assert out[32:64].tolist() == tile.tolist()
    first = t // 4 * 4
    before = np.array([sum(range(f, k)) for f, k in zip(first, t, strict=True)])
    assert out[64:].tolist() == (before + t + 1000 * before + 1000000 * (first + 3)).tolist()


GRID = f"""{GROUPS}
__global__ void k(float *a, float *out)
{{
    __shared__ float s[32];
    const int i = blockIdx.x * 32 + threadIdx.x, next = (blockIdx.x + 1) % gridDim.x * 32 + threadIdx.x;
    s[threadIdx.x] = a[i];
    a[i] += 1;
    cg::grid_group grid = cg::this_grid();
    grid.sync();
    out[i] = a[next] + s[31 - threadIdx.x];
    grid.sync(); // second
    a[i] = out[next] + grid.size();
}}"""


def test_grids_that_wait():
    a, out = floats(128), np.zeros(128, np.float32)
    assert check(GRID, 4, a=a, out=out).is_silent
    i = np.arange(128)
    assert out.tolist() == ((i + 32) % 128 + 1 + i // 32 * 32 + 31 - i % 32).tolist()
    assert a.tolist() == (out[(i + 32) % 128] + 128).tolist()
    for missing, kind in (("grid.sync();\n", "race between blocks"), ("grid.sync(); // second", "race between blocks")):
        assert kind in {finding.kind for finding in check(GRID.replace(missing, ""), 4, a=a, out=out).findings}
    finding = check(GRID.replace("grid.sync();\n", "if (blockIdx.x) grid.sync();\n"), 4, a=a, out=out).findings[-1]
    assert finding.kind == "fault" and "waits for the grid in line" in finding.what


# --- functions


def test_bits():
    assert computed("""
        GIVE(__brev(1) == 0x80000000u); GIVE(__brevll(2) == 1ull << 62); GIVE(__clz(0) * 100 + __clz(1));
        GIVE(__popcll(~0ull)); GIVE(__ffs(8)); GIVE(__ffsll(0));
        GIVE(__byte_perm(0x33221100, 0x77665544, 0x7531) == 0x77553311);
        GIVE(__byte_perm(0x80, 0, 0x8880) == 0xffffff80); GIVE(__funnelshift_l(0x80000000u, 1, 1));
        GIVE(__funnelshift_r(0, 1, 31));
        GIVE(__funnelshift_lc(7, 1, 40)); GIVE(__fns(0xaau, 0, 2)); GIVE(__mulhi(1 << 30, 8));
        GIVE(__umul24(0x1000002, 3));
        GIVE(__mul24(-3, 5)); GIVE(__sad(-3, 4, 1)); GIVE(__dp4a(0x01020304, 0x01010101, 5));
        GIVE(__hadd(7, 8)); GIVE(__rhadd(7, 8));
        GIVE(__float2int_rn(2.5f)); GIVE(__float2int_ru(2.1f)); GIVE(__float2int_rz(1e20f));
        GIVE(__float2uint_rd(-1.f));
        GIVE(__double2hiint(1.0) >> 20); GIVE(__double2ll_rn(0.5)); GIVE(min(3u, 2u) + max(1, 2) + umin(7, 3));
    """, 26) == [
        1, 1, 3231, 64, 4, 0, 1, 1, 3, 2, 7, 3, 2, 6, -15, 8, 15, 7, 8, 2, 3, 2147483647, 0, 1023, 0, 7,
    ]  # fmt: skip


def test_functions_of_floats():
    third = np.float32(1) / np.float32(3)
    down, up = (third, np.nextafter(third, np.float32(1)))
    down = np.nextafter(third, np.float32(0)) if float(third) > 1 / 3 else down
    up = third if float(third) > 1 / 3 else up
    given = computed("""
        float one = 1, three = 3; GIVE(__fdiv_rd(one, three)); GIVE(__fdiv_ru(one, three)); GIVE(__fdiv_rn(one, three));
        GIVE(__fadd_rz(one, -1e-10f) < 1); GIVE(__fmaf_ru(one, one, 1e-10f) > 1);
        GIVE(__fsqrt_rd(2.f) < __fsqrt_ru(2.f));
        GIVE(__dmul_ru(0.1, 0.1) > __dmul_rd(0.1, 0.1)); GIVE(__int2float_rz(16777217));
        GIVE(__uint2float_ru(16777217u));
        GIVE(__expf(0.f) + __sinf(0.f) + __cosf(0.f) + __powf(2.f, 3.f) + __fdividef(1.f, 4.f));
        GIVE(__saturatef(1.5f) + __saturatef(-1.f));
        GIVE(rsqrtf(4.f) + rsqrt(16.)); float s, c; __sincosf(0.f, &s, &c); GIVE(s + c);
        GIVE(norm3df(2, 3, 6)); GIVE(sinpif(0.5f) + cospi(1.0));
        GIVE(__frsqrt_rn(4.f) + __frcp_rn(4.f)); GIVE(normcdf(0.) + rcbrtf(8.f)); GIVE(__double2float_rd(0.1) <= 0.1);
        GIVE(__hiloint2double(1072693248, 0)); GIVE(fmaxf(1, 2) + sqrtf(4.f) + fabsf(-1.f) + isnan(0.f));
    """, 20, np.float64)  # fmt: skip
    assert given == [
        float(down), float(up), float(third), 1, 1, 1, 1, 16777216, 16777218, 10.25, 1, 0.75, 1, 7, 0, 0.75, 1, 1, 1, 5,
    ]  # fmt: skip


def test_halves_and_bfloat16():
    head = "#include <cuda_fp16.h>\n#include <cuda_bf16.h>"
    assert computed("""
        __half2 a = __floats2half2_rn(1.f, 2.f), b = __half2half2(__float2half(3.f)); half2 c = __hfma2(a, b, a);
        GIVE(__low2float(c)); GIVE(__high2float(__hadd2(c, c))); GIVE(__half2float(__hmul(__low2half(a), a.y)));
        GIVE(__hgt(a.x, a.y)); GIVE(__hbeq2(a, a)); GIVE(__half2float(hsqrt(__float2half(4.f))));
        GIVE((float)(half)2049.f);
        GIVE(__half_as_ushort(__float2half(1.f))); float2 f = __half22float2(a * b); GIVE(f.x + f.y);
        GIVE((float)__hmax(a.x, a.y));
        __nv_bfloat16 x = __float2bfloat16(1.00390625f), y = 3.f; GIVE(__bfloat162float(x));
        GIVE(__bfloat162float(x * y));
        __nv_bfloat162 z = __floats2bfloat162_rn(1.f, 2.f); z = __hadd2(z, __bfloat162bfloat162(y));
        GIVE(__low2float(z) * 10 + __high2float(z));
        GIVE(__bfloat16_as_ushort(y)); GIVE((float)(__nv_bfloat16)1.01171875f);
    """, 15, np.float64, head) == [4, 16, 2, 0, 1, 2, 2048, 15360, 9, 2, 1, 3, 45, 16448, 1.015625]  # fmt: skip


def test_halves_in_memory():
    text = """#include <cuda_fp16.h>
    __global__ void k(__half2 *a, __half *sum) {
        a[threadIdx.x] = __hadd2(a[threadIdx.x], a[threadIdx.x]);
        atomicAdd(sum, a[threadIdx.x].x);
    }"""
    a, total = np.ones(64, np.float16), np.zeros(1, np.float16)
    report = check(text, a=a, sum=total)
    assert report.is_silent and a.tolist() == [2] * 64 and total[0] == 64
    assert {(it.does, it.size) for it in report.traffic if it.array == "a"} == {("reads", 4), ("writes", 4)}


def test_warps():
    text = """
    __global__ void k(unsigned *out)
    {
        const unsigned t = threadIdx.x, all = 0xffffffff;
        int same, other;
        out[t] = __match_any_sync(all, t / 8);
        out[32 + t] = __match_all_sync(all, 3, &same) == all && same
            && !__match_all_sync(all, t / 31, &other) && !other;
        out[64 + t] = __reduce_add_sync(all, t) + 1000 * __reduce_min_sync(all, t + 1)
            + 10000 * __reduce_max_sync(all, t);
        out[96 + t] = __reduce_and_sync(all, t | 64) + 1000 * __reduce_or_sync(all, t)
            + 100000 * __reduce_xor_sync(all, t);
        out[128 + t] = __shfl_down_sync(all, (float)t, 1); out[128 + t] += __shfl_sync(all, 1ull << t, 2, 4);
    }"""
    out, t = np.zeros(160, np.uint32), np.arange(32, dtype=np.uint64)
    assert check(text, out=out).is_silent
    assert out[:32].tolist() == (255 << t // 8 * 8).tolist()
    assert out[32:128].tolist() == [1] * 32 + [496 + 1000 + 310000] * 32 + [64 + 31000] * 32
    assert out[128:].tolist() == (np.minimum(t + 1, 31) + (1 << t // 4 * 4 + 2)).tolist()


def test_atomics():
    assert computed("""
        int i = 5; unsigned u = 5; float f = 1; double d = 1; unsigned long long l = 7;
        GIVE(atomicAdd(&i, 2) * 10 + i); GIVE(atomicSub(&i, 3)); GIVE(i); atomicMin_block(&i, 2); GIVE(i);
        atomicMax_system(&i, 9); GIVE(i);
        GIVE(atomicExch(&f, 2.5f) + f); atomicAdd(&d, 0.5); GIVE(d); GIVE(atomicCAS(&l, 7, 8) + l);
        atomicInc(&u, 5); GIVE(u); atomicDec(&u, 3); GIVE(u);
        atomicAnd(&u, 6u); atomicOr(&u, 8u); atomicXor(&u, 1u); GIVE(u); atomicAdd(&l, 1); GIVE(l);
        int c = atomicCAS(&i, 3, 4); GIVE(c * 10 + i);
    """, 13, np.float64) == [57, 7, 4, 2, 9, 3.5, 1.5, 15, 0, 3, 11, 9, 99]  # fmt: skip


def test_vectors_constants_and_struct_arguments_in_memory():
    text = """
    __constant__ float table[4] = {1, 2, 3, 4};
    __device__ int4 pixel = {1, 2, 3, 4};
    struct Pair { float3 a; uchar4 b; };
    __global__ void k(Pair *p, float *__restrict__ out)
    {
        const uchar4 b = make_uchar4(threadIdx.x, 2, 3, 4);
        const double2 d = make_double2(0.5, 1.5);
        #pragma unroll 2
        for (int k = 0; k < 2; k++) out[threadIdx.x] = table[threadIdx.x & 3] + pixel.w + d.x + d.y + b.x
            + make_ulonglong4(1, 2, 3, 4).w;
        p[threadIdx.x].b = b, p[threadIdx.x].a = make_float3(1, 2, 3);
    }"""
    p, out = np.zeros(32 * 16, np.uint8), np.zeros(32, np.float32)
    assert check(text, p=p, out=out).is_silent
    assert out.tolist() == [k % 4 + 1 + 4 + 2 + k + 4 for k in range(32)]
    assert p.reshape(32, 16)[5, 12:].tolist() == [5, 2, 3, 4] and p[:12].view(np.float32).tolist() == [1, 2, 3]


def test_time_and_ends(capfd):
    text = """__global__ void k(int *a, int n)
    {
        const long long begin = clock64(); const clock_t then = clock();
        __nanosleep(100);
        assert(n > 0);
        if (threadIdx.x == 3) printf("%d\\n", n);
        a[threadIdx.x] = clock64() > begin && clock() > then;
        if (n > 7 && threadIdx.x == 9) __trap();
    }"""
    a = np.zeros(32, np.int32)
    assert check(f"#include <time.h>\n{text}", a=a, n=7).is_silent and a.all()
    assert check(text, a=a, n=8).findings[0].what.startswith("__trap(), in thread (9, 0, 0)")
    assert check(text, a=a, n=0).findings[0].what.startswith("assert(n > 0) fails in line 5")


# --- PTX


def test_inline_ptx():
    body = r"""
        unsigned x = 0x12345678, r; int s = -16, q; float f = 2.5f, g; unsigned long long w, addr;
        asm("mov.u32 %0, %%laneid;" : "=r"(r)); GIVE(r);
        asm volatile("bfe.u32 %0, %1, 8, 12;" : "=r"(r) : "r"(x)); GIVE(r == 0x456);
        asm("bfe.s32 %0, %1, 0, 5;" : "=r"(q) : "r"(s)); GIVE(q);
        asm("bfi.b32 %0, %1, %2, 4, 8;" : "=r"(r) : "r"(0xff), "r"(0)); GIVE(r);
        asm("bfind.u32 %0, %1;" : "=r"(r) : "r"(x)); GIVE(r);
        asm("lop3.b32 %0, %1, %2, %3, 0x96;" : "=r"(r) : "r"(1), "r"(3), "r"(7)); GIVE(r);
        asm("prmt.b32 %0, %1, %2, 0x0123;" : "=r"(r) : "r"(x), "r"(0)); GIVE(r == 0x78563412);
        asm("shf.l.wrap.b32 %0, %1, %1, 8;" : "=r"(r) : "r"(x)); GIVE(r == 0x34567812);
        asm("{\n\t.reg .pred p;\n\tsetp.lt.s32 p, %1, 0;\n\tselp.s32 %0, 1, 2, p;\n\t"
            "@!p mov.s32 %0, 9;\n}" : "=r"(q) : "r"(s)); GIVE(q);
        asm("mad.lo.s32 %0, %1, %2, 7;" : "=r"(q) : "r"(s), "r"(3)); GIVE(q);
        asm("mul.wide.u32 %0, %1, %1;" : "=l"(w) : "r"(x)); GIVE(w == (unsigned long long)x * x);
        asm("cvt.rni.s32.f32 %0, %1;" : "=r"(q) : "f"(f)); GIVE(q);
        asm("fma.rn.f32 %0, %1, %1, 0f3f800000;" : "=f"(g) : "f"(f)); GIVE(g * 100);
        asm("cvta.to.global.u64 %0, %1;" : "=l"(addr) : "l"(out)); GIVE(addr == (unsigned long long)out);
        asm volatile("st.global.cg.s64 [%0 + 120], %1;" :: "l"(out) "l"(77ll) : "memory"); at = 16;
        asm volatile("membar.gl;" ::: "memory");
        asm volatile("ld.global.ca.u64 %0, [%1];" : "=l"(w) : "l"(out + 15)); GIVE(w);
        asm("add.u32 %0, %0, 1;" : "+r"(x)); GIVE(x == 0x12345679); // asm("unknown");
    """
    assert computed(body, 18) == [0, 1, -16, 4080, 28, 5, 1, 1, 1, -41, 1, 2, 725, 1, 0, 77, 77, 1]


def test_what_ptx_is_unknown():
    text = '__global__ void k(float *a)\n{\nasm volatile("cp.async.cg.shared.global [%0], [%1], 8;"::"r"(0), "l"(a));}'
    with pytest.raises(ps.InputError, match=r"kernel.cu:3: the PTX instruction 'cp.async.cg.shared.global' is not "):
        check(text, a=floats(1))
    with pytest.raises(ps.InputError, match="the PTX register '%envreg3' is not known"):
        check('__global__ void k(float *a) { int x; asm("mov.u32 %0, %%envreg3;" : "=r"(x)); a[0] = x; }', a=floats(1))


def test_atomics_of_a_block_are_not_for_others():
    text = "__global__ void k(int *a) { atomicAdd_block(&a[blockIdx.x / 2], 1); }"
    assert check(text.replace("/ 2", ""), 2, a=np.zeros(2, np.int32)).is_silent
    (finding,) = check(text, 2, a=np.zeros(2, np.int32)).findings
    assert finding.kind == "race between blocks" and finding.places[0].does == "updates atomically"


def test_fences_of_ptx_publish():
    text = LAST.replace("__threadfence();", 'asm volatile("membar.gl;" ::: "memory");')
    assert check(text, 4, a=floats(128), out=floats(1)).is_silent


# --- loads that are guesses

GUESSED = """
__device__ double add(double *at, double value)
{
    unsigned long long *bits = (unsigned long long *)at, old = *bits, assumed;
    do {
        assumed = old;
        old = atomicCAS(bits, assumed, __double_as_longlong(value + __longlong_as_double(assumed)));
    } while (assumed != old);
    return __longlong_as_double(old);
}
__global__ void k(double *sums, double *read)
{
    __shared__ double sum;
    if (threadIdx.x == 0)
        sum = 0;
    __syncthreads();
    READ
    add(&sum, 1);
    add(&sums[threadIdx.x % 2], threadIdx.x);
    __syncthreads();
    if (threadIdx.x == 0)
        add(&sums[2], sum);
}"""


def test_what_an_atomic_operation_compares_may_be_guessed_by_a_load():
    sums = np.zeros(3)
    assert check(GUESSED.replace("READ", ""), 3, 64, sums=sums, read=np.zeros(64)).is_silent
    assert sums.tolist() == [3 * 992, 3 * 1024, 3 * 64]


@pytest.mark.parametrize(
    ("one", "other", "kind"),
    [
        ("READ", "read[threadIdx.x] = sum;", "race"),  # no guess of anything
        ("READ", "read[threadIdx.x] = sums[0];", "race between blocks"),
        ("old = *bits, assumed;", "old = *bits + 1, assumed;", "race"),  # which is not what is compared
        ("old = *bits, assumed;", "old = *bits, assumed; if (value == 5) return 0;", "race between blocks"),
    ],
)
def test_loads_that_are_no_guesses(one, other, kind):
    text = GUESSED.replace(one, other).replace("READ", "")
    report = check(text, 2, 64, sums=np.zeros(3), read=np.zeros(64))
    assert kind in {finding.kind for finding in report.findings}
