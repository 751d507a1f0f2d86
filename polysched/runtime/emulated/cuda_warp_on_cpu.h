/* CUDA's barriers, warp functions and asynchronous copies, on the threads of block_on_cpu.h. */
#pragma once
#include "waiting_on_cpu.h"

#define __syncthreads() polysched::barrier(POLYSCHED_HERE)
#define __syncthreads_count(predicate) ((int)polysched::count_at_barrier(POLYSCHED_HERE, (predicate) != 0))
#define __syncthreads_or(predicate) (polysched::count_at_barrier(POLYSCHED_HERE, (predicate) != 0) != 0)
#define __syncthreads_and(predicate) (polysched::count_at_barrier(POLYSCHED_HERE, !(predicate)) == 0)
#define __syncwarp(...) polysched::sync_warp(POLYSCHED_HERE, polysched_all(__VA_ARGS__))
#define __threadfence() polysched_check_fence()
#define __threadfence_block() ((void)0)
#define __threadfence_system() polysched_check_fence()

/* A mask or a width may be left out. */
POLYSCHED_INLINE unsigned polysched_all(unsigned mask = ~0u) { return mask; }
POLYSCHED_INLINE int polysched_width(int width = 32) { return width; }

#define __ballot_sync(mask, predicate) polysched::ballot(POLYSCHED_HERE, mask, (predicate) != 0)
#define __any_sync(mask, predicate) (polysched::ballot(POLYSCHED_HERE, mask, (predicate) != 0) != 0)
#define __all_sync(mask, predicate) (polysched::ballot(POLYSCHED_HERE, mask, !(predicate)) == 0)
#define __activemask() polysched::lanes_here(POLYSCHED_HERE)
#define __match_any_sync(mask, value) polysched::match(POLYSCHED_HERE, mask, value)
#define __match_all_sync(mask, value, all) polysched_match_all(POLYSCHED_HERE, mask, value, all)
template <class T> POLYSCHED_INLINE unsigned polysched_match_all(unsigned place, unsigned line, unsigned mask, T value, int *all)
{
    const unsigned same = polysched::match(place, line, mask, value);
    *all = same == polysched::lanes_met();
    return *all ? same : 0;
}

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
    polysched::reduce(POLYSCHED_HERE, mask, value, [](auto a, auto b) __attribute__((no_sanitize("thread"), no_sanitize("undefined"))) { return result; })
#define __reduce_add_sync(mask, value) POLYSCHED_REDUCE(mask, value, a + b)
#define __reduce_min_sync(mask, value) POLYSCHED_REDUCE(mask, value, b < a ? b : a)
#define __reduce_max_sync(mask, value) POLYSCHED_REDUCE(mask, value, b > a ? b : a)
#define __reduce_and_sync(mask, value) POLYSCHED_REDUCE(mask, value, a &b)
#define __reduce_or_sync(mask, value) POLYSCHED_REDUCE(mask, value, a | b)
#define __reduce_xor_sync(mask, value) POLYSCHED_REDUCE(mask, value, a ^ b)

/* Copies happen as late as they may: when the thread waits for them. */
POLYSCHED_INLINE void __pipeline_memcpy_async(void *to, const void *from, size_t size, size_t zeros = 0)
{
    polysched_check_copy_begins(to, from, size, zeros);
    polysched::begin_copy(to, from, size, zeros);
}
POLYSCHED_INLINE void __pipeline_commit() { polysched::commit_copies(); }
POLYSCHED_INLINE void __pipeline_wait_prior(size_t later) { polysched::finish_copies(later); }
