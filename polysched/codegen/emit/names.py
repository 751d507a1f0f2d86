"""Names that C, C++ and CUDA all accept, and OpenCL's: what clashes with them is spelled anew.

    double, y0, x'   ->   double_, y0_, x_
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

# Functions of the C library that a Call may name: by these names for f64, with an f appended for f32.
_MATH = """
    acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs fdim floor fma
    fmax fmin fmod hypot lgamma log log10 log1p log2 pow rint round sin sinh sqrt tan tanh tgamma trunc
"""
MATH = frozenset(_MATH.split())

_KEYWORDS = """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class co_await
    co_return co_yield compl concept const const_cast consteval constexpr constinit continue decltype default delete do
    double dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable
    namespace new noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast
    requires restrict return short signed sizeof static static_assert static_cast struct switch template this
    thread_local throw true try typedef typeid typename typeof union unsigned using virtual void volatile wchar_t while
    xor xor_eq
"""

# What the headers that our text includes define besides: types, macros (gnu11 has `linux` and `unix`), functions.
_LIBRARY = """
    NULL INFINITY NAN HUGE_VAL HUGE_VALF EOF linux unix i386 errno stdin stdout stderr main
    size_t ssize_t ptrdiff_t div_t ldiv_t lldiv_t float_t double_t int8_t int16_t int32_t int64_t uint8_t uint16_t
    uint32_t uint64_t intptr_t uintptr_t intmax_t uintmax_t half half2 uint uint3 uchar ushort ulong dim3 std
    abort abs labs llabs div ldiv lldiv exit atexit atof atoi atol atoll malloc calloc realloc free aligned_alloc alloca
    bsearch qsort rand srand random srandom system getenv setenv putenv unsetenv select signgam memcpy memset memcmp
    perror printf
    j0 j1 jn y0 y1 yn gamma drem scalb scalbn scalbln significand finite isinf isnan isfinite isnormal signbit
    fpclassify isgreater isless isunordered frexp ldexp modf ilogb logb nearbyint nextafter nexttoward nan remainder
    remquo lrint llrint lround llround exp10 pow10 sincos roundeven
    sinpi cospi sincospi tanpi rsqrt rcbrt rhypot norm norm3d norm4d rnorm normcdf normcdfinv erfcx erfinv erfcinv
    cyl_bessel_i0 cyl_bessel_i1 min max umin umax ullmin ullmax llmin llmax clock warpSize threadIdx blockIdx blockDim
    gridDim read_element grid_of index_t fit_32_bits reciprocal
"""

# What OpenCL C has besides, and the functions that our host code for it defines.
_OPENCL = """
    kernel global local constant private read_only write_only read_write bool char uchar short ushort int uint long
    ulong float double half event_t sampler_t image1d_t image1d_buffer_t image1d_array_t image2d_t image2d_array_t
    image3d_t barrier mem_fence read_mem_fence write_mem_fence prefetch async_work_group_copy
    async_work_group_strided_copy wait_group_events shuffle shuffle2 select bitselect any all
    acospi asinpi atanpi atan2pi fract mad maxmag minmag powr pown rootn lgamma_r nan clamp degrees radians mix step
    smoothstep sign cross dot distance length normalize fast_distance fast_length fast_normalize
    abs_diff add_sat sub_sat hadd rhadd clz mad_hi mad_sat mul_hi mul24 mad24 rotate upsample popcount vec_step printf
    isequal isnotequal isgreaterequal islessequal islessgreater isordered isunordered dim3 grid_of block_of
"""
_SCALARS = ("char", "short", "int", "long", "float", "double", "half")
_VECTORS = (f"{own}{k}" for own in _SCALARS for k in (2, 3, 4, 8, 16))
OPENCL_NAMES = frozenset(_OPENCL.split()) | frozenset(name for own in _VECTORS for name in (own, f"u{own}"))

RESERVED = frozenset(_KEYWORDS.split()) | frozenset(_LIBRARY.split()) | MATH | frozenset(name + "f" for name in MATH)

# Beginnings that the language, its headers or our own macros own, beside what cannot begin a name.
_OWNED = re.compile(r"[0-9]|_[A-Z_]|polysched_|POLYSCHED_|cuda|cl_|cl[A-Z]|CL[A-Z_]|u?int_?[a-z]*\d|U?INT\w*\d|M_|FP_")


class Names:
    """Spells each name of the IR as an identifier, always the same way, and no two alike."""

    def __init__(self, reserved: Iterable[str]):
        self._taken = set(reserved)
        self._spelling: dict[str, str] = {}

    def keep(self, spelling: Mapping[str, str]) -> None:
        """These names are spelled so, though that is no identifier."""
        self._spelling.update(spelling)

    def __call__(self, name: str) -> str:
        """The identifier for a name of the IR: the name itself where that is possible."""
        if name not in self._spelling:
            self._spelling[name] = self.fresh(name)
        return self._spelling[name]

    def __contains__(self, name: str) -> bool:
        """Has this name of the IR been spelled?"""
        return name in self._spelling

    def fresh(self, wish: str) -> str:
        """A new identifier, `wish` or close to it."""
        name = re.sub(r"[^A-Za-z0-9_]", "_", wish)
        if _OWNED.match(name):
            name = "v" + name
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name
