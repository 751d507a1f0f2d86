/* What inline_ptx.py makes of PTX's instructions. */
#pragma once
#include "cuda_functions_on_cpu.h"

namespace polysched_ptx {

/* The bits of a register as the type that an instruction reads: widened, cut, or seen anew. */
template <class To, class From> POLYSCHED_INLINE To as(From from)
{
    if constexpr (__is_same(To, From)) {
        return from;
    } else if constexpr (__is_class(From) || __is_class(To)) {
        return polysched_bits<To>(from);
    } else {
        constexpr bool to_real = (To)0.5 != 0 && !__is_same(To, bool);
        constexpr bool from_real = (From)0.5 != 0 && !__is_same(From, bool);
        if constexpr (to_real != from_real && sizeof(To) == sizeof(From))
            return polysched_bits<To>(from);
        else
            return (To)from;
    }
}
template <class To, class From> POLYSCHED_INLINE To as(From *from) { return (To)(unsigned long)from; }
template <class To, class From> POLYSCHED_INLINE void give(To &to, From from) { to = as<To>(from); }
template <class To, class From> POLYSCHED_INLINE void give(To *&to, From from) { to = (To *)(unsigned long)from; }

POLYSCHED_OWN static unsigned lane() { return polysched::machine.current % 32; }
POLYSCHED_OWN static unsigned warp() { return polysched::machine.current / 32; }
POLYSCHED_OWN static void bar(int number)
{
    if (number)
        polysched::polysched_stop("bar.sync of a barrier other than 0, which is not known here");
}

POLYSCHED_INLINE float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
POLYSCHED_INLINE double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
POLYSCHED_INLINE float sqrt(float a) { return __builtin_sqrtf(a); }
POLYSCHED_INLINE double sqrt(double a) { return __builtin_sqrt(a); }
POLYSCHED_INLINE int high(int a, int b) { return __mulhi(a, b); }
POLYSCHED_INLINE unsigned high(unsigned a, unsigned b) { return __umulhi(a, b); }
POLYSCHED_INLINE long high(long a, long b) { return __mul64hi(a, b); }
POLYSCHED_INLINE unsigned long high(unsigned long a, unsigned long b) { return __umul64hi(a, b); }
template <class T> POLYSCHED_INLINE T shl(T a, unsigned by) { return by < 8 * sizeof(T) ? a << by : 0; }
template <class T> POLYSCHED_INLINE T shr(T a, unsigned by) { return by < 8 * sizeof(T) ? a >> by : a < 0 ? -1 : 0; }
POLYSCHED_INLINE unsigned shf_l_wrap(unsigned low, unsigned high, unsigned by) { return __funnelshift_l(low, high, by); }
POLYSCHED_INLINE unsigned shf_l_clamp(unsigned low, unsigned high, unsigned by) { return __funnelshift_lc(low, high, by); }
POLYSCHED_INLINE unsigned shf_r_wrap(unsigned low, unsigned high, unsigned by) { return __funnelshift_r(low, high, by); }
POLYSCHED_INLINE unsigned shf_r_clamp(unsigned low, unsigned high, unsigned by) { return __funnelshift_rc(low, high, by); }
POLYSCHED_INLINE unsigned bfind(unsigned a) { return a ? 31 - __clz(a) : ~0u; }
POLYSCHED_INLINE unsigned bfind(int a) { return bfind((unsigned)(a < 0 ? ~a : a)); }
POLYSCHED_INLINE unsigned bfind(unsigned long a) { return a ? 63 - __clzll(a) : ~0u; }
POLYSCHED_INLINE unsigned bfind(long a) { return bfind((unsigned long)(a < 0 ? ~a : a)); }
template <class T> POLYSCHED_INLINE unsigned bfind_shift(T a) { return a ? 8 * sizeof(T) - 1 - bfind(a) : ~0u; }
template <class T> POLYSCHED_INLINE T bfe(T a, unsigned from, unsigned count)
{
    const unsigned bits = 8 * sizeof(T);
    from &= 255, count &= 255;
    T result = 0;
    const bool sign = a < 0 && count && (a >> (from + count - 1 < bits ? from + count - 1 : bits - 1) & 1);
    for (unsigned k = 0; k < bits; k++)
        result |= (T)(k < count && from + k < bits ? a >> (from + k) & 1 : k >= count || from + k >= bits ? sign : 0) << k;
    return result;
}
template <class T> POLYSCHED_INLINE T bfi(T field, T into, unsigned from, unsigned count)
{
    from &= 255, count &= 255;
    for (unsigned k = 0; k < count && from + k < 8 * sizeof(T); k++)
        into = (into & ~((T)1 << (from + k))) | (field >> k & 1) << (from + k);
    return into;
}
POLYSCHED_INLINE unsigned lop3(unsigned a, unsigned b, unsigned c, unsigned table)
{
    unsigned result = 0;
    for (unsigned k = 0; k < 8; k++)
        if (table >> k & 1)
            result |= (k & 4 ? a : ~a) & (k & 2 ? b : ~b) & (k & 1 ? c : ~c);
    return result;
}

} // namespace polysched_ptx
