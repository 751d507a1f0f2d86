/* What the threads of block_on_cpu.h wait for: all of the block, lanes of their warp, copies of their own. */
#pragma once
#include "block_on_cpu.h"

namespace polysched {

POLYSCHED_OWN static void wait_as(State state, unsigned place, unsigned line, unsigned mask)
{
    Thread &thread = machine.threads[machine.current];
    thread.state = state;
    thread.place = place;
    thread.line = line;
    thread.mask = mask;
    pause();
}

POLYSCHED_OWN static void barrier(unsigned place, unsigned line) { wait_as(at_barrier, place, line, 0); }
POLYSCHED_OWN static void sync_tile(unsigned place, unsigned line, unsigned size) { wait_as(at_tile, place, line, size); }
POLYSCHED_OWN static void grid_barrier(unsigned place, unsigned line) { wait_as(at_grid, place, line, 0); }

/* Offers a value to the lanes in the mask, and waits for them to offer theirs. */
POLYSCHED_OWN static void meet(unsigned place, unsigned line, unsigned mask, const void *value, size_t size)
{
    Thread &thread = machine.threads[machine.current];
    if (!(mask >> machine.current % lanes & 1))
        polysched_stop("a mask that leaves out the lane itself");
    memset(thread.offered, 0, sizeof thread.offered);
    if (size)
        memcpy(thread.offered, value, size);
    wait_as(at_warp, place, line, mask);
}

POLYSCHED_OWN static bool is_in_block(unsigned lane) { return machine.current / lanes * lanes + lane < machine.count; }

/* What a lane of this warp has offered; polysched_absent, as NaN, if it was not asked for, or is not there. */
POLYSCHED_OWN static bool received(unsigned lane, void *value, size_t size)
{
    const Thread &own = machine.threads[machine.current];
    const unsigned other = machine.current / lanes * lanes + lane;
    const bool is_there = is_in_block(lane) && own.met >> lane & 1;
    if (is_there)
        memcpy(value, machine.threads[other].published, size);
    else
        memset(value, polysched_absent, size);
    return is_there;
}

POLYSCHED_OWN static void sync_warp(unsigned place, unsigned line, unsigned mask)
{
    machine.threads[machine.current].orders_memory = true;
    meet(place, line, mask, nullptr, 0);
    machine.threads[machine.current].orders_memory = false;
}

/* Which lanes of the mask say yes. */
POLYSCHED_OWN static unsigned ballot(unsigned place, unsigned line, unsigned mask, int predicate)
{
    const unsigned own = predicate != 0;
    meet(place, line, mask, &own, sizeof own);
    unsigned votes = 0;
    for (unsigned lane = 0; lane < lanes; lane++) {
        unsigned other;
        votes |= (unsigned)(received(lane, &other, sizeof other) && other) << lane;
    }
    return votes;
}

POLYSCHED_OWN static unsigned count_at_barrier(unsigned place, unsigned line, int predicate)
{
    machine.threads[machine.current].offered[0] = predicate != 0;
    barrier(place, line);
    unsigned votes = 0;
    for (unsigned t = 0; t < machine.count; t++)
        votes += machine.threads[t].published[0] == 1;
    return votes;
}

/* The value of another lane; `source` is a lane within the group of `width` lanes, or stays the own one beyond it. */
template <class T>
POLYSCHED_OWN static T shuffle(unsigned place, unsigned line, unsigned mask, T value, int source, int width, bool wraps)
{
    const void *here = __builtin_return_address(0);
    (void)here;
    static_assert(sizeof(T) <= 16, "a shuffle takes up to 16 bytes");
    const int own = machine.current % lanes, first = own / width * width;
    meet(place, line, mask, &value, sizeof value);
    const int from = wraps ? first + (source % width + width) % width : first + source;
    const int lane = from >= first && from < first + width ? from : own;
    T result;
    if (received(lane, &result, sizeof result))
        return result;
    if (mask >> lane & 1)
        polysched_check_absent(here, lane, is_in_block(lane));
    else
        polysched_check_unnamed(here, lane);
    return result;
}

/* The same of all threads of a tile of several warps, to the bit. */
template <class T, class Operation>
POLYSCHED_OWN static T reduce_tile(unsigned place, unsigned line, unsigned size, T value, Operation operation)
{
    static_assert(sizeof(T) <= 16, "a reduction takes up to 16 bytes");
    memcpy(machine.threads[machine.current].offered, &value, sizeof value);
    wait_as(at_tile, place, line, size);
    const unsigned first = machine.current / size * size;
    bool any = false;
    for (unsigned t = first; t < first + size && t < machine.count; t++) {
        T other;
        memcpy(&other, machine.threads[t].published, sizeof other);
        if (machine.threads[t].met)
            value = any ? operation(value, other) : other, any = true;
    }
    return value;
}

/* Those lanes of the mask that offer the same. */
template <class T> POLYSCHED_OWN static unsigned match(unsigned place, unsigned line, unsigned mask, T value)
{
    meet(place, line, mask, &value, sizeof value);
    unsigned same = 0;
    for (unsigned lane = 0; lane < lanes; lane++) {
        T other;
        same |= (unsigned)(received(lane, &other, sizeof other) && memcmp(&other, &value, sizeof value) == 0) << lane;
    }
    return same;
}

/* Each lane gets the same, to the bit: as in a butterfly of shuffles, they combine in one order. */
template <class T, class Operation>
POLYSCHED_OWN static T reduce(unsigned place, unsigned line, unsigned mask, T value, Operation operation)
{
    meet(place, line, mask, &value, sizeof value);
    bool any = false;
    for (unsigned lane = 0; lane < lanes; lane++) {
        T other;
        if (received(lane, &other, sizeof other))
            value = any ? operation(value, other) : other, any = true;
    }
    return value;
}

/* Of the values of lower lanes, in their order, and the own one if it is `inclusive`. */
template <class T, class Operation>
POLYSCHED_OWN static T scan(unsigned place, unsigned line, unsigned mask, T value, Operation operation, bool inclusive)
{
    meet(place, line, mask, &value, sizeof value);
    T sum = T();
    bool any = false;
    for (unsigned lane = 0; lane < machine.current % lanes + inclusive; lane++) {
        T other;
        if (received(lane, &other, sizeof other))
            sum = any ? operation(sum, other) : other, any = true;
    }
    return sum;
}

/* The lanes that are here at once: as many as can come. */
POLYSCHED_OWN static unsigned lanes_here(unsigned place, unsigned line)
{
    wait_as(at_warp, place, line, 0);
    return machine.threads[machine.current].met;
}

POLYSCHED_OWN static unsigned lanes_met() { return machine.threads[machine.current].met; }

POLYSCHED_OWN static int lane_in(int width) { return (int)(machine.current % lanes) % width; }

/* --- asynchronous copies of one thread; none is made before the thread waits for it */

POLYSCHED_OWN static void begin_copy(void *to, const void *from, size_t size, size_t zeros)
{
    Thread &thread = machine.threads[machine.current];
    if (machine.copies_used == machine.copies_made) {
        machine.copies_made = 2 * machine.copies_made + 64;
        machine.copies = (Copy *)realloc(machine.copies, machine.copies_made * sizeof(Copy));
    }
    const int it = machine.copies_used++;
    machine.copies[it] = {(char *)to, (const char *)from, size, zeros, thread.batches, -1};
    (thread.last_copy < 0 ? thread.first_copy : machine.copies[thread.last_copy].next) = it;
    thread.last_copy = it;
}

POLYSCHED_OWN static void commit_copies() { machine.threads[machine.current].batches++; }

/* Makes those of all batches but the last few. */
POLYSCHED_OWN static void finish_copies(size_t later)
{
    Thread &thread = machine.threads[machine.current];
    while (thread.first_copy >= 0 && machine.copies[thread.first_copy].batch + later < thread.batches) {
        const Copy copy = machine.copies[thread.first_copy];
        polysched_check_copy_ends(copy.to, copy.size);
        memcpy(copy.to, copy.from, copy.size - copy.zeros);
        memset(copy.to + copy.size - copy.zeros, 0, copy.zeros);
        thread.first_copy = copy.next;
    }
    if (thread.first_copy < 0)
        thread.last_copy = -1;
}

} // namespace polysched

/* glibc's assert calls this. */
extern "C" POLYSCHED_OWN __attribute__((visibility("hidden"), noreturn)) void
__assert_fail(const char *condition, const char *, unsigned line, const char *) noexcept(true)
{
    char text[256];
    snprintf(text, sizeof text, "assert(%s) fails in line %u", condition, line);
    polysched::polysched_stop(text);
    __builtin_trap();
}
