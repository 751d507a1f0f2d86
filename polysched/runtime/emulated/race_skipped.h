/* Barriers that some threads go around, and what the lanes of a warp do together: they have returned when the others wait, which alone is no fault, but have done
   before what the others do behind the barrier.

       if (x) return;  __syncthreads();  f();         right: the barrier is for those that have not returned
       if (x) __syncthreads();  f();                  wrong

   The last thing that both did before is where they parted; from there on, they must not do the same. */
#pragma once
#include "race_state.h"

namespace {

/* The last site that the thread accessed since the last barrier, and that `other`, if any, did too; -1: none. */
int last_site(unsigned thread, unsigned other)
{
    int found = -1;
    for (size_t k = 0; k < checker->sites.size(); k++) {
        const std::vector<uint64_t> &last = checker->sites[k].last;
        if (!last.empty() && last[thread] > checker->since && last[other] > checker->since &&
            (found < 0 || last[thread] > checker->sites[found].last[thread]))
            found = k;
    }
    return found;
}

/* Remembers what the thread, which has returned since the last barrier, did after it left `waiting`. */
void note_skipped_by(unsigned thread, unsigned waiting, bool parted_at_barrier, unsigned line, int warp)
{
    const int anchor = last_site(waiting, thread);
    if (checker->last_access[thread] <= checker->since || (anchor < 0 && !parted_at_barrier))
        return;
    const uint64_t from = anchor < 0 ? checker->since : checker->sites[anchor].last[thread];
    for (size_t k = 0; k < checker->sites.size(); k++)
        if (!checker->sites[k].last.empty() && checker->sites[k].last[thread] > from)
            checker->skipped.emplace(k, Skipped{thread, waiting, anchor, line, checker->accesses, warp});
}

void note_skipped(const bool *waits, unsigned count, unsigned place, unsigned line)
{
    const bool parted_here = place != checker->barrier_place; /* not in a loop with this barrier alone */
    checker->skipped.clear();
    checker->barrier_place = place;
    unsigned waiting = 0;
    while (!waits[waiting])
        waiting++;
    for (unsigned thread = 0; thread < count; thread++)
        if (!waits[thread])
            note_skipped_by(thread, waiting, parted_here, line, -1);
    checker->since = checker->accesses;
}

void forget_skipped()
{
    checker->skipped.clear();
    checker->barrier_place = ~0u;
    checker->since = checker->accesses;
}

void look_for_skipped(uint32_t site, const Access &own)
{
    const auto found = checker->skipped.find(site);
    if (found == checker->skipped.end())
        return;
    const Skipped &it = found->second;
    if (it.anchor >= 0 && checker->sites[it.anchor].last[own.thread] > it.since)
        return; /* it has come round */
    if (it.warp >= 0 && own.thread / lanes != (unsigned)it.warp)
        return;
    const uint32_t *block = checker->launches.back().block;
    const auto x = [=](unsigned t) { return t % block[0]; };
    const auto y = [=](unsigned t) { return t / block[0] % block[1]; };
    const auto z = [=](unsigned t) { return t / block[0] / block[1]; };
    const unsigned w = it.waiting, s = it.thread;
    if (Finding *finding = report(other, -1, 0, 0, own))
        snprintf(finding->text, sizeof finding->text,
                 "thread (%u, %u, %u) waits %s in line %u, but thread (%u, %u, %u) has done this without", x(w), y(w),
                 z(w), it.warp < 0 ? "at the barrier" : "for its warp", it.line, x(s), y(s), z(s));
}

} // namespace
