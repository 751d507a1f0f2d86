/* Plain loads of what others update atomically: right where the value is no more than a guess, which an atomicCAS tests.

       old = *at;
       do { assumed = old; old = atomicCAS(at, assumed, f(assumed)); } while (old != assumed);

   If another thread changes the place in between, the atomicCAS says so. A load of which one value is not tested like
   that is in a race. */
#pragma once
#include "race_state.h"

namespace {

inline void note_guess(Site &site, uintptr_t at, unsigned size)
{
    if (size > sizeof(uint64_t))
        return;
    if (site.guesses.empty())
        site.guesses.resize(1024);
    Guess &guess = site.guesses[checker->thread];
    guess = {at, 0, checker->block_epoch, checker->accesses};
    memcpy(&guess.value, (const void *)at, size);
}

/* The thread compares what is there with what it expects: is that what it has loaded last? */
void show_guess(uintptr_t at, size_t size, const void *expected)
{
    Site *last = nullptr;
    uint64_t when = 0;
    for (Site &site : checker->sites) {
        if (site.guesses.empty())
            continue;
        Guess &guess = site.guesses[checker->thread];
        if (guess.at != at || guess.block_epoch != checker->block_epoch)
            continue;
        guess.at = 0;
        if (guess.when >= when)
            last = &site, when = guess.when;
    }
    if (last && last->size == size && memcmp(&last->guesses[checker->thread].value, expected, size) == 0)
        last->shown++;
}

/* Takes back the findings of races between an update and a load all of whose guesses were tested. */
void forgive_guesses()
{
    const auto is_guess = [](const Place &place) {
        const auto found = checker->site_ids.find(site_key(place.pc, place.operation));
        return place.operation == read_it && found != checker->site_ids.end() &&
               checker->sites[found->second].shown == checker->sites[found->second].accesses;
    };
    std::vector<Finding> kept;
    for (const Finding &it : checker->findings) {
        const bool is_race = it.kind == race || it.kind == race_of_blocks;
        const bool is_forgiven = is_race && ((is_guess(it.one) && it.other.operation == update_it) ||
                                             (is_guess(it.other) && it.one.operation == update_it));
        if (!is_forgiven)
            kept.push_back(it);
    }
    checker->findings.swap(kept);
}

} // namespace
