/* CUDA's halves and bfloat16, one and two at once: cuda_fp16.h, cuda_bf16.h. Each operation rounds once. */
#pragma once
#include "cuda_functions_on_cpu.h"

struct __nv_bfloat16 {
    unsigned short bits;
    __nv_bfloat16() = default;
    POLYSCHED_METHOD __nv_bfloat16(float from)
    {
        const unsigned all = polysched_bits<unsigned>(from);
        bits = from != from ? 0x7fff : (all + 0x7fff + (all >> 16 & 1)) >> 16; /* ties to even */
    }
    POLYSCHED_METHOD __nv_bfloat16(double from) : __nv_bfloat16((float)from) {}
    POLYSCHED_METHOD __nv_bfloat16(int from) : __nv_bfloat16((float)from) {}
    POLYSCHED_METHOD operator float() const { return polysched_bits<float>((unsigned)bits << 16); }
};
typedef __nv_bfloat16 nv_bfloat16;

/* Copied as a whole, so that the checker sees one access. */
#define POLYSCHED_PAIR(name, Half)                                                                  \
    struct alignas(4) name {                                                                        \
        typedef unsigned All __attribute__((may_alias));                                            \
        Half x, y;                                                                                  \
        name() = default;                                                                           \
        POLYSCHED_METHOD name(Half x, Half y) : x(x), y(y) {}                                       \
        POLYSCHED_METHOD name(const name &from) { *(All *)this = *(const All *)&from; }             \
        POLYSCHED_METHOD name &operator=(const name &from)                                          \
        {                                                                                           \
            *(All *)this = *(const All *)&from;                                                     \
            return *this;                                                                           \
        }                                                                                           \
    };
POLYSCHED_PAIR(__half2, __half)
POLYSCHED_PAIR(__nv_bfloat162, __nv_bfloat16)
typedef __half2 half2;
typedef __nv_bfloat162 nv_bfloat162;
#undef POLYSCHED_PAIR

#define POLYSCHED_FUNCTION(type, name, parameters, result) \
    POLYSCHED_INLINE type name parameters { return result; }
