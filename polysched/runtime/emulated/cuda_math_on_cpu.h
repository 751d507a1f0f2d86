/* CUDA's own mathematics: operations in a given rounding, fast ones, and those that C's library lacks. */
#pragma once
#include <fenv.h>

#include "checker_on_cpu.h"

enum polysched_rounding { polysched_rn = FE_TONEAREST, polysched_rz = FE_TOWARDZERO, polysched_ru = FE_UPWARD, polysched_rd = FE_DOWNWARD };
template <class Operation> POLYSCHED_OWN static auto polysched_rounded(polysched_rounding how, Operation operation)
{
    fesetround(how);
    const volatile auto result = operation();
    fesetround(FE_TONEAREST);
    return (decltype(operation()))result;
}
#define POLYSCHED_FUNCTION(type, name, parameters, result) \
    POLYSCHED_INLINE type name parameters { return result; }
/* The operands are volatile, so that nothing is computed before the rounding is set. */
#define POLYSCHED_ROUNDED(type, how, first, second, third, result)                                  \
    polysched_rounded(how, [=]() __attribute__((no_sanitize("thread"))) {                           \
        const volatile type a = first, b = second, c = third;                                       \
        (void)a, (void)b, (void)c;                                                                  \
        return (type)(result);                                                                      \
    })
