/* CUDA's barriers, warp functions, atomics and asynchronous copies, on the threads of block_on_cpu.h. */
#pragma once
#include "waiting_on_cpu.h"

#define __syncthreads() polysched::barrier(POLYSCHED_HERE)
#define __syncthreads_count(predicate) ((int)polysched::count_at_barrier(POLYSCHED_HERE, (predicate) != 0))
#define __syncthreads_or(predicate) (polysched::count_at_barrier(POLYSCHED_HERE, (predicate) != 0) != 0)
#define __syncthreads_and(predicate) (polysched::count_at_barrier(POLYSCHED_HERE, !(predicate)) == 0)
#define __syncwarp(...) polysched::sync_warp(POLYSCHED_HERE, polysched_all(__VA_ARGS__))
#define __threadfence() ((void)0)
#define __threadfence_block() ((void)0)
#define __threadfence_system() ((void)0)

/* A mask or a width may be left out. */
POLYSCHED_INLINE unsigned polysched_all(unsigned mask = ~0u) { return mask; }
POLYSCHED_INLINE int polysched_width(int width = 32) { return width; }

#define __ballot_sync(mask, predicate) polysched::ballot(POLYSCHED_HERE, mask, (predicate) != 0)
#define __any_sync(mask, predicate) (polysched::ballot(POLYSCHED_HERE, mask, (predicate) != 0) != 0)
#define __all_sync(mask, predicate) (polysched::ballot(POLYSCHED_HERE, mask, !(predicate)) == 0)
#define __activemask() polysched::live_lanes()

#define __shfl_sync(mask, value, source, ...) \
    polysched::shuffle(POLYSCHED_HERE, mask, value, source, polysched_width(__VA_ARGS__), true)
#define __shfl_up_sync(mask, value, delta, ...) \
    polysched::shuffle(POLYSCHED_HERE, mask, value, polysched::lane_in(polysched_width(__VA_ARGS__)) - (int)(delta), \
                       polysched_width(__VA_ARGS__), false)
#define __shfl_down_sync(mask, value, delta, ...) \
    polysched::shuffle(POLYSCHED_HERE, mask, value, polysched::lane_in(polysched_width(__VA_ARGS__)) + (int)(delta), \
                       polysched_width(__VA_ARGS__), false)
#define __shfl_xor_sync(mask, value, lanes, ...) \
    polysched::shuffle(POLYSCHED_HERE, mask, value, polysched::lane_in(polysched_width(__VA_ARGS__)) ^ (int)(lanes), \
                       polysched_width(__VA_ARGS__), false)

#define POLYSCHED_REDUCE(mask, value, result) \
    polysched::reduce(POLYSCHED_HERE, mask, value, [](auto a, auto b) __attribute__((no_sanitize("thread"))) { return result; })
#define __reduce_add_sync(mask, value) POLYSCHED_REDUCE(mask, value, a + b)
#define __reduce_min_sync(mask, value) POLYSCHED_REDUCE(mask, value, b < a ? b : a)
#define __reduce_max_sync(mask, value) POLYSCHED_REDUCE(mask, value, b > a ? b : a)
#define __reduce_and_sync(mask, value) POLYSCHED_REDUCE(mask, value, a &b)
#define __reduce_or_sync(mask, value) POLYSCHED_REDUCE(mask, value, a | b)
#define __reduce_xor_sync(mask, value) POLYSCHED_REDUCE(mask, value, a ^ b)

/* Threads run one at a time, so that an atomic operation is any operation; the checker must know that it is one. */
template <class T, class Operation> POLYSCHED_OWN static T polysched_update(T *at, Operation operation)
{
    const T old = *at;
    *at = operation(old);
    return old;
}

#define POLYSCHED_ATOMIC(name, parameters, result) \
    template <class T> POLYSCHED_INLINE T name parameters \
    { \
        polysched_check_atomic((const void *)at, sizeof(T)); \
        return polysched_update((T *)at, [=](T old) __attribute__((no_sanitize("thread"))) { (void)old; return (T)(result); }); \
    }
template <class T> struct polysched_same { /* so that the pointer alone tells the type */
    typedef T type;
};
#define POLYSCHED_VALUE typename polysched_same<T>::type
POLYSCHED_ATOMIC(atomicAdd, (T * at, POLYSCHED_VALUE value), old + value)
POLYSCHED_ATOMIC(atomicSub, (T * at, POLYSCHED_VALUE value), old - value)
POLYSCHED_ATOMIC(atomicExch, (T * at, POLYSCHED_VALUE value), value)
POLYSCHED_ATOMIC(atomicMin, (T * at, POLYSCHED_VALUE value), value < old ? value : old)
POLYSCHED_ATOMIC(atomicMax, (T * at, POLYSCHED_VALUE value), value > old ? value : old)
POLYSCHED_ATOMIC(atomicAnd, (T * at, POLYSCHED_VALUE value), old & value)
POLYSCHED_ATOMIC(atomicOr, (T * at, POLYSCHED_VALUE value), old | value)
POLYSCHED_ATOMIC(atomicXor, (T * at, POLYSCHED_VALUE value), old ^ value)
POLYSCHED_ATOMIC(atomicInc, (T * at, POLYSCHED_VALUE limit), old >= limit ? 0 : old + 1)
POLYSCHED_ATOMIC(atomicDec, (T * at, POLYSCHED_VALUE limit), old == 0 || old > limit ? limit : old - 1)
POLYSCHED_ATOMIC(atomicCAS, (T * at, POLYSCHED_VALUE expected, POLYSCHED_VALUE value), old == expected ? value : old)
#define atomicAdd_block atomicAdd

/* Copies happen as late as they may: when the thread waits for them. */
POLYSCHED_INLINE void __pipeline_memcpy_async(void *to, const void *from, size_t size, size_t zeros = 0)
{
    polysched_check_copy_begins(to, from, size, zeros);
    polysched::begin_copy(to, from, size, zeros);
}
POLYSCHED_INLINE void __pipeline_commit() { polysched::commit_copies(); }
POLYSCHED_INLINE void __pipeline_wait_prior(size_t later) { polysched::finish_copies(later); }
