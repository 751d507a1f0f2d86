/* What happens before what: within a block by barriers and __syncwarp; of an earlier block, if it was published.

   A block publishes what it did before a __threadfence by an atomic operation behind that fence; between the two there
   may be a barrier. Who comes to the same place by an atomic operation later has it then, and so have those that it waits
   with afterwards. That is how the last block of a reduction knows what the others have written. */
#pragma once
#include "race_state.h"

namespace {

/* Whether a thread that has `seen` so much in that epoch comes after the access; both are of one block. */
inline bool is_before(const Access &access, unsigned thread, uint32_t epoch, const uint16_t *seen)
{
    const bool same_warp = access.thread / lanes == thread / lanes;
    return access.epoch < epoch || (access.epoch == epoch && same_warp && seen[access.thread % lanes] >= access.clock);
}

inline bool is_before(const Access &access, const Access &own)
{
    if (access.thread == own.thread || is_before(access, own.thread, own.epoch, checker->seen[own.thread]))
        return true;
    for (const TileSync &it : checker->tiles)
        if (own.thread - it.first < it.end - it.first && access.thread - it.first < it.end - it.first &&
            access.clock <= it.clocks[access.thread - it.first])
            return true;
    return false;
}

inline uint64_t fences_of(uint32_t block_epoch, unsigned thread) { return (uint64_t)block_epoch << 32 | thread; }

/* Whether the release comes after the access, with a fence in between: of its thread, or of the one that did the access,
   which it has waited for since. */
inline bool publishes(const Release &release, const Access &access, uint32_t block_epoch)
{
    if (release.fence && is_before(access, release.thread, release.fence, checker->seen_at_fences[release.seen].clocks))
        return true;
    const auto found = checker->fenced.find(fences_of(block_epoch, access.thread));
    if (found == checker->fenced.end())
        return false;
    for (const Fenced &it : found->second)
        if (it.epoch < release.at && (access.epoch < it.epoch || (access.epoch == it.epoch && access.clock <= it.clock)))
            return true;
    return false;
}

/* Whether one of the releases at this place, which the thread comes after, publishes the access. */
inline bool is_published_at(uintptr_t place, const std::vector<Acquired> &acquired, const Access &access, const Access &own,
                            bool is_update)
{
    for (const Acquired &it : acquired) {
        if (!is_before(it.by, own))
            continue;
        const std::vector<Release> &all = checker->releases[place];
        size_t low = 0, high = it.count;
        while (low < high) {
            const size_t middle = (low + high) / 2;
            all[middle].at < access.epoch ? low = middle + 1 : high = middle;
        }
        const uint32_t block = start_of(access.epoch).epoch;
        for (; low < it.count && start_of(all[low].at).epoch == block; low++)
            if (publishes(all[low], access, block) || (is_update && all[low].thread == access.thread))
                return true; /* one of two updates of a place is first, with a fence or without */
    }
    return false;
}

inline bool is_published(const Access &access, const Access &own, uintptr_t at)
{
    if (checker->sites[access.site].operation == update_it) {
        const auto found = checker->acquired.find(at);
        if (found != checker->acquired.end() && is_published_at(at, found->second, access, own, true))
            return true;
    }
    if (!checker->fenced.empty())
        for (const auto &it : checker->acquired)
            if (is_published_at(it.first, it.second, access, own, false))
                return true;
    return false;
}

/* An atomic operation is both: it takes what others have published there, and publishes what it may. */
void exchange(uintptr_t at, const Access &own)
{
    std::vector<Release> &all = checker->releases[at];
    std::vector<Acquired> &acquired = checker->acquired[at];
    if (!all.empty() && all[0].at < checker->block_epoch && (acquired.empty() || acquired.back().by.thread != own.thread))
        acquired.push_back({own, all.size()});
    const Fence &fence = checker->fences[own.thread]; /* one of another block is before all of this one */
    const Release release = {checker->epoch, fence.epoch, fence.seen, own.thread};
    if (all.empty() || all.back().at != release.at || all.back().thread != release.thread || all.back().fence != release.fence)
        all.push_back(release);
    else
        all.back() = release;
}

void fence(unsigned thread)
{
    uint16_t *seen = checker->seen[thread];
    checker->fences[thread] = {checker->epoch, (uint32_t)checker->seen_at_fences.size()};
    checker->seen_at_fences.emplace_back();
    memcpy(checker->seen_at_fences.back().clocks, seen, sizeof(Seen));
    checker->fenced[fences_of(checker->block_epoch, thread)].push_back({checker->epoch, seen[thread % lanes]});
    seen[thread % lanes]++; /* what it does from now on comes later */
    checker->seen_is_new = false;
}

} // namespace
