/* CUDA's atomic operations. */
#pragma once
#include "waiting_on_cpu.h"

/* Threads run one at a time, so that an atomic operation is any operation; the checker must know that it is one. */
template <class T, class Operation> POLYSCHED_OWN static T polysched_update(T *at, Operation operation)
{
    const T old = *at;
    *at = operation(old);
    return old;
}

#define POLYSCHED_ATOMIC(name, is_of_block, parameters, result, before) \
    template <class T> POLYSCHED_INLINE T name parameters \
    { \
        before; \
        polysched_check_atomic((const void *)at, sizeof(T), is_of_block); \
        return polysched_update((T *)at, [=](T old) __attribute__((no_sanitize("thread"), no_sanitize("undefined"))) { (void)old; return (T)(result); }); \
    }
template <class T> struct polysched_same { /* so that the pointer alone tells the type */
    typedef T type;
};
#define POLYSCHED_VALUE typename polysched_same<T>::type
#define POLYSCHED_ATOMICS(name, parameters, result, ...)                 \
    POLYSCHED_ATOMIC(name, false, parameters, result, __VA_ARGS__)         \
    POLYSCHED_ATOMIC(name##_block, true, parameters, result, __VA_ARGS__)  \
    POLYSCHED_ATOMIC(name##_system, false, parameters, result, __VA_ARGS__)
POLYSCHED_ATOMICS(atomicAdd, (T * at, POLYSCHED_VALUE value), old + value)
POLYSCHED_ATOMICS(atomicSub, (T * at, POLYSCHED_VALUE value), old - value)
POLYSCHED_ATOMICS(atomicExch, (T * at, POLYSCHED_VALUE value), value)
POLYSCHED_ATOMICS(atomicMin, (T * at, POLYSCHED_VALUE value), value < old ? value : old)
POLYSCHED_ATOMICS(atomicMax, (T * at, POLYSCHED_VALUE value), value > old ? value : old)
POLYSCHED_ATOMICS(atomicAnd, (T * at, POLYSCHED_VALUE value), old & value)
POLYSCHED_ATOMICS(atomicOr, (T * at, POLYSCHED_VALUE value), old | value)
POLYSCHED_ATOMICS(atomicXor, (T * at, POLYSCHED_VALUE value), old ^ value)
POLYSCHED_ATOMICS(atomicInc, (T * at, POLYSCHED_VALUE limit), old >= limit ? 0 : old + 1)
POLYSCHED_ATOMICS(atomicDec, (T * at, POLYSCHED_VALUE limit), old == 0 || old > limit ? limit : old - 1)
POLYSCHED_ATOMICS(atomicCAS, (T * at, POLYSCHED_VALUE expected, POLYSCHED_VALUE value), old == expected ? value : old,
                  polysched_check_compare((const void *)at, sizeof(T), &expected))
#undef POLYSCHED_ATOMICS
#undef POLYSCHED_ATOMIC
