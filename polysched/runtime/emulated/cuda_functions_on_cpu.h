/* Functions that CUDA has in every text: min, max, loads, integers, bits and conversions. */
#pragma once
#include "cuda_types_on_cpu.h"

template <class T> POLYSCHED_INLINE T __ldg(const T *at) { return *at; }
template <class T> POLYSCHED_INLINE T __ldca(const T *at) { return *at; }
template <class T> POLYSCHED_INLINE T __ldcg(const T *at) { return *at; }
template <class T> POLYSCHED_INLINE T __ldcs(const T *at) { return *at; }
template <class T> POLYSCHED_INLINE T __ldlu(const T *at) { return *at; }
template <class T> POLYSCHED_INLINE T __ldcv(const T *at) { return *at; }
template <class T> POLYSCHED_INLINE void __stwb(T *at, T value) { *at = value; }
template <class T> POLYSCHED_INLINE void __stcs(T *at, T value) { *at = value; }
template <class T> POLYSCHED_INLINE void __stcg(T *at, T value) { *at = value; }
template <class T> POLYSCHED_INLINE void __stwt(T *at, T value) { *at = value; }

template <class A, class B> POLYSCHED_INLINE auto min(A a, B b) -> decltype(true ? (A)a : (B)b) { return b < a ? b : a; }
template <class A, class B> POLYSCHED_INLINE auto max(A a, B b) -> decltype(true ? (A)a : (B)b) { return a < b ? b : a; }

#define POLYSCHED_FUNCTION(type, name, parameters, result) \
    POLYSCHED_INLINE type name parameters { return result; }
POLYSCHED_FUNCTION(unsigned, umin, (unsigned a, unsigned b), b < a ? b : a)
POLYSCHED_FUNCTION(unsigned, umax, (unsigned a, unsigned b), a < b ? b : a)
POLYSCHED_FUNCTION(long long, llmin, (long long a, long long b), b < a ? b : a)
POLYSCHED_FUNCTION(long long, llmax, (long long a, long long b), a < b ? b : a)
POLYSCHED_FUNCTION(unsigned long long, ullmin, (unsigned long long a, unsigned long long b), b < a ? b : a)
POLYSCHED_FUNCTION(unsigned long long, ullmax, (unsigned long long a, unsigned long long b), a < b ? b : a)

POLYSCHED_FUNCTION(int, __mul24, (int a, int b), (int)((unsigned)(a << 8 >> 8) * (unsigned)(b << 8 >> 8)))
POLYSCHED_FUNCTION(unsigned, __umul24, (unsigned a, unsigned b), (a & 0xffffff) * (b & 0xffffff))
POLYSCHED_FUNCTION(int, mul24, (int a, int b), __mul24(a, b))
POLYSCHED_FUNCTION(unsigned, umul24, (unsigned a, unsigned b), __umul24(a, b))
POLYSCHED_FUNCTION(int, __mulhi, (int a, int b), (int)((long long)a * b >> 32))
POLYSCHED_FUNCTION(int, mulhi, (int a, int b), __mulhi(a, b))
POLYSCHED_FUNCTION(unsigned, __umulhi, (unsigned a, unsigned b), (unsigned)((unsigned long long)a * b >> 32))
POLYSCHED_FUNCTION(unsigned, umulhi, (unsigned a, unsigned b), __umulhi(a, b))
POLYSCHED_FUNCTION(long long, __mul64hi, (long long a, long long b), (long long)((__int128)a * b >> 64))
POLYSCHED_FUNCTION(unsigned long long, __umul64hi, (unsigned long long a, unsigned long long b),
                   (unsigned long long)((unsigned __int128)a * b >> 64))
POLYSCHED_FUNCTION(unsigned, __usad, (unsigned a, unsigned b, unsigned c), (a < b ? b - a : a - b) + c)
POLYSCHED_FUNCTION(unsigned, __sad, (int a, int b, unsigned c), (a < b ? (unsigned)b - a : (unsigned)a - b) + c)
POLYSCHED_FUNCTION(int, __hadd, (int a, int b), (int)(((long long)a + b) >> 1))
POLYSCHED_FUNCTION(int, __rhadd, (int a, int b), (int)(((long long)a + b + 1) >> 1))
POLYSCHED_FUNCTION(unsigned, __uhadd, (unsigned a, unsigned b), (unsigned)(((unsigned long long)a + b) >> 1))
POLYSCHED_FUNCTION(unsigned, __urhadd, (unsigned a, unsigned b), (unsigned)(((unsigned long long)a + b + 1) >> 1))
POLYSCHED_INLINE int __dp4a(int a, int b, int sum)
{
    for (int k = 0; k < 32; k += 8)
        sum += (signed char)(a >> k) * (signed char)(b >> k);
    return sum;
}
POLYSCHED_INLINE unsigned __dp4a(unsigned a, unsigned b, unsigned sum)
{
    for (int k = 0; k < 32; k += 8)
        sum += (a >> k & 255) * (b >> k & 255);
    return sum;
}

/* --- bits */

