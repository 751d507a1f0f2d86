/* Launches a kernel on the threads of block_on_cpu.h: its blocks, and the memory that each of them shares. */
#pragma once
#include <assert.h>
#include <link.h>
#include <sys/mman.h>
#include <time.h>

#include "releasing_on_cpu.h"
#include "trial_launch_on_cpu.h"

namespace polysched {

/* Runs the lanes of a warp until each waits for the whole block or is done. */
POLYSCHED_OWN static void run_warp(unsigned warp)
{
    const unsigned first = warp * lanes, end = first + lanes < machine.count ? first + lanes : machine.count;
    machine.last_lane = polysched_reverse ? first : end - 1;
    do {
        for (unsigned k = first; k < end && !machine.failed; k++) {
            const unsigned thread = polysched_reverse ? end - 1 - (k - first) : k;
            if (machine.threads[thread].state <= ready)
                resume(thread);
        }
    } while (!machine.failed && release_lanes(first, end - 1));
    polysched_check_warp_paused();
}

/* Until all threads are done, or wait for the grid. */
POLYSCHED_OWN static void run_block()
{
    const unsigned warps = (machine.count + lanes - 1) / lanes;
    do
        for (unsigned w = 0; w < warps && !machine.failed; w++)
            run_warp(polysched_reverse ? warps - 1 - w : w);
    while (!machine.failed && (release_tiles() || release_block()));
}

POLYSCHED_OWN static void start_block()
{
    for (unsigned t = 0; t < machine.count; t++) {
        machine.threads[t].state = fresh;
        machine.threads[t].orders_memory = false;
        machine.threads[t].first_copy = machine.threads[t].last_copy = -1;
    }
    machine.copies_used = 0;
    run_block();
}

/* --- launching */

struct Bound { /* of __launch_bounds__, as launch_bounds.py writes them behind a text */
    const char *kernel;
    uint64_t threads;
};
static const Bound *bounds; /* the last has no kernel */

template <class... T> constexpr uint64_t first(uint64_t threads, T...) { return threads; }

struct Shared {
    char *at;
    size_t size;
};

/* The thread-local variables of this library: __shared__ makes them. */
POLYSCHED_OWN static int find_shared(dl_phdr_info *library, size_t, void *result)
{
    bool is_this = false;
    size_t size = 0;
    for (int k = 0; k < library->dlpi_phnum; k++) {
        const ElfW(Phdr) &part = library->dlpi_phdr[k];
        const uintptr_t begin = library->dlpi_addr + part.p_vaddr;
        is_this |= part.p_type == PT_LOAD && (uintptr_t)&machine - begin < part.p_memsz;
        size += part.p_type == PT_TLS ? part.p_memsz : 0;
    }
    if (is_this)
        *(Shared *)result = {(char *)library->dlpi_tls_data, size};
    return is_this;
}

static thread_local char anchor; /* so that there are thread-local variables, and by its address they exist */

POLYSCHED_OWN static Shared memory_of_block()
{
    Shared shared = {&anchor, 0};
    dl_iterate_phdr(find_shared, &shared);
    return shared;
}

POLYSCHED_OWN static bool make_stacks()
{
    const int kind = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *stacks = mmap(nullptr, stack_stride * most_stacks, PROT_READ | PROT_WRITE, kind, -1, 0);
    if (stacks == MAP_FAILED)
        return false;
    machine.stacks = (char *)stacks;
    machine.free_count = 0;
    memset(machine.contexts, 0, sizeof machine.contexts);
    for (unsigned k = most_stacks; k-- > 0;)
        machine.free_stacks[machine.free_count++] = k;
    return true;
}

/* All threads of a launch that did not fail have given theirs back: the next one goes on with them. The caller calls
   this after the last, since a process may hold thousands of programs. */
extern "C" POLYSCHED_OWN void polysched_drop_stacks()
{
    if (machine.stacks)
        munmap(machine.stacks, stack_stride * most_stacks);
    machine.stacks = nullptr;
}

POLYSCHED_OWN static bool is_late()
{
    timespec now = {};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return polysched_until && now.tv_sec + 1e-9 * now.tv_nsec > polysched_until;
}

POLYSCHED_OWN static bool begin(const char *kernel, dim3 grid, dim3 block)
{
    const uint64_t threads = (uint64_t)block.x * block.y * block.z;
    machine.kernel = kernel;
    if (polysched_fault[0] || !grid.x || !grid.y || !grid.z)
        return false;
    machine.failed = false;
    if (is_late())
        fail("there is no time left to launch it");
    if (!threads || block.x > most_threads || block.y > most_threads || block.z > 64 || threads > most_threads)
        fail("blocks of %u x %u x %u threads; CUDA runs 1 to 1024, at most 64 along z", block.x, block.y, block.z);
    else if (grid.x > 2147483647u || grid.y > 65535 || grid.z > 65535)
        fail("a grid of %u x %u x %u blocks; CUDA runs at most 2147483647 x 65535 x 65535", grid.x, grid.y, grid.z);
    for (const Bound *bound = bounds; bound && bound->kernel; bound++)
        if (strcmp(bound->kernel, kernel) == 0 && threads > bound->threads)
            fail("blocks of %u x %u x %u threads, but its __launch_bounds__ allow %llu", block.x, block.y, block.z,
                 (unsigned long long)bound->threads);
    if (!machine.failed && !machine.stacks && !make_stacks())
        fail("there is no memory for the stacks of its threads");
    return !machine.failed;
}

/* --- blocks that wait for the whole grid: what each had is kept, until it goes on */

struct Suspended {
    uint64_t block; /* its number */
    Thread threads[most_threads];
    char *shared;
    Suspended *next;
};

POLYSCHED_OWN static void enter_block(uint64_t block)
{
    const uint3 grid = polysched_grid_size;
    polysched_block_index = {(unsigned)(block % grid.x), (unsigned)(block / grid.x % grid.y), (unsigned)(block / grid.x / grid.y)};
}

/* The thread that waits for the grid; none: ~0u. */
POLYSCHED_OWN static unsigned waits_for_grid()
{
    for (unsigned t = 0; t < machine.count; t++)
        if (machine.threads[t].state == at_grid)
            return t;
    return ~0u;
}

POLYSCHED_OWN static Suspended *suspend(uint64_t block, const Shared &shared)
{
    Suspended *it = (Suspended *)malloc(sizeof(Suspended));
    it->block = block;
    it->next = nullptr;
    memcpy(it->threads, machine.threads, sizeof machine.threads);
    it->shared = (char *)malloc(shared.size + 1);
    memcpy(it->shared, shared.at, shared.size);
    polysched_check_suspended(block);
    return it;
}

/* All must have come, and to one place. */
POLYSCHED_OWN static void meet_for_grid(uint64_t blocks, const Suspended *all)
{
    uint64_t come = 0;
    unsigned place = 0, line = 0;
    for (const Suspended *it = all; it && !machine.failed; it = it->next, come++)
        for (unsigned t = 0; t < machine.count && !machine.failed; t++) {
            if (it->threads[t].state != at_grid)
                continue;
            if (!line)
                place = it->threads[t].place, line = it->threads[t].line;
            if (it->threads[t].place != place)
                fail("a block waits for the grid in line %u, but another one in line %u", line, it->threads[t].line);
        }
    if (come < blocks)
        fail("%llu of %llu blocks wait for the grid in line %u, but others have returned", (unsigned long long)come,
             (unsigned long long)blocks, line);
    polysched_check_grid_barrier();
}

POLYSCHED_OWN static void run_blocks(uint64_t blocks, const Shared &shared)
{
    Suspended *waiting = nullptr, **last = &waiting;
    for (uint64_t k = 0; k < blocks && !machine.failed; k++) {
        const uint64_t block = polysched_reverse ? blocks - 1 - k : k;
        enter_block(block);
        memset(shared.at, 0xff, shared.size);
        polysched_check_block(block);
        start_block();
        if (waits_for_grid() != ~0u)
            last = &(*last = suspend(block, shared))->next;
    }
    while (waiting) {
        if (!machine.failed)
            meet_for_grid(blocks, waiting);
        Suspended *all = waiting;
        waiting = nullptr, last = &waiting;
        while (Suspended *it = all) {
            if (!machine.failed) {
                enter_block(it->block);
                memcpy(machine.threads, it->threads, sizeof machine.threads);
                memcpy(shared.at, it->shared, shared.size);
                for (unsigned t = 0; t < machine.count; t++)
                    if (machine.threads[t].state == at_grid)
                        machine.threads[t].state = ready;
                polysched_check_block(it->block);
                run_block();
                if (waits_for_grid() != ~0u)
                    last = &(*last = suspend(it->block, shared))->next;
            }
            all = it->next;
            free(it->shared);
            free(it);
        }
    }
}

POLYSCHED_OWN static void run_grid(const char *kernel, dim3 grid, dim3 block, void (*call)(const void *), const void *arguments)
{
    if (is_only_noted(kernel))
        return;
    grid = clamped(kernel, grid);
    if (!begin(kernel, grid, block))
        return;
    const Shared shared = memory_of_block();
    void *before = malloc(shared.size + 1); /* the host may have thread-local variables too */
    memcpy(before, shared.at, shared.size);
    machine.count = block.x * block.y * block.z;
    for (unsigned t = 0; t < machine.count; t++)
        machine.indices[t] = {t % block.x, t / block.x % block.y, t / block.x / block.y};
    machine.call = call;
    machine.arguments = arguments;
    polysched_grid_size = {grid.x, grid.y, grid.z};
    polysched_block_size = {block.x, block.y, block.z};
    polysched_check_launch(kernel, &grid.x, &block.x, shared.at, polysched_dynamic, machine.stacks, stack_stride, most_stacks, polysched_stop);
    run_blocks((uint64_t)grid.x * grid.y * grid.z, shared);
    polysched_check_end();
    if (machine.failed) /* it has left threads behind */
        polysched_drop_stacks();
    memcpy(shared.at, before, shared.size);
    free(before);
}

/* Launches a kernel on its arguments as they are now. */
template <class... Parameters, class... Given>
POLYSCHED_OWN static void launch(const char *name, dim3 grid, dim3 block, void (*kernel)(Parameters...), Given... given)
{
    auto call = [=]() __attribute__((no_sanitize("thread"))) { kernel(given...); };
    using Call = decltype(call);
    run_grid(name, grid, block, [](const void *it) __attribute__((no_sanitize("thread"))) { (*(const Call *)it)(); }, &call);
}

} // namespace polysched