#define POLYSCHED_ONE(type, name, result)                                                                           \
    POLYSCHED_FUNCTION(type, name##_rz, (type x), POLYSCHED_ROUNDED(type, polysched_rz, x, x, x, result))           \
    POLYSCHED_FUNCTION(type, name##_ru, (type x), POLYSCHED_ROUNDED(type, polysched_ru, x, x, x, result))           \
    POLYSCHED_FUNCTION(type, name##_rd, (type x), POLYSCHED_ROUNDED(type, polysched_rd, x, x, x, result))
#define POLYSCHED_TWO(type, name, result)                                                                           \
    POLYSCHED_FUNCTION(type, name##_rz, (type x, type y), POLYSCHED_ROUNDED(type, polysched_rz, x, y, y, result))   \
    POLYSCHED_FUNCTION(type, name##_ru, (type x, type y), POLYSCHED_ROUNDED(type, polysched_ru, x, y, y, result))   \
    POLYSCHED_FUNCTION(type, name##_rd, (type x, type y), POLYSCHED_ROUNDED(type, polysched_rd, x, y, y, result))
#define POLYSCHED_THREE(type, name, result)                                                                                 \
    POLYSCHED_FUNCTION(type, name##_rz, (type x, type y, type z), POLYSCHED_ROUNDED(type, polysched_rz, x, y, z, result))   \
    POLYSCHED_FUNCTION(type, name##_ru, (type x, type y, type z), POLYSCHED_ROUNDED(type, polysched_ru, x, y, z, result))   \
    POLYSCHED_FUNCTION(type, name##_rd, (type x, type y, type z), POLYSCHED_ROUNDED(type, polysched_rd, x, y, z, result))
#define POLYSCHED_OPERATIONS(type, d, suffix, fma)                                          \
    POLYSCHED_FUNCTION(type, __##d##add_rn, (type a, type b), a + b)                        \
    POLYSCHED_FUNCTION(type, __##d##sub_rn, (type a, type b), a - b)                        \
    POLYSCHED_FUNCTION(type, __##d##mul_rn, (type a, type b), a *b)                         \
    POLYSCHED_FUNCTION(type, __##d##div_rn, (type a, type b), a / b)                        \
    POLYSCHED_FUNCTION(type, __##d##rcp_rn, (type a), 1 / a)                                \
    POLYSCHED_FUNCTION(type, __##d##sqrt_rn, (type a), __builtin_sqrt##suffix(a))           \
    POLYSCHED_FUNCTION(type, fma##_rn, (type a, type b, type c), __builtin_fma##suffix(a, b, c)) \
    POLYSCHED_TWO(type, __##d##add, a + b)                                                  \
    POLYSCHED_TWO(type, __##d##sub, a - b)                                                  \
    POLYSCHED_TWO(type, __##d##mul, a *b)                                                   \
    POLYSCHED_TWO(type, __##d##div, a / b)                                                  \
    POLYSCHED_ONE(type, __##d##rcp, 1 / a)                                                  \
    POLYSCHED_ONE(type, __##d##sqrt, __builtin_sqrt##suffix(a))                             \
    POLYSCHED_THREE(type, fma, __builtin_fma##suffix(a, b, c))
POLYSCHED_OPERATIONS(float, f, f, __fmaf)
POLYSCHED_OPERATIONS(double, d, , __fma)
#define POLYSCHED_FROM_INTEGER(name, From, To)                                                                     \
    POLYSCHED_FUNCTION(To, name##_rn, (From x), (To)x)                                                             \
    POLYSCHED_FUNCTION(To, name##_rz, (From x), polysched_rounded(polysched_rz, [x] { const volatile From a = x; return (To)a; })) \
    POLYSCHED_FUNCTION(To, name##_ru, (From x), polysched_rounded(polysched_ru, [x] { const volatile From a = x; return (To)a; })) \
    POLYSCHED_FUNCTION(To, name##_rd, (From x), polysched_rounded(polysched_rd, [x] { const volatile From a = x; return (To)a; }))
POLYSCHED_FROM_INTEGER(__int2float, int, float)
POLYSCHED_FROM_INTEGER(__uint2float, unsigned, float)
POLYSCHED_FROM_INTEGER(__ll2float, long long, float)
POLYSCHED_FROM_INTEGER(__ull2float, unsigned long long, float)
POLYSCHED_FROM_INTEGER(__ll2double, long long, double)
POLYSCHED_FROM_INTEGER(__ull2double, unsigned long long, double)
POLYSCHED_FROM_INTEGER(__double2float, double, float)
POLYSCHED_FUNCTION(double, __int2double_rn, (int a), a)
POLYSCHED_FUNCTION(double, __uint2double_rn, (unsigned a), a)
#undef POLYSCHED_FROM_INTEGER
#undef POLYSCHED_OPERATIONS
#undef POLYSCHED_THREE
#undef POLYSCHED_TWO
#undef POLYSCHED_ONE
#undef POLYSCHED_ROUNDED

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
float __tanhf(float) noexcept(true) __asm__("tanhf");
float __powf(float, float) noexcept(true) __asm__("powf");
void __sincosf(float, float *, float *) noexcept(true) __asm__("sincosf");
}
POLYSCHED_FUNCTION(float, __fdividef, (float a, float b), a / b)
POLYSCHED_FUNCTION(float, fdividef, (float a, float b), a / b)
POLYSCHED_FUNCTION(float, __frsqrt_rn, (float a), 1 / __builtin_sqrtf(a))
POLYSCHED_FUNCTION(float, __saturatef, (float a), a > 1 ? 1 : a > 0 ? a : 0)
POLYSCHED_FUNCTION(float, rsqrtf, (float a), 1 / __builtin_sqrtf(a))
POLYSCHED_FUNCTION(float, rsqrt, (float a), 1 / __builtin_sqrtf(a))
POLYSCHED_FUNCTION(double, rsqrt, (double a), 1 / __builtin_sqrt(a))
POLYSCHED_FUNCTION(float, rcbrtf, (float a), 1 / __builtin_cbrtf(a))
POLYSCHED_FUNCTION(double, rcbrt, (double a), 1 / __builtin_cbrt(a))
POLYSCHED_FUNCTION(float, rhypotf, (float a, float b), 1 / __builtin_hypotf(a, b))
POLYSCHED_FUNCTION(double, rhypot, (double a, double b), 1 / __builtin_hypot(a, b))
POLYSCHED_FUNCTION(double, norm3d, (double a, double b, double c), __builtin_sqrt(a *a + b * b + c * c))
POLYSCHED_FUNCTION(double, norm4d, (double a, double b, double c, double d), __builtin_sqrt(a *a + b * b + c * c + d * d))
POLYSCHED_FUNCTION(float, norm3df, (float a, float b, float c), (float)norm3d(a, b, c))
POLYSCHED_FUNCTION(float, norm4df, (float a, float b, float c, float d), (float)norm4d(a, b, c, d))
POLYSCHED_FUNCTION(float, rnorm3df, (float a, float b, float c), (float)(1 / norm3d(a, b, c)))
POLYSCHED_FUNCTION(float, rnorm4df, (float a, float b, float c, float d), (float)(1 / norm4d(a, b, c, d)))
POLYSCHED_FUNCTION(double, rnorm3d, (double a, double b, double c), 1 / norm3d(a, b, c))
/* Turns are reduced exactly before they become radians. */
POLYSCHED_FUNCTION(double, sinpi, (double a), __builtin_sin(3.14159265358979323846 * __builtin_remainder(a, 2)))
POLYSCHED_FUNCTION(double, cospi, (double a), __builtin_cos(3.14159265358979323846 * __builtin_remainder(a, 2)))
POLYSCHED_FUNCTION(float, sinpif, (float a), (float)sinpi(a))
POLYSCHED_FUNCTION(float, cospif, (float a), (float)cospi(a))
POLYSCHED_INLINE void sincospif(float a, float *sine, float *cosine) { *sine = sinpif(a), *cosine = cospif(a); }
POLYSCHED_INLINE void sincospi(double a, double *sine, double *cosine) { *sine = sinpi(a), *cosine = cospi(a); }
POLYSCHED_FUNCTION(double, normcdf, (double a), __builtin_erfc(-a * 0.70710678118654752440) / 2)
POLYSCHED_FUNCTION(float, normcdff, (float a), (float)normcdf(a))
POLYSCHED_FUNCTION(double, erfcx, (double a), __builtin_exp(a *a) * __builtin_erfc(a))
POLYSCHED_FUNCTION(float, erfcxf, (float a), (float)erfcx(a))
#undef POLYSCHED_FUNCTION
