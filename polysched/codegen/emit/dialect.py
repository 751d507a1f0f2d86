"""What tells one language of the C family from another: the tables that the printer reads.

    C                                              CUDA
    static inline int64_t min_i64(...)             __host__ __device__ static inline int64_t min_i64(...)
    const double *restrict A                       const double *__restrict__ A
    #pragma omp parallel for schedule(static)      (blocks and threads)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from polysched.ir.dtypes import ALL

_INTEGERS = {name: f"{'u' if dtype.kind == 'u' else ''}int{dtype.bits}_t" for name, dtype in ALL.items()}


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """One language. `pragmas` holds the line before a loop of each kind that a loop can have in it."""

    name: str
    types: Mapping[str, str]  # by the name of the dtype
    restrict: str
    helper: str  # what a helper function's definition begins with
    external: str  # what a declaration of the user's function begins with
    pragmas: Mapping[str, str]
    signed_wraps: bool  # False: overflow of a signed integer is undefined, and has to be spelled unsigned


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
            "dynamic": "#pragma omp parallel for schedule(dynamic)",
            "vector": "#pragma omp simd",
            "unrolled": "#pragma GCC unroll 8",
        }
    ),
    signed_wraps=True,  # by -fwrapv
)

CUDA = Dialect(
    name="CUDA",
    types=MappingProxyType({**_INTEGERS, "f64": "double", "f32": "float", "f16": "__half", "bool": "bool"}),
    restrict="__restrict__",
    helper="__host__ __device__ static inline",
    external="extern __host__ __device__",
    pragmas=MappingProxyType({"serial": "", "parallel": "", "dynamic": "", "vector": "", "unrolled": "#pragma unroll"}),
    signed_wraps=False,
)
