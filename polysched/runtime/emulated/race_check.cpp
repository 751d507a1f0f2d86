/* Decides races, reads of what was never written, and accesses out of bounds, while block_on_cpu.h runs kernels.

   Kernels are compiled with -fsanitize=thread, so that each access calls __tsan_read4(at) or its like, which are here.
   block_on_cpu.h says which thread runs, and what they have waited for. Two accesses of different threads conflict if
   one of them writes and not both are atomic. They are a race unless

   - both are of one block, and a barrier, or for lanes of a warp a __syncwarp, is between them;
   - or they are of different launches;
   - or an earlier block has published what it did, as race_order.h says;
   - or they are one instruction that writes the same;
   - or a plain load guesses what an atomicCAS of the same thread then compares, and the other is an update.

   That does not depend on the order in which threads run here, and needs no luck. For each element are kept: the last
   write; of the reads, and of the atomic updates, those of two threads since the last barrier, and one of an earlier
   block. Any conflict that there is, is one with these.

   Compiled once, as a library of its own; runtime/emulated/check.py reads what it found. */
#include "race_calls.h"

/* --- what block_on_cpu.h says */

extern "C" {

uint64_t polysched_check_limit; /* accesses of a run: more do not end, or will not soon */

void polysched_check_launch(const char *kernel, const unsigned *grid, const unsigned *block, const char *shared_memory,
                            size_t dynamic, const char *stacks, size_t stride, size_t count, void (*stop)(const char *))
{
    Launch launch = {};
    snprintf(launch.kernel, sizeof launch.kernel, "%s", kernel);
    memcpy(launch.grid, grid, sizeof launch.grid);
    memcpy(launch.block, block, sizeof launch.block);
    checker->launches.push_back(launch);
    checker->kernel = checker->kernels.emplace(kernel, checker->launches.size() - 1).first->second;
    checker->launch_epoch = checker->epoch + 1;
    checker->stacks = stacks;
    checker->stride = stride;
    checker->stacks_size = count * stride;
    checker->stop = stop;
    checker->runs = true;
    checker->releases.clear();
    checker->fenced.clear();
    checker->suspended.clear();
    const std::string spelled(kernel, strcspn(kernel, "< ")); /* with namespaces */
    const std::string name = spelled.substr(spelled.find_last_of(':') + 1);
    for (size_t k = 0; k < checker->shared_arrays.size(); k++) {
        const SharedArray &array = checker->shared_arrays[k];
        Region &region = checker->regions[checker->shared_ids[k]];
        if (!array.kernel.empty() && array.kernel != name) {
            region.begin = region.end = 0;
            continue;
        }
        const size_t size = array.size == ~(size_t)0 ? dynamic : array.size;
        region.begin = (uintptr_t)shared_memory + array.offset;
        if (region.begin + size != region.end || region.cells.empty()) {
            region.end = region.begin + size;
            region.size = size;
            region.granule = 3;
            region.cells.assign((size >> 3) + 1, Cell());
        }
    }
}

void polysched_check_block(unsigned block)
{
    settle();
    checker->block_epoch = ++checker->epoch;
    checker->acquired.clear();
    checker->tiles.clear();
    forget_skipped();
    checker->starts.push_back({checker->epoch, block, (uint32_t)checker->launches.size() - 1});
    restore_shared(block);
    if (checker->seen_is_new)
        return;
    memset(checker->seen, 0, sizeof checker->seen);
    for (unsigned t = 0; t < 1024; t++)
        checker->seen[t][t % lanes] = 1;
    checker->seen_is_new = true;
}

void polysched_check_thread(unsigned thread, unsigned stack)
{
    checker->accesses++;
    checker->thread = thread;
    checker->own_stack = (uintptr_t)checker->stacks + stack * checker->stride;
}

void polysched_check_warp_paused(void) { count_warp(); }

/* Lanes that have waited for each other have seen all that each of them had. */
void polysched_check_warp_sync(unsigned warp, unsigned together)
{
    checker->seen_is_new = false;
    uint16_t all[lanes] = {};
    for (unsigned lane = 0; lane < lanes; lane++)
        if (together >> lane & 1)
            for (unsigned k = 0; k < lanes; k++) {
                const uint16_t clock = checker->seen[warp * lanes + lane][k];
                all[k] = clock > all[k] ? clock : all[k];
            }
    for (unsigned lane = 0; lane < lanes; lane++)
        if (together >> lane & 1) {
            memcpy(checker->seen[warp * lanes + lane], all, sizeof all);
            checker->seen[warp * lanes + lane][lane]++;
        }
}

/* Lanes go on that have waited for these, too, which have returned. */
void polysched_check_left(unsigned warp, unsigned together, unsigned returned, unsigned line)
{
    for (unsigned lane = 0; lane < lanes; lane++)
        if (returned >> lane & 1)
            note_skipped_by(warp * lanes + lane, warp * lanes + __builtin_ctz(together), false, line, warp);
}

/* Tiles of several warps are made of whole ones. */
void polysched_check_tile(unsigned first, unsigned end)
{
    settle();
    TileSync sync = {first, end, {}};
    for (unsigned t = first; t < end; t++)
        sync.clocks.push_back(checker->seen[t][t % lanes]);
    checker->tiles.push_back(sync);
    for (unsigned warp = first / lanes; warp * lanes < end; warp++)
        polysched_check_warp_sync(warp, ~0u);
}

void polysched_check_barrier(const bool *waits, unsigned count, unsigned place, unsigned line)
{
    settle();
    note_skipped(waits, count, place, line);
    checker->tiles.clear();
    checker->epoch++;
}

void polysched_check_suspended(unsigned block)
{
    settle();
    keep_shared(block);
}

/* What was before is as if of an earlier launch. */
void polysched_check_grid_barrier(void) { checker->launch_epoch = checker->epoch + 1; }

void polysched_check_fence(void) { fence(checker->thread); }

/* A shuffle takes the value of a lane that offers none. */
void polysched_check_absent(const void *here, unsigned lane, bool is_in_block)
{
    const Access own = {checker->epoch, site_of((uintptr_t)here, compute_it, 0), checker->thread, 0};
    if (Finding *finding = report(other, -1, lane, 0, own))
        snprintf(finding->text, sizeof finding->text, "takes the value of lane %u, which %s", lane,
                 is_in_block ? "has returned" : "the block does not have");
}

/* A shuffle takes the value of a lane that its mask does not name. */
void polysched_check_unnamed(const void *here, unsigned lane)
{
    const Access own = {checker->epoch, site_of((uintptr_t)here, compute_it, 0), checker->thread, 0};
    const Place place = place_of(own);
    for (Finding &known : checker->doubts)
        if (known.one.pc == place.pc && known.one.launch == place.launch) {
            known.count++;
            return;
        }
    checker->doubts.push_back({other, -1, 0, 0, 0, 1, place, {}, ""});
    char *text = checker->doubts.back().text;
    snprintf(text, sizeof checker->doubts.back().text, "what a shuffle takes from lane %u, which its mask does not name", lane);
}

void polysched_check_end(void)
{
    settle();
    count_warp();
    forgive_guesses();
    checker->runs = false;
}

void polysched_check_allocated(const void *memory, size_t size, const void *like)
{
    add_region((uintptr_t)memory, size, fresh, 3, like ? region_of((uintptr_t)like, 1) : -1);
}

void polysched_check_filled(const void *memory, size_t size)
{
    const int id = region_of((uintptr_t)memory, size);
    if (id < 0 || checker->regions[id].space != fresh)
        return;
    Region &region = checker->regions[id];
    const size_t offset = (uintptr_t)memory - region.begin;
    if ((offset | size) & ((1u << region.granule) - 1))
        refine(region, __builtin_ctzll(offset | size));
    for (size_t k = offset >> region.granule; k < (offset + size) >> region.granule; k++)
        region.cells[k].filled = checker->epoch + 1;
}

void polysched_check_freed(const void *memory)
{
    for (Region &region : checker->regions)
        if (region.space == fresh && region.begin == (uintptr_t)memory) {
            region.begin = region.end = 0;
            std::vector<Cell>().swap(region.cells);
        }
}

void polysched_check_atomic(const void *at, size_t size, bool is_of_block)
{
    if (checker->runs && is_of_block)
        checker->sites[site_of(PC, update_it, size)].is_of_block = true;
    access((uintptr_t)at, size, update_it, PC, size);
    if (!is_of_block)
        exchange((uintptr_t)at, {checker->epoch, 0, checker->thread, checker->seen[checker->thread][checker->thread % lanes]});
}

void polysched_check_compare(const void *at, size_t size, const void *expected)
{
    show_guess((uintptr_t)at, size, expected);
}

void polysched_check_copy_begins(const void *to, const void *from, size_t size, size_t zeros)
{
    access((uintptr_t)from, size - zeros, read_it, PC, size);
    access((uintptr_t)to, size, copy_it, PC, size);
}

void polysched_check_copy_ends(const void *to, size_t size)
{
    const int id = region_of((uintptr_t)to, size);
    if (id < 0)
        return;
    Region &region = checker->regions[id];
    const size_t offset = (uintptr_t)to - region.begin;
    for (size_t k = offset >> region.granule; k <= (offset + size - 1) >> region.granule; k++) {
        Cell &cell = region.cells[k];
        if (!cell.copy.epoch)
            continue;
        const uint16_t clock = checker->seen[checker->thread][checker->thread % lanes];
        const Access own = {checker->epoch, cell.copy.site, checker->thread, clock};
        cell.copy.epoch = 0;
        touch(cell, write_it, own, id, offset, size);
    }
}

/* --- what check.py asks */

void polysched_check_reset(void)
{
    delete checker;
    checker = new Checker;
}
int polysched_check_array(const void *at, size_t size, unsigned granule) { return add_region((uintptr_t)at, size, given, granule); }
int polysched_check_fixed(const void *at, size_t size) { return add_region((uintptr_t)at, size, fixed, 3); }
int polysched_check_shared(size_t offset, size_t size, const char *kernel)
{
    checker->shared_arrays.push_back({offset, size, kernel});
    checker->shared_ids.push_back(add_region(0, 0, shared, 3));
    return checker->shared_ids.back();
}
int polysched_check_ignored(size_t offset, size_t size)
{
    const int id = polysched_check_shared(offset, size, "");
    checker->regions[id].space = ignored;
    return id;
}
size_t polysched_check_count(int what)
{
    return what == 0 ? checker->findings.size() : what == 1 ? checker->launches.size() : what == 2 ? checker->sites.size() : checker->doubts.size();
}
size_t polysched_check_accesses(void) { return checker->accesses; }
const Finding *polysched_check_finding(size_t k) { return &checker->findings[k]; }
const Finding *polysched_check_doubt(size_t k) { return &checker->doubts[k]; }
const Launch *polysched_check_launched(size_t k) { return &checker->launches[k]; }
const Site *polysched_check_site(size_t k) { return &checker->sites[k]; }
void polysched_check_region(size_t k, int64_t *out)
{
    const Region &region = checker->regions[k];
    out[0] = region.size, out[1] = region.space, out[2] = region.like;
}

} // extern "C"
