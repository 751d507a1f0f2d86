/* What race_check.cpp is told while kernels run; nothing, if it is not there. */
#pragma once
#include <stddef.h>

/* Nothing here is to be checked as a kernel's text is, nor may it be optimized across a change of threads. */
#define POLYSCHED_OWN __attribute__((no_sanitize("thread"), no_sanitize("undefined"), noinline, unused))
#define POLYSCHED_INLINE static inline __attribute__((always_inline, unused))
#define POLYSCHED_HERE __COUNTER__, __LINE__ /* a place in a kernel's text: two on one line differ */

#ifdef POLYSCHED_CHECKED
extern "C" {
void polysched_check_launch(const char *kernel, const unsigned *grid, const unsigned *block, const char *shared,
                            size_t dynamic, const char *stacks, size_t stride, size_t count, void (*stop)(const char *));
void polysched_check_block(unsigned block);
void polysched_check_thread(unsigned thread, unsigned stack);
void polysched_check_warp_paused(void);
void polysched_check_warp_sync(unsigned warp, unsigned lanes);
void polysched_check_tile(unsigned first, unsigned end);
void polysched_check_left(unsigned warp, unsigned together, unsigned returned, unsigned line);
void polysched_check_barrier(const bool *waits, unsigned count, unsigned place, unsigned line);
void polysched_check_end(void);
void polysched_check_suspended(unsigned block);
void polysched_check_grid_barrier(void);
void polysched_check_fence(void);
void polysched_check_absent(const void *here, unsigned lane, bool is_in_block);
void polysched_check_unnamed(const void *here, unsigned lane);
void polysched_check_allocated(const void *memory, size_t size, const void *like);
void polysched_check_filled(const void *memory, size_t size);
void polysched_check_freed(const void *memory);
void polysched_check_atomic(const void *at, size_t size, bool is_of_block);
void polysched_check_compare(const void *at, size_t size, const void *expected);
void polysched_check_copy_begins(const void *to, const void *from, size_t size, size_t zeros);
void polysched_check_copy_ends(const void *to, size_t size);
}
#else
#define polysched_check_launch(...) ((void)0)
#define polysched_check_block(...) ((void)0)
#define polysched_check_thread(...) ((void)0)
#define polysched_check_warp_paused(...) ((void)0)
#define polysched_check_warp_sync(...) ((void)0)
#define polysched_check_tile(...) ((void)0)
#define polysched_check_left(...) ((void)0)
#define polysched_check_barrier(...) ((void)0)
#define polysched_check_end(...) ((void)0)
#define polysched_check_suspended(...) ((void)0)
#define polysched_check_grid_barrier(...) ((void)0)
#define polysched_check_fence(...) ((void)0)
#define polysched_check_absent(...) ((void)0)
#define polysched_check_unnamed(...) ((void)0)
#define polysched_check_allocated(...) ((void)0)
#define polysched_check_filled(...) ((void)0)
#define polysched_check_freed(...) ((void)0)
#define polysched_check_atomic(...) ((void)0)
#define polysched_check_compare(...) ((void)0)
#define polysched_check_copy_begins(...) ((void)0)
#define polysched_check_copy_ends(...) ((void)0)
#endif
