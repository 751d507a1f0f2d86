/* Which accesses are faults: whether two of them conflict, whether what is read was written, and whose memory it is. */
#pragma once
#include "race_guesses.h"
#include "race_order.h"
#include "race_skipped.h"
#include "race_traffic.h"

extern "C" uint64_t polysched_check_limit;

namespace {

/* Whether nothing orders the two. */
inline bool conflicts(const Access &access, const Access &own, int region, size_t offset)
{
    if (access.epoch < checker->launch_epoch)
        return false;
    if (access.epoch < checker->block_epoch)
        return checker->regions[region].space != shared && !is_published(access, own, checker->regions[region].begin + offset);
    return !is_before(access, own);
}

inline void meet(const Access &access, const Access &own, int region, size_t offset, unsigned size)
{
    if (conflicts(access, own, region, offset))
        report(access.epoch < checker->block_epoch ? race_of_blocks : race, region, offset, size, own, &access);
}

/* Threads may write the same to one element by one instruction: then it does not matter who is last. What is written
   is known when the next thing happens. */
void settle()
{
    Repeated &it = checker->repeated;
    if (it.size && memcmp((const void *)it.at, it.bytes, it.size) != 0) {
        Region &region = checker->regions[it.region];
        const size_t offset = it.at - region.begin;
        meet(it.first, it.own, it.region, offset, it.size);
        for (size_t k = offset >> region.granule; k <= (offset + it.size - 1) >> region.granule; k++)
            region.cells[k].write = it.own;
    }
    it.size = 0;
}

inline void meet_all(const Accesses &accesses, const Access &own, int region, size_t offset, unsigned size)
{
    meet(accesses.first, own, region, offset, size);
    meet(accesses.second, own, region, offset, size);
    meet(accesses.earlier, own, region, offset, size);
}

/* Updates of two blocks, one of which is atomic in its block alone. */
inline void meet_block_updates(const Accesses &updates, const Access &own, int region, size_t offset, unsigned size)
{
    const bool is_of_block = checker->sites[own.site].is_of_block;
    for (const Access *it : {&updates.first, &updates.earlier})
        if (it->epoch && it->epoch < checker->block_epoch && (is_of_block || checker->sites[it->site].is_of_block))
            meet(*it, own, region, offset, size);
}

inline void add(Accesses &accesses, const Access &own)
{
    Access &first = accesses.first;
    if (first.epoch >= checker->launch_epoch && first.epoch < checker->block_epoch)
        accesses.earlier = first;
    if (is_before(first, own)) {
        first = own;
        if (accesses.second.epoch && is_before(accesses.second, own))
            accesses.second.epoch = 0;
    } else {
        accesses.second = own;
    }
}

/* Smaller cells, where an access is to part of one: what is known of the whole holds for its parts. */
void refine(Region &region, unsigned granule)
{
    std::vector<Cell> finer(((region.end - region.begin) >> granule) + 1);
    for (size_t k = 0; k < finer.size(); k++)
        finer[k] = region.cells[k << granule >> region.granule];
    region.cells.swap(finer);
    region.granule = granule;
}

inline void touch(Cell &cell, Operation operation, const Access &own, int id, size_t offset, unsigned size)
{
    const Region &region = checker->regions[id];
    const bool is_repeated = checker->repeated.size && cell.write.site == own.site;
    if (!is_repeated)
        meet(cell.write, own, id, offset, size);
    if (cell.copy.epoch >= checker->block_epoch)
        report(in_flight, id, offset, size, own, &cell.copy);
    if (operation != update_it)
        meet_all(cell.updates, own, id, offset, size);
    else
        meet_block_updates(cell.updates, own, id, offset, size);
    if (operation != read_it)
        meet_all(cell.reads, own, id, offset, size);
    if (operation == read_it || operation == update_it) {
        const bool is_filled = region.space == shared ? cell.filled >= checker->block_epoch : region.space != fresh || cell.filled;
        if (!is_filled)
            report(uninitialized, id, offset, size, own);
        add(operation == read_it ? cell.reads : cell.updates, own);
    } else if (operation == write_it) {
        if (!is_repeated)
            cell.write = own;
    } else {
        cell.copy = own;
    }
    if (operation != read_it)
        cell.filled = checker->epoch;
}

/* Shared memory of a block that waits for the grid, while others have theirs at the same place. */
void keep_shared(uint32_t block)
{
    std::vector<Kept> &kept = checker->suspended[block];
    kept.clear();
    for (const int id : checker->shared_ids)
        kept.push_back({checker->regions[id].cells, checker->regions[id].granule, checker->block_epoch});
}

void restore_shared(uint32_t block)
{
    const auto found = checker->suspended.find(block);
    for (size_t k = 0; found != checker->suspended.end() && k < found->second.size(); k++) {
        Kept &kept = found->second[k];
        Region &region = checker->regions[checker->shared_ids[k]];
        region.granule = kept.granule;
        region.cells.swap(kept.cells);
        for (Cell &cell : region.cells)
            cell.filled = cell.filled >= kept.block_epoch ? checker->epoch : 0;
    }
}

int nearest_region(uintptr_t at)
{
    int nearest = -1;
    uintptr_t distance = 1 << 20;
    for (size_t k = 0; k < checker->regions.size(); k++) {
        const Region &region = checker->regions[k];
        const uintptr_t away = at < region.begin ? region.begin - at : at >= region.end ? at - region.end : 0;
        if (region.begin && away <= distance) /* the last one: what follows an array may be a dynamic one of 0 bytes */
            nearest = k, distance = away;
    }
    return nearest;
}

inline bool holds(int region, uintptr_t at, size_t size)
{
    return region >= 0 && at >= checker->regions[region].begin && at + size <= checker->regions[region].end;
}

int region_of(uintptr_t at, size_t size)
{
    for (size_t k = 0; k < checker->regions.size(); k++)
        if (holds(k, at, size))
            return k;
    return -1;
}

/* Around an argument there is nothing of others, so that the launch can go on; anywhere else it must not. */
void outside(uintptr_t at, unsigned size, const Access &own)
{
    const char *here = (const char *)at;
    if (here >= checker->stacks && here < checker->stacks + checker->stacks_size) {
        report(foreign_local, -1, 0, size, own);
        return;
    }
    const int nearest = nearest_region(at);
    if (nearest < 0) {
        report(wild, -1, at, size, own);
        checker->stop("an access far from any array");
    } else {
        report(out_of_bounds, nearest, (int64_t)(at - checker->regions[nearest].begin), size, own);
        const Region &region = checker->regions[nearest];
        if (region.space != given || at + guard < region.begin || at + size > region.end + guard)
            checker->stop("an access out of bounds");
    }
}

void access(uintptr_t at, unsigned size, Operation operation, uintptr_t pc, unsigned multiple = 0)
{
    if (!checker->runs || !size || at - checker->own_stack < checker->stride)
        return;
    if (checker->accesses++ > polysched_check_limit)
        checker->stop("more accesses to memory than are checked; does it end?");
    settle();
    const uint32_t id = site_of(pc, operation, size);
    Site &site = checker->sites[id];
    const Access own = {checker->epoch, id, checker->thread, checker->seen[checker->thread][checker->thread % lanes]};
    if (!holds(site.region, at, size)) {
        const int found = region_of(at, size);
        if (found < 0)
            return outside(at, size, own);
        site.region = found;
    }
    const int it = site.region;
    Region &region = checker->regions[it];
    if (region.space == ignored)
        return;
    const size_t offset = at - region.begin;
    if (multiple && at % multiple) {
        report(misaligned, it, offset, multiple, own);
        checker->stop("a misaligned access");
    }
    note(id, at, size);
    if (operation == read_it)
        note_guess(site, at, size);
    if (!checker->skipped.empty())
        look_for_skipped(id, own);
    checker->last_access[own.thread] = site.last[own.thread] = checker->accesses;
    if ((offset | size) & ((1u << region.granule) - 1))
        refine(region, __builtin_ctzll(offset | size));
    const size_t last = (offset + size - 1) >> region.granule;
    const Access &write = region.cells[offset >> region.granule].write;
    if (operation == write_it && size <= 16 && write.site == id && conflicts(write, own, it, offset)) {
        checker->repeated = {at, it, size, own, write, {}};
        memcpy(checker->repeated.bytes, (const void *)at, size);
    }
    for (size_t k = offset >> region.granule; k <= last; k++)
        touch(region.cells[k], operation, own, it, offset, size);
}

int add_region(uintptr_t begin, size_t size, Space space, unsigned granule, int like = -1)
{
    checker->regions.push_back({begin, begin + size, size, space, like, (uint8_t)granule, std::vector<Cell>((size >> granule) + 1)});
    return checker->regions.size() - 1;
}

} // namespace
