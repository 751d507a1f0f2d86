/* Functions that CUDA has in every text: min, max, loads, roundings, bits, and those of halves. */
#pragma once

template <class T> POLYSCHED_INLINE T __ldg(const T *at) { return *at; }
template <class T> POLYSCHED_INLINE T __ldca(const T *at) { return *at; }
template <class T> POLYSCHED_INLINE T __ldcg(const T *at) { return *at; }
template <class T> POLYSCHED_INLINE T __ldcs(const T *at) { return *at; }
template <class T> POLYSCHED_INLINE void __stcs(T *at, T value) { *at = value; }
template <class T> POLYSCHED_INLINE void __stcg(T *at, T value) { *at = value; }

template <class A, class B> POLYSCHED_INLINE auto min(A a, B b) -> decltype(true ? a : b) { return b < a ? b : a; }
template <class A, class B> POLYSCHED_INLINE auto max(A a, B b) -> decltype(true ? a : b) { return a < b ? b : a; }

#define POLYSCHED_FUNCTION(type, name, parameters, result) \
    POLYSCHED_INLINE type name parameters { return result; }
POLYSCHED_FUNCTION(float, __fmaf_rn, (float a, float b, float c), __builtin_fmaf(a, b, c))
POLYSCHED_FUNCTION(double, __fma_rn, (double a, double b, double c), __builtin_fma(a, b, c))
POLYSCHED_FUNCTION(float, __fadd_rn, (float a, float b), a + b)
POLYSCHED_FUNCTION(float, __fsub_rn, (float a, float b), a - b)
POLYSCHED_FUNCTION(float, __fmul_rn, (float a, float b), a *b)
POLYSCHED_FUNCTION(float, __fdiv_rn, (float a, float b), a / b)
POLYSCHED_FUNCTION(float, __frcp_rn, (float a), 1 / a)
POLYSCHED_FUNCTION(float, __fsqrt_rn, (float a), __builtin_sqrtf(a))
POLYSCHED_FUNCTION(double, __dadd_rn, (double a, double b), a + b)
POLYSCHED_FUNCTION(double, __dsub_rn, (double a, double b), a - b)
POLYSCHED_FUNCTION(double, __dmul_rn, (double a, double b), a *b)
POLYSCHED_FUNCTION(double, __ddiv_rn, (double a, double b), a / b)
POLYSCHED_FUNCTION(double, __dsqrt_rn, (double a), __builtin_sqrt(a))
POLYSCHED_FUNCTION(float, __fdividef, (float a, float b), a / b)
/* <math.h> declares these too, as they are here. */
extern "C" {
float __expf(float) noexcept(true) __asm__("expf");
float __exp10f(float) noexcept(true) __asm__("exp10f");
float __logf(float) noexcept(true) __asm__("logf");
float __log2f(float) noexcept(true) __asm__("log2f");
float __log10f(float) noexcept(true) __asm__("log10f");
float __sinf(float) noexcept(true) __asm__("sinf");
float __cosf(float) noexcept(true) __asm__("cosf");
float __tanf(float) noexcept(true) __asm__("tanf");
float __powf(float, float) noexcept(true) __asm__("powf");
}
POLYSCHED_FUNCTION(float, __saturatef, (float a), a > 1 ? 1 : a > 0 ? a : 0)
POLYSCHED_FUNCTION(float, rsqrtf, (float a), 1 / __builtin_sqrtf(a))
POLYSCHED_FUNCTION(double, rsqrt, (double a), 1 / __builtin_sqrt(a))

POLYSCHED_FUNCTION(int, __mul24, (int a, int b), a *b)
POLYSCHED_FUNCTION(unsigned, __umul24, (unsigned a, unsigned b), a *b)
POLYSCHED_FUNCTION(int, __mulhi, (int a, int b), (int)((long long)a * b >> 32))
POLYSCHED_FUNCTION(unsigned, __umulhi, (unsigned a, unsigned b), (unsigned)((unsigned long long)a * b >> 32))
POLYSCHED_FUNCTION(long long, __mul64hi, (long long a, long long b), (long long)((__int128)a * b >> 64))
POLYSCHED_FUNCTION(unsigned long long, __umul64hi, (unsigned long long a, unsigned long long b),
                   (unsigned long long)((unsigned __int128)a * b >> 64))
POLYSCHED_FUNCTION(int, __popc, (unsigned a), __builtin_popcount(a))
POLYSCHED_FUNCTION(int, __popcll, (unsigned long long a), __builtin_popcountll(a))
POLYSCHED_FUNCTION(int, __clz, (int a), a ? __builtin_clz(a) : 32)
POLYSCHED_FUNCTION(int, __clzll, (long long a), a ? __builtin_clzll(a) : 64)
POLYSCHED_FUNCTION(int, __ffs, (int a), __builtin_ffs(a))
POLYSCHED_FUNCTION(int, __ffsll, (long long a), __builtin_ffsll(a))

template <class To, class From> POLYSCHED_INLINE To polysched_bits(From from)
{
    static_assert(sizeof(To) == sizeof(From), "");
    To to;
    __builtin_memcpy(&to, &from, sizeof to);
    return to;
}
POLYSCHED_FUNCTION(int, __float_as_int, (float a), polysched_bits<int>(a))
POLYSCHED_FUNCTION(unsigned, __float_as_uint, (float a), polysched_bits<unsigned>(a))
POLYSCHED_FUNCTION(float, __int_as_float, (int a), polysched_bits<float>(a))
POLYSCHED_FUNCTION(float, __uint_as_float, (unsigned a), polysched_bits<float>(a))
POLYSCHED_FUNCTION(long long, __double_as_longlong, (double a), polysched_bits<long long>(a))
POLYSCHED_FUNCTION(double, __longlong_as_double, (long long a), polysched_bits<double>(a))
POLYSCHED_FUNCTION(int, __float2int_rd, (float a), (int)__builtin_floorf(a))
POLYSCHED_FUNCTION(int, __float2int_ru, (float a), (int)__builtin_ceilf(a))
POLYSCHED_FUNCTION(int, __float2int_rn, (float a), (int)__builtin_rintf(a))
POLYSCHED_FUNCTION(int, __float2int_rz, (float a), (int)a)

typedef _Float16 __half;
typedef __half half;
POLYSCHED_FUNCTION(__half, __float2half, (float a), (__half)a)
POLYSCHED_FUNCTION(__half, __float2half_rn, (float a), (__half)a)
POLYSCHED_FUNCTION(float, __half2float, (__half a), (float)a)
POLYSCHED_FUNCTION(__half, __hadd, (__half a, __half b), a + b)
POLYSCHED_FUNCTION(__half, __hsub, (__half a, __half b), a - b)
POLYSCHED_FUNCTION(__half, __hmul, (__half a, __half b), a *b)
POLYSCHED_FUNCTION(__half, __hfma, (__half a, __half b, __half c), (__half)__builtin_fmaf((float)a, (float)b, (float)c))
#undef POLYSCHED_FUNCTION
