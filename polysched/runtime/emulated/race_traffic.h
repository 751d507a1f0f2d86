/* What warps access at once, and what it costs: sectors of global memory, cycles of shared memory. */
#pragma once
#include "race_state.h"

namespace {

uint32_t site_of(uintptr_t pc, Operation operation, unsigned size)
{
    const uint64_t key = site_key(pc, operation);
    const auto found = checker->site_ids.find(key);
    if (found != checker->site_ids.end())
        return found->second;
    const uint32_t id = checker->sites.size();
    checker->site_ids[key] = id;
    Site &site = checker->sites.emplace_back();
    site.last.resize(1024);
    site.pc = pc, site.launch = checker->kernel, site.operation = operation, site.size = size, site.region = -1;
    return id;
}

inline void note(uint32_t id, uintptr_t at, unsigned size)
{
    Site &site = checker->sites[id];
    const unsigned lane = checker->thread % lanes, k = site.counts[lane]++;
    site.accesses++;
    site.size = size > site.size ? size : site.size;
    if (k >= site.used) {
        if (k >= most_rows)
            return;
        if (!site.used)
            checker->touched.push_back(id);
        site.used = k + 1;
        if (k >= site.rows.size())
            site.rows.resize(2 * k + 1);
        site.rows[k].mask = 0;
    }
    site.rows[k].mask |= 1u << lane;
    site.rows[k].at[lane] = at;
}

/* The distinct units of `unit` bytes that these addresses touch, in `units`; few of them are out of order. */
unsigned distinct(const uintptr_t *at, unsigned count, unsigned size, unsigned unit, uintptr_t *units)
{
    unsigned total = 0;
    for (unsigned k = 0; k < count; k++)
        for (uintptr_t it = at[k] / unit; it <= (at[k] + size - 1) / unit; it++) {
            unsigned place = total;
            while (place > 0 && units[place - 1] > it)
                place--;
            if (place > 0 && units[place - 1] == it)
                continue;
            memmove(units + place + 1, units + place, (total - place) * sizeof *units);
            units[place] = it;
            total++;
        }
    return total;
}

/* Memory moves sectors of 32 bytes. */
void count_sectors(Site &site, const uintptr_t *at, unsigned count)
{
    const unsigned size = site.size < 16 ? site.size : 16;
    uintptr_t units[lanes * 17];
    const unsigned bytes = distinct(at, count, size, size, units) * size;
    site.sectors += distinct(at, count, size, 32, units);
    site.least_sectors += (bytes + 31) / 32;
}

/* Shared memory has 32 banks of 4 bytes; each gives one word a cycle, the same one to all lanes. Lanes go together as
   many at a time as they ask for 128 bytes. */
void count_cycles(Site &site, const uintptr_t *at, unsigned count)
{
    const unsigned size = site.size < 4 ? 4 : site.size < 16 ? site.size : 16, group = 128 / size;
    uintptr_t units[lanes * 5];
    for (unsigned from = 0; from < count; from += group) {
        const unsigned words = distinct(at + from, count - from < group ? count - from : group, site.size < 16 ? site.size : 16, 4, units);
        unsigned used[32] = {}, cycles = 1;
        for (unsigned k = 0; k < words; k++) {
            const unsigned in_bank = ++used[units[k] % 32];
            cycles = in_bank > cycles ? in_bank : cycles;
        }
        site.cycles += cycles;
        site.least_cycles++;
    }
}

void count_warp()
{
    for (const uint32_t id : checker->touched) {
        Site &site = checker->sites[id];
        const bool is_shared = site.region >= 0 && checker->regions[site.region].space == shared;
        for (unsigned k = 0; k < site.used; k++) {
            const Row &row = site.rows[k];
            uintptr_t at[lanes];
            unsigned count = 0;
            for (unsigned lane = 0; lane < lanes; lane++)
                if (row.mask >> lane & 1)
                    at[count++] = row.at[lane];
            site.requests++;
            is_shared ? count_cycles(site, at, count) : count_sectors(site, at, count);
        }
        site.used = 0;
        memset(site.counts, 0, sizeof site.counts);
    }
    checker->touched.clear();
}

} // namespace