POLYSCHED_FUNCTION(int, __popc, (unsigned a), __builtin_popcount(a))
POLYSCHED_FUNCTION(int, __popcll, (unsigned long long a), __builtin_popcountll(a))
POLYSCHED_FUNCTION(int, __clz, (int a), a ? __builtin_clz(a) : 32)
POLYSCHED_FUNCTION(int, __clzll, (long long a), a ? __builtin_clzll(a) : 64)
POLYSCHED_FUNCTION(int, __ffs, (int a), __builtin_ffs(a))
POLYSCHED_FUNCTION(int, __ffsll, (long long a), __builtin_ffsll(a))
POLYSCHED_INLINE unsigned long long __brevll(unsigned long long a)
{
    unsigned long long reversed = 0;
    for (int k = 0; k < 64; k++)
        reversed |= (a >> k & 1) << (63 - k);
    return reversed;
}
POLYSCHED_FUNCTION(unsigned, __brev, (unsigned a), (unsigned)(__brevll(a) >> 32))
POLYSCHED_INLINE unsigned __byte_perm(unsigned low, unsigned high, unsigned selector)
{
    const unsigned long long bytes = (unsigned long long)high << 32 | low;
    unsigned result = 0;
    for (int k = 0; k < 4; k++) {
        const unsigned which = selector >> 4 * k & 15;
        const unsigned byte = bytes >> 8 * (which & 7) & 255;
        result |= (which & 8 ? byte & 128 ? 255 : 0 : byte) << 8 * k;
    }
    return result;
}
POLYSCHED_FUNCTION(unsigned, __funnelshift_l, (unsigned low, unsigned high, unsigned by),
                   (unsigned)(((unsigned long long)high << 32 | low) << (by & 31) >> 32))
POLYSCHED_FUNCTION(unsigned, __funnelshift_lc, (unsigned low, unsigned high, unsigned by),
                   by < 32 ? __funnelshift_l(low, high, by) : low)
POLYSCHED_FUNCTION(unsigned, __funnelshift_r, (unsigned low, unsigned high, unsigned by),
                   (unsigned)(((unsigned long long)high << 32 | low) >> (by & 31)))
POLYSCHED_FUNCTION(unsigned, __funnelshift_rc, (unsigned low, unsigned high, unsigned by),
                   by < 32 ? __funnelshift_r(low, high, by) : high)
/* The place of the set bit that is the `offset`-th from `base`. */
POLYSCHED_INLINE unsigned __fns(unsigned mask, unsigned base, int offset)
{
    if (offset == 0)
        return mask >> base & 1 ? base : ~0u;
    const int step = offset > 0 ? 1 : -1;
    for (int k = base; k >= 0 && k < 32; k += step)
        if (mask >> k & 1 && (offset -= step) == 0)
            return k;
    return ~0u;
}

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
POLYSCHED_FUNCTION(int, __double2hiint, (double a), (int)(polysched_bits<long long>(a) >> 32))
POLYSCHED_FUNCTION(int, __double2loint, (double a), (int)polysched_bits<long long>(a))
POLYSCHED_FUNCTION(double, __hiloint2double, (int high, int low),
                   polysched_bits<double>((unsigned long long)(unsigned)high << 32 | (unsigned)low))

/* --- conversions; what does not fit becomes the nearest that does, and NaN 0 */

template <class To, class From> POLYSCHED_INLINE To polysched_to_integer(From from)
{
    const bool is_signed = (To)-1 < 0;
    const To most = is_signed ? (To)(~0ull >> (65 - 8 * sizeof(To))) : (To)~0ull, least = is_signed ? -most - 1 : 0;
    return from != from ? 0 : from >= (From)most ? most : from <= (From)least ? least : (To)from;
}
#define POLYSCHED_TO_INTEGER(name, To, From)                                                                \
    POLYSCHED_FUNCTION(To, name##_rn, (From a), polysched_to_integer<To>((From)__builtin_rint((double)a)))  \
    POLYSCHED_FUNCTION(To, name##_rz, (From a), polysched_to_integer<To>((From)__builtin_trunc((double)a))) \
    POLYSCHED_FUNCTION(To, name##_ru, (From a), polysched_to_integer<To>((From)__builtin_ceil((double)a)))  \
    POLYSCHED_FUNCTION(To, name##_rd, (From a), polysched_to_integer<To>((From)__builtin_floor((double)a)))
POLYSCHED_TO_INTEGER(__float2int, int, float)
POLYSCHED_TO_INTEGER(__float2uint, unsigned, float)
POLYSCHED_TO_INTEGER(__float2ll, long long, float)
POLYSCHED_TO_INTEGER(__float2ull, unsigned long long, float)
POLYSCHED_TO_INTEGER(__double2int, int, double)
POLYSCHED_TO_INTEGER(__double2uint, unsigned, double)
POLYSCHED_TO_INTEGER(__double2ll, long long, double)
POLYSCHED_TO_INTEGER(__double2ull, unsigned long long, double)
#undef POLYSCHED_TO_INTEGER
#undef POLYSCHED_FUNCTION