#define POLYSCHED_UNARY(Half, Pair, name, result)                                                               \
    POLYSCHED_FUNCTION(Half, h##name, (Half h), [](float a) { return (Half)(result); }((float)h))               \
    POLYSCHED_FUNCTION(Pair, h2##name, (Pair h), Pair(h##name(h.x), h##name(h.y)))
#define POLYSCHED_BINARY(Half, Pair, name, pair_name, result)                                                   \
    POLYSCHED_INLINE Half name(Half first, Half second)                                                         \
    {                                                                                                           \
        const float a = first, b = second;                                                                      \
        return (Half)(result);                                                                                  \
    }                                                                                                           \
    POLYSCHED_FUNCTION(Pair, pair_name, (Pair a, Pair b), Pair(name(a.x, b.x), name(a.y, b.y)))
#define POLYSCHED_COMPARED(Half, Pair, name, operation)                                                         \
    POLYSCHED_FUNCTION(bool, __h##name, (Half a, Half b), (float)a operation(float) b)                          \
    POLYSCHED_FUNCTION(Pair, __h##name##2, (Pair a, Pair b), Pair((Half)(float)__h##name(a.x, b.x), (Half)(float)__h##name(a.y, b.y))) \
    POLYSCHED_FUNCTION(bool, __hb##name##2, (Pair a, Pair b), __h##name(a.x, b.x) && __h##name(a.y, b.y))
#define POLYSCHED_OPERATOR(Pair, operation, name)                                                               \
    POLYSCHED_FUNCTION(Pair, operator operation, (Pair a, Pair b), name(a, b))                                  \
    POLYSCHED_INLINE Pair &operator operation##=(Pair &a, Pair b) { return a = name(a, b); }
#define POLYSCHED_HALVES(Half, Pair)                                                                            \
    POLYSCHED_BINARY(Half, Pair, __hadd, __hadd2, a + b)                                                        \
    POLYSCHED_BINARY(Half, Pair, __hsub, __hsub2, a - b)                                                        \
    POLYSCHED_BINARY(Half, Pair, __hmul, __hmul2, a *b)                                                         \
    POLYSCHED_BINARY(Half, Pair, __hdiv, __h2div, a / b)                                                        \
    POLYSCHED_BINARY(Half, Pair, __hadd_rn, __hadd2_rn, a + b)                                                  \
    POLYSCHED_BINARY(Half, Pair, __hsub_rn, __hsub2_rn, a - b)                                                  \
    POLYSCHED_BINARY(Half, Pair, __hmul_rn, __hmul2_rn, a *b)                                                   \
    POLYSCHED_BINARY(Half, Pair, __hadd_sat, __hadd2_sat, a + b > 1 ? 1 : a + b > 0 ? a + b : 0)                \
    POLYSCHED_BINARY(Half, Pair, __hsub_sat, __hsub2_sat, a - b > 1 ? 1 : a - b > 0 ? a - b : 0)                \
    POLYSCHED_BINARY(Half, Pair, __hmul_sat, __hmul2_sat, a *b > 1 ? 1 : a * b > 0 ? a * b : 0)                 \
    POLYSCHED_BINARY(Half, Pair, __hmin, __hmin2, __builtin_fminf(a, b))                                        \
    POLYSCHED_BINARY(Half, Pair, __hmax, __hmax2, __builtin_fmaxf(a, b))                                        \
    POLYSCHED_BINARY(Half, Pair, __hmin_nan, __hmin2_nan, a != a || b != b ? __builtin_nanf("") : __builtin_fminf(a, b)) \
    POLYSCHED_BINARY(Half, Pair, __hmax_nan, __hmax2_nan, a != a || b != b ? __builtin_nanf("") : __builtin_fmaxf(a, b)) \
    POLYSCHED_FUNCTION(Half, __hfma, (Half a, Half b, Half c), (Half)((double)(float)a * (float)b + (float)c)) \
    POLYSCHED_FUNCTION(Pair, __hfma2, (Pair a, Pair b, Pair c), Pair(__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y))) \
    POLYSCHED_FUNCTION(Half, __hfma_relu, (Half a, Half b, Half c), __hmax_nan(__hfma(a, b, c), (Half)0.0f))    \
    POLYSCHED_FUNCTION(Half, __hfma_sat, (Half a, Half b, Half c), __hmin(__hmax(__hfma(a, b, c), (Half)0.0f), (Half)1.0f)) \
    POLYSCHED_FUNCTION(Half, __hneg, (Half a), (Half)(-(float)a))                                               \
    POLYSCHED_FUNCTION(Pair, __hneg2, (Pair a), Pair(__hneg(a.x), __hneg(a.y)))                                 \
    POLYSCHED_FUNCTION(Half, __habs, (Half a), (Half)__builtin_fabsf((float)a))                                 \
    POLYSCHED_FUNCTION(Pair, __habs2, (Pair a), Pair(__habs(a.x), __habs(a.y)))                                 \
    POLYSCHED_FUNCTION(bool, __hisnan, (Half a), (float)a != (float)a)                                          \
    POLYSCHED_FUNCTION(int, __hisinf, (Half a), __builtin_isinf_sign((float)a))                                 \
    POLYSCHED_COMPARED(Half, Pair, eq, ==)                                                                      \
    POLYSCHED_COMPARED(Half, Pair, ne, !=)                                                                      \
    POLYSCHED_COMPARED(Half, Pair, lt, <)                                                                       \
    POLYSCHED_COMPARED(Half, Pair, le, <=)                                                                      \
    POLYSCHED_COMPARED(Half, Pair, gt, >)                                                                       \
    POLYSCHED_COMPARED(Half, Pair, ge, >=)                                                                      \
    POLYSCHED_UNARY(Half, Pair, sqrt, __builtin_sqrtf(a))                                                       \
    POLYSCHED_UNARY(Half, Pair, rsqrt, 1 / __builtin_sqrtf(a))                                                  \
    POLYSCHED_UNARY(Half, Pair, rcp, 1 / a)                                                                     \
    POLYSCHED_UNARY(Half, Pair, exp, __builtin_expf(a))                                                         \
    POLYSCHED_UNARY(Half, Pair, exp2, __builtin_exp2f(a))                                                       \
    POLYSCHED_UNARY(Half, Pair, exp10, (float)__builtin_pow(10, a))                                             \
    POLYSCHED_UNARY(Half, Pair, log, __builtin_logf(a))                                                         \
    POLYSCHED_UNARY(Half, Pair, log2, __builtin_log2f(a))                                                       \
    POLYSCHED_UNARY(Half, Pair, log10, __builtin_log10f(a))                                                     \
    POLYSCHED_UNARY(Half, Pair, sin, __builtin_sinf(a))                                                         \
    POLYSCHED_UNARY(Half, Pair, cos, __builtin_cosf(a))                                                         \
    POLYSCHED_UNARY(Half, Pair, floor, __builtin_floorf(a))                                                     \
    POLYSCHED_UNARY(Half, Pair, ceil, __builtin_ceilf(a))                                                       \
    POLYSCHED_UNARY(Half, Pair, trunc, __builtin_truncf(a))                                                     \
    POLYSCHED_UNARY(Half, Pair, rint, __builtin_rintf(a))                                                       \
    POLYSCHED_OPERATOR(Pair, +, __hadd2)                                                                        \
    POLYSCHED_OPERATOR(Pair, -, __hsub2)                                                                        \
    POLYSCHED_OPERATOR(Pair, *, __hmul2)                                                                        \
    POLYSCHED_OPERATOR(Pair, /, __h2div)                                                                        \
    POLYSCHED_FUNCTION(Pair, operator-, (Pair a), __hneg2(a))                                                   \
    POLYSCHED_FUNCTION(bool, operator==, (Pair a, Pair b), __hbeq2(a, b))                                       \
    POLYSCHED_FUNCTION(bool, operator!=, (Pair a, Pair b), !__hbeq2(a, b))                                      \
    POLYSCHED_FUNCTION(float, __low2float, (Pair a), (float)a.x)                                                \
    POLYSCHED_FUNCTION(float, __high2float, (Pair a), (float)a.y)                                               \
    POLYSCHED_FUNCTION(Pair, __lowhigh2highlow, (Pair a), Pair(a.y, a.x))                                       \
    POLYSCHED_FUNCTION(Pair, __hcmadd, (Pair a, Pair b, Pair c),                                                \
                       Pair(__hfma(__hneg(a.y), b.y, __hfma(a.x, b.x, c.x)), __hfma(a.y, b.x, __hfma(a.x, b.y, c.y))))
POLYSCHED_HALVES(__half, __half2)
POLYSCHED_HALVES(__nv_bfloat16, __nv_bfloat162)
POLYSCHED_OPERATOR(__nv_bfloat16, +, __hadd)
POLYSCHED_OPERATOR(__nv_bfloat16, -, __hsub)
POLYSCHED_OPERATOR(__nv_bfloat16, *, __hmul)
POLYSCHED_OPERATOR(__nv_bfloat16, /, __hdiv)
POLYSCHED_FUNCTION(__nv_bfloat16, operator-, (__nv_bfloat16 a), __hneg(a))
#undef POLYSCHED_HALVES
#undef POLYSCHED_OPERATOR
#undef POLYSCHED_COMPARED
#undef POLYSCHED_BINARY
#undef POLYSCHED_UNARY

/* --- conversions: the names have the types in them */

#define POLYSCHED_NAMES(Half, Pair, half, pair, to_pair, from_pair)                                     \
    POLYSCHED_FUNCTION(Half, __float2##half, (float a), (Half)a)                                        \
    POLYSCHED_FUNCTION(Half, __float2##half##_rn, (float a), (Half)a)                                   \
    POLYSCHED_FUNCTION(Half, __double2##half, (double a), (Half)a)                                      \
    POLYSCHED_FUNCTION(Half, __int2##half##_rn, (int a), (Half)(float)a)                                \
    POLYSCHED_FUNCTION(Half, __uint2##half##_rn, (unsigned a), (Half)(float)a)                          \
    POLYSCHED_FUNCTION(float, __##half##2float, (Half a), (float)a)                                     \
    POLYSCHED_FUNCTION(int, __##half##2int_rn, (Half a), (int)__builtin_rintf((float)a))                \
    POLYSCHED_FUNCTION(int, __##half##2int_rz, (Half a), (int)(float)a)                                 \
    POLYSCHED_FUNCTION(unsigned short, __##half##_as_ushort, (Half a), polysched_bits<unsigned short>(a)) \
    POLYSCHED_FUNCTION(short, __##half##_as_short, (Half a), polysched_bits<short>(a))                  \
    POLYSCHED_FUNCTION(Half, __ushort_as_##half, (unsigned short a), polysched_bits<Half>(a))           \
    POLYSCHED_FUNCTION(Half, __short_as_##half, (short a), polysched_bits<Half>(a))                     \
    POLYSCHED_FUNCTION(Pair, __float2##pair##_rn, (float a), Pair((Half)a, (Half)a))                    \
    POLYSCHED_FUNCTION(Pair, __floats2##pair##_rn, (float a, float b), Pair((Half)a, (Half)b))          \
    POLYSCHED_FUNCTION(Pair, to_pair##_rn, (float2 a), Pair((Half)a.x, (Half)a.y))                      \
    POLYSCHED_FUNCTION(float2, from_pair, (Pair a), float2((float)a.x, (float)a.y))                     \
    POLYSCHED_FUNCTION(Pair, __##half##2##pair, (Half a), Pair(a, a))                                   \
    POLYSCHED_FUNCTION(Pair, __halves2##pair, (Half a, Half b), Pair(a, b))                             \
    POLYSCHED_FUNCTION(Pair, make_##pair, (Half a, Half b), Pair(a, b))                                 \
    POLYSCHED_FUNCTION(Half, __low2##half, (Pair a), a.x)                                               \
    POLYSCHED_FUNCTION(Half, __high2##half, (Pair a), a.y)                                              \
    POLYSCHED_FUNCTION(Pair, __low2##pair, (Pair a), Pair(a.x, a.x))                                    \
    POLYSCHED_FUNCTION(Pair, __high2##pair, (Pair a), Pair(a.y, a.y))                                   \
    POLYSCHED_FUNCTION(Pair, __lows2##pair, (Pair a, Pair b), Pair(a.x, b.x))                           \
    POLYSCHED_FUNCTION(Pair, __highs2##pair, (Pair a, Pair b), Pair(a.y, b.y))
POLYSCHED_NAMES(__half, __half2, half, half2, __float22half2, __half22float2)
POLYSCHED_NAMES(__nv_bfloat16, __nv_bfloat162, bfloat16, bfloat162, __float22bfloat162, __bfloat1622float2)
#undef POLYSCHED_NAMES
#undef POLYSCHED_FUNCTION
