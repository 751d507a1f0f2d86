/* Who of the threads that wait may go on: lanes of a warp, tiles of several warps, the whole block. */
#pragma once
#include "block_on_cpu.h"

namespace polysched {

POLYSCHED_OWN static void release_together(unsigned first, unsigned together)
{
    for (unsigned lane = 0; lane < lanes; lane++)
        if (together >> lane & 1) {
            Thread &it = machine.threads[first + lane];
            it.state = ready;
            it.met = together;
            memcpy(it.published, it.offered, sizeof it.offered);
        }
}

/* Lets lanes go on that wait for no others in particular: those at one place, the first of the text, so that others may
   still come to the later ones together. */
POLYSCHED_OWN static bool release_some_lanes(unsigned first, unsigned last)
{
    unsigned together = 0, place = 0, line = ~0u;
    for (unsigned t = first; t <= last; t++) {
        const Thread &it = machine.threads[t];
        if (it.state != at_warp || it.mask || it.line > line)
            continue;
        if (it.line < line)
            together = 0, place = it.place, line = it.line;
        if (it.place == place)
            together |= 1u << (t - first);
    }
    release_together(first, together);
    return together;
}

/* Lets lanes go on for which all others that their mask names have come; none is left that could come otherwise. */
POLYSCHED_OWN static bool release_lanes(unsigned first, unsigned last)
{
    bool released = false;
    unsigned waiting = ~0u, missing = ~0u;
    for (unsigned t = first; t <= last; t++) {
        const Thread own = machine.threads[t];
        if (own.state != at_warp || !own.mask)
            continue;
        unsigned together = 0, returned = 0, late = ~0u;
        for (unsigned other = first; other <= last; other++) {
            const Thread &it = machine.threads[other];
            if (!(own.mask >> (other - first) & 1))
                continue;
            if (it.state == done) {
                returned |= 1u << (other - first);
                continue;
            }
            if (it.state == at_warp && it.place == own.place && it.mask == own.mask)
                together |= 1u << (other - first);
            else
                late = other;
        }
        if (late != ~0u) {
            if (waiting == ~0u)
                waiting = t, missing = late;
            continue;
        }
        release_together(first, together);
        if (returned)
            polysched_check_left(first / lanes, together, returned, own.line);
        if (own.orders_memory)
            polysched_check_warp_sync(first / lanes, together);
        released = true;
    }
    if (!released && !(released = release_some_lanes(first, last)) && waiting != ~0u) {
        const Thread &late = machine.threads[missing];
        fail("%s of %s waits in line %u for %s, which waits in line %u%s", name_of("thread", machine.indices[waiting]).text,
             name_of("block", polysched_block_index).text, machine.threads[waiting].line,
             name_of("thread", machine.indices[missing]).text, late.line,
             late.state == at_warp && late.place == machine.threads[waiting].place ? " with another mask" : "");
    }
    return released;
}

/* Lets the threads of a tile of several warps go on, if all that have not returned wait for each other. */
POLYSCHED_OWN static bool release_tile(unsigned first)
{
    const Thread own = machine.threads[first];
    const unsigned from = first / own.mask * own.mask, end = from + own.mask < machine.count ? from + own.mask : machine.count;
    for (unsigned t = from; t < end; t++) {
        const Thread &it = machine.threads[t];
        if (it.state != done && (it.state != at_tile || it.place != own.place || it.mask != own.mask))
            return false;
    }
    for (unsigned t = from; t < end; t++) {
        Thread &it = machine.threads[t];
        it.met = it.state != done;
        if (it.met)
            it.state = ready, memcpy(it.published, it.offered, sizeof it.offered);
    }
    polysched_check_tile(from, end);
    return true;
}

POLYSCHED_OWN static bool release_tiles()
{
    bool released = false;
    for (unsigned t = 0; t < machine.count; t++)
        released |= machine.threads[t].state == at_tile && release_tile(t);
    return released;
}

/* Lets the block go on if all its threads that have not returned wait at one barrier; false when all are done, or wait
   for the grid. */
POLYSCHED_OWN static bool release_block()
{
    unsigned waiting = ~0u;
    for (unsigned t = 0; t < machine.count; t++) {
        const Thread &thread = machine.threads[t];
        if (thread.state == done)
            continue;
        if (waiting == ~0u) {
            waiting = t;
        } else if (thread.place != machine.threads[waiting].place) {
            fail("in %s, %s waits at the barrier in line %u, but %s at the one in line %u",
                 name_of("block", polysched_block_index).text, name_of("thread", machine.indices[waiting]).text,
                 machine.threads[waiting].line, name_of("thread", machine.indices[t]).text, thread.line);
            return false;
        }
    }
    if (waiting == ~0u || machine.threads[waiting].state == at_grid)
        return false;
    bool waits[most_threads];
    for (unsigned t = 0; t < machine.count; t++) {
        Thread &thread = machine.threads[t];
        waits[t] = thread.state != done;
        if (waits[t])
            thread.state = ready, memcpy(thread.published, thread.offered, sizeof thread.offered);
        else
            memset(thread.published, 0, sizeof thread.published);
    }
    polysched_check_barrier(waits, machine.count, machine.threads[waiting].place, machine.threads[waiting].line);
    return true;
}

} // namespace polysched
