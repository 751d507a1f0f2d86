"""What tells one language of the C family from another: the tables that the printer reads.

    C          static inline int64_t min_i64(...)                         const double *restrict A
    CUDA       __host__ __device__ static inline int64_t min_i64(...)     const double *__restrict__ A
    OpenCL     static inline long min_i64(...)                            __global const double *restrict A
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from polysched.codegen.emit.names import OPENCL_NAMES
from polysched.codegen.emit.source import ZERO_DIVISOR
from polysched.ir.dtypes import ALL

_LEAST = MappingProxyType({"i32": "INT32_MIN", "i64": "INT64_MIN"})
_SUFFIXES = MappingProxyType({"u32": "u", "u64": "ull"})
_SERIAL = dict.fromkeys(("serial", "parallel", "dynamic", "vector", "packed", "dots"), "")
_UNROLLED = MappingProxyType(_SERIAL | {"unrolled": "#pragma unroll"})
_INTEGERS = {name: f"{'u' if dtype.kind == 'u' else ''}int{dtype.bits}_t" for name, dtype in ALL.items()}


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """One language. `pragmas` holds the line before a loop of each kind that a loop can have in it."""

    name: str
    types: Mapping[str, str]  # by the name of the dtype
    passed: Mapping[str, str] = field(default_factory=dict)  # those with another one as parameters and behind pointers
    least: Mapping[str, str] = field(default_factory=lambda: _LEAST)  # the least integers: C has no literals for them
    suffixes: Mapping[str, str] = field(default_factory=lambda: _SUFFIXES)  # of literals
    float_suffix: str = "f"  # of the library's functions for f32
    pointer: str = ""  # what a pointer to an array begins with
    restrict: str
    helper: str  # what a helper function's definition begins with
    external: str  # what a declaration of the user's function begins with; "": it cannot call them
    pragmas: Mapping[str, str]
    signed_wraps: bool  # False: overflow of a signed integer is undefined, and has to be spelled unsigned
    index: str = ""  # the type of index arithmetic of kernels, which templates fix; "": that of i64
    opaque: str = ""  # a statement that hides from the compiler's optimizer how `end`, an index, came about
    hides: str = ""  # the same from its assembler
    hiding: str = ""  # what defines it
    inlined: str = ""  # what a function that kernels are made of begins with
    zero_divisor: str = ""  # a variable that tells of integers divided by zero; "": what then happens is the language's
    shuffle: str = ""  # a value of the lane of a warp that is so much further
    has_vectors: bool = False  # gcc's, and its inline assembly (dot_rows)
    hides_zeros: bool = True  # of sums from gcc (minus_zero.py); False: they are what it makes of the user's own text
    stays: str = ""  # a statement that keeps the branch or loop that it is in as it is; "": none is needed
    prefetch: str = ""  # a statement that fetches what is at {place}; "": there is none
    reserved: frozenset[str] = frozenset()  # names that it has besides those of C and CUDA


@dataclass(frozen=True, kw_only=True)
class KernelDialect(Dialect):
    """A language of kernels. `ids` spells "block.x.index", "thread.y.count" and so on."""

    kernel: str  # what a kernel's definition begins with, for blocks of {threads} = {x} * {y} * {z} threads
    shared: str  # what the declaration of an array that a block's threads share begins with
    barrier: str
    dynamic: str = ""  # a declaration of bytes that are shared, as many as a launch gives; "": it has none
    copy: str = ""  # a store of an element to a shared array that happens later; "": it has none
    arrivals: tuple[str, ...] = ()  # the lines before a barrier that wait for those
    includes: tuple[str, ...] = ()  # headers of every text
    ids: Mapping[str, str]


def _ids(spelling: str, axes: str, *functions: str) -> Mapping[str, str]:
    """The ids, each by `spelling` from the language's function for it and name for the axis."""
    kinds = ("block.{}.index", "block.{}.count", "thread.{}.index", "thread.{}.count")
    return MappingProxyType(
        {
            kind.format(axis): spelling.format(function, name)
            for kind, function in zip(kinds, functions, strict=True)
            for axis, name in zip("xyz", axes, strict=True)
        }
    )


