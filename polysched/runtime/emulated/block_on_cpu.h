/* The threads of a GPU's block on one thread of the CPU: each has a stack of its own, and runs until it must wait.

       polysched::launch("scale_k0", grid, block, scale_k0, n, a);      every block, one after another
       polysched::barrier(POLYSCHED_HERE);                              in a kernel: waits for all threads of the block
       polysched::ballot(POLYSCHED_HERE, mask, predicate);              for those of its warp that the mask names

   Blocks, warps and lanes run in order, or in reverse if polysched_reverse is set. Threads that never wait share a
   stack and are never switched. Memory that a block's threads share holds NaNs when the block begins.
   What CUDA leaves undefined ends the launch, and the program's other launches, with a text in polysched_fault.
   With POLYSCHED_CHECKED, race_check.cpp is told what runs. */
#pragma once
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checker_on_cpu.h"
#include "stacks_on_cpu.h"

struct uint3 {
    unsigned x, y, z;
};
struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
    dim3(uint3 from) : x(from.x), y(from.y), z(from.z) {}
};

/* Read as constants, since they are for a thread while it runs, and set under other names when another one does. */
extern const uint3 threadIdx __asm__("polysched_thread_index");
extern const uint3 blockIdx __asm__("polysched_block_index");
extern const uint3 blockDim __asm__("polysched_block_size");
extern const uint3 gridDim __asm__("polysched_grid_size");
enum { warpSize = 32 };

extern "C" {
__attribute__((visibility("hidden"))) uint3 polysched_thread_index, polysched_block_index;
__attribute__((visibility("hidden"))) uint3 polysched_block_size, polysched_grid_size;
int polysched_reverse = 0;      /* 1: the last block, warp and lane run first */
char polysched_fault[1024];     /* what went wrong; empty if nothing did */
size_t polysched_dynamic = 0;   /* bytes of dynamic shared memory of the launch */
unsigned char polysched_absent = 0xff; /* the bytes of a value that no lane gives */
double polysched_until = 0;     /* seconds on the monotonic clock, after which no launch begins; 0: any time */
}

namespace polysched {

enum { most_threads = 1024, lanes = 32, most_stacks = 16384 }; /* stacks: of blocks that wait for the whole grid, too */
enum State : unsigned char { fresh, ready, at_barrier, at_warp, at_tile, at_grid, done };

struct Thread {
    State state;
    unsigned short stack;
    unsigned place, line; /* where it waits */
    unsigned mask, met;   /* for which lanes, 0: for those that come; which of them came. Of a tile its threads */
    bool orders_memory;   /* whether what they did before is done for all of them */
    uint64_t offered[2];  /* to them */
    uint64_t published[2]; /* what it offered when they had all come */
    int first_copy, last_copy; /* asynchronous copies that it has begun, oldest first; -1: none */
    size_t batches;            /* of copies that it has closed */
};

struct Copy {
    char *to;
    const char *from;
    size_t size, zeros, batch;
    int next;
};

struct Machine {
    Thread threads[most_threads];
    void *contexts[most_stacks]; /* of stacks whose thread waits */
    uint3 indices[most_threads];
    unsigned short free_stacks[most_stacks];
    unsigned free_count, count, current, last_lane; /* threads of the block; who runs; where its warp ends */
    void *scheduler;
    char *stacks;
    const char *kernel;
    void (*call)(const void *);
    const void *arguments;
    Copy *copies;
    int copies_used, copies_made;
    bool failed;
};
static Machine machine;

static void run_lanes();

POLYSCHED_OWN static void pause() { polysched_switch(&machine.contexts[machine.threads[machine.current].stack], machine.scheduler); }

/* --- what went wrong */

struct Text {
    char text[64];
};
POLYSCHED_OWN static Text name_of(const char *what, uint3 index)
{
    Text name;
    snprintf(name.text, sizeof name.text, "%s (%u, %u, %u)", what, index.x, index.y, index.z);
    return name;
}

template <class... Parts> POLYSCHED_OWN static void fail(const char *format, Parts... parts)
{
    if (!polysched_fault[0]) {
        const int length = snprintf(polysched_fault, sizeof polysched_fault, "%s: ", machine.kernel);
        snprintf(polysched_fault + length, sizeof polysched_fault - length, format, parts...);
    }
    machine.failed = true;
}

/* Ends the launch from within a thread, which never goes on. */
extern "C" POLYSCHED_OWN void polysched_stop(const char *why)
{
    fail("%s, in %s of %s", why, name_of("thread", polysched_thread_index).text, name_of("block", polysched_block_index).text);
    pause();
    __builtin_trap();
}

/* --- scheduling */

POLYSCHED_OWN static void run_here(unsigned thread, unsigned stack)
{
    machine.current = thread;
    machine.threads[thread].stack = stack;
    polysched_thread_index = machine.indices[thread];
    polysched_check_thread(thread, stack);
}

/* What a stack does: it runs the current thread, and those of its warp after it as long as they have not begun. */
POLYSCHED_OWN static void run_lanes()
{
    for (;;) {
        Thread *thread = &machine.threads[machine.current];
        thread->state = ready;
        machine.call(machine.arguments);
        thread->state = done;
        const unsigned next = machine.current + (polysched_reverse ? -1 : 1);
        if (*(uint64_t *)(machine.stacks + thread->stack * stack_stride))
            fail("a thread needs more than %zu bytes of local memory", (size_t)stack_size);
        if (machine.current != machine.last_lane && !machine.failed && machine.threads[next].state == fresh)
            run_here(next, thread->stack);
        else
            pause();
    }
}

POLYSCHED_OWN static void resume(unsigned thread)
{
    const bool starts = machine.threads[thread].state == fresh;
    if (starts && !machine.free_count)
        return fail("more than %u threads wait for the whole grid, which is not known here", (unsigned)most_stacks);
    const unsigned stack = starts ? machine.free_stacks[--machine.free_count] : machine.threads[thread].stack;
    if (starts && !machine.contexts[stack])
        machine.contexts[stack] = new_context(machine.stacks + stack * stack_stride, run_lanes);
    run_here(thread, stack);
    polysched_switch(&machine.scheduler, machine.contexts[stack]);
    if (machine.threads[machine.current].state == done)
        machine.free_stacks[machine.free_count++] = stack;
}

} // namespace polysched