_HIDING = """\
/* ptxas of CUDA 12.8 to 13.3 drops the minus of max(max(-a, b), c) on sm_90, which it makes one instruction of. */
#ifndef POLYSCHED_HIDDEN
#ifdef __CUDA_ARCH__
#define POLYSCHED_HIDDEN(end) \\
    if constexpr (sizeof(end) == 4) asm("cvt.s32.s64 %0, %1;" : "=r"(end) : "l"((int64_t)(end)))
#else
#define POLYSCHED_HIDDEN(end)
#endif
#endif
"""

C = Dialect(
    name="C",
    types=MappingProxyType({**_INTEGERS, "f64": "double", "f32": "float", "f16": "_Float16", "bool": "bool"}),
    restrict="restrict",
    helper="static inline",
    external="extern",
    pragmas=MappingProxyType(
        {
            "serial": "",
            "parallel": "#pragma omp parallel for schedule(static)",
            "dynamic": "#pragma omp parallel for schedule(dynamic{chunk})",
            "vector": "#pragma omp simd",
            "unrolled": "#pragma GCC unroll {count}",
        }
    ),
    signed_wraps=True,  # by -fwrapv
    zero_divisor=ZERO_DIVISOR,
    has_vectors=True,
    stays='__asm__ volatile ("");',
    prefetch="__builtin_prefetch((const void *)({place}));",
)


# C as a program of any compiler's, that starts kernels.
C99 = replace(
    C,
    pragmas=MappingProxyType({}),
    signed_wraps=False,
    zero_divisor="",
    prefetch="",
    has_vectors=False,
    reserved=OPENCL_NAMES,
)

CUDA = KernelDialect(
    name="CUDA",
    types=MappingProxyType({**_INTEGERS, "f64": "double", "f32": "float", "f16": "__half", "bool": "bool"}),
    restrict="__restrict__",
    helper="__host__ __device__ static inline",
    external="extern __host__ __device__",
    pragmas=_UNROLLED,
    signed_wraps=False,
    kernel="__global__ void __launch_bounds__({threads})",
    shared="__shared__ __align__(16)",
    barrier="__syncthreads();",
    dynamic="extern __shared__ __align__(128) char {name}[];",
    copy="__pipeline_memcpy_async(&{to}, &{element}, {size}, {missing});",
    arrivals=("__pipeline_commit();", "__pipeline_wait_prior({ahead});"),
    index="index_t",
    # Counts of iterations would be made of such maxima.
    opaque='if constexpr (sizeof(end) == 4) asm("" : "+r"(end));',
    hides="POLYSCHED_HIDDEN(end);",
    hiding=_HIDING,
    shuffle="__shfl_down_sync(0xffffffff, {value}, {distance})",
    inlined="__device__ __forceinline__",
    ids=_ids("(index_t){}.{}", "xyz", "blockIdx", "gridDim", "threadIdx", "blockDim"),
)

_SIGNED = {"i8": "char", "i16": "short", "i32": "int", "i64": "long"}
_UNSIGNED = {name.replace("i", "u"): f"u{own}" for name, own in _SIGNED.items()}
OPENCL = KernelDialect(
    name="OpenCL",
    types=MappingProxyType({**_SIGNED, **_UNSIGNED, "f64": "double", "f32": "float", "f16": "half", "bool": "bool"}),
    passed=MappingProxyType({"bool": "uchar"}),
    least=MappingProxyType({"i32": "INT_MIN", "i64": "LONG_MIN"}),
    suffixes=MappingProxyType({"u32": "u", "u64": "ul"}),
    float_suffix="",  # its functions are overloaded
    pointer="__global ",
    restrict="restrict",
    helper="static inline",
    external="",
    pragmas=_UNROLLED,
    signed_wraps=False,
    reserved=OPENCL_NAMES,
    kernel="__kernel void __attribute__((reqd_work_group_size({x}, {y}, {z})))",
    shared="__local",
    barrier="barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);",
    ids=_ids("(long){}({})", "012", "get_group_id", "get_num_groups", "get_local_id", "get_local_size"),
)
