/* Decides races, reads of what was never written, and accesses out of bounds, while block_on_cpu.h runs kernels.

   Kernels are compiled with -fsanitize=thread, so that each access calls __tsan_read4(at) or its like, which are here.
   block_on_cpu.h says which thread runs, and what they have waited for. Two accesses of different threads conflict if
   one of them writes and not both are atomic. They are a race unless

   - both are of one block, and a barrier, or for lanes of a warp a __syncwarp, is between them;
   - or they are of different launches.

   That does not depend on the order in which threads run here, and needs no luck. For each element are kept: the last
   write; of the reads, and of the atomic updates, those of two threads since the last barrier, and one of an earlier
   block. Any conflict that there is, is one with these.

   Compiled once, as a library of its own; runtime/check.py reads what it found. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string>
#include <string.h>
#include <unordered_map>
#include <vector>

namespace {

enum Operation : uint8_t { read_it, write_it, update_it, copy_it, compute_it }; /* update: atomically; copy: asynchronously */
enum Kind { race, race_of_blocks, uninitialized, out_of_bounds, misaligned, wild, foreign_local, index_out_of_bounds, in_flight, other };
enum Space : uint8_t { given, shared, fresh, fixed }; /* an argument; __shared__; cudaMalloc; of the program */
enum { lanes = 32, most_rows = 4096, most_findings = 1000 };
const uintptr_t guard = 1 << 16; /* bytes before and behind each argument that are nobody's */
const uint64_t most_accesses = 1ull << 32; /* of one launch; more do not end, or will not soon */

struct Access {
    uint32_t epoch = 0; /* 0: none. It grows with every barrier, block and launch */
    uint32_t site = 0;
    uint16_t thread = 0;
    uint16_t clock = 0; /* of its lane: how many __syncwarp since the barrier */
};

struct Accesses {
    Access first, second; /* of different threads, since the same barrier */
    Access earlier;       /* of an earlier block of the launch */
};

struct Cell {
    Access write, copy; /* copy: an asynchronous one that has not ended */
    Accesses reads, updates;
    uint32_t filled = 0; /* the epoch of the last write */
};

struct Region {
    uintptr_t begin, end; /* both 0: it was freed */
    size_t size;
    Space space;
    int like; /* the region that an allocated one is a copy of; -1: none */
    uint8_t granule; /* log2 of the bytes of a cell; less where accesses are smaller */
    std::vector<Cell> cells;
};

struct Row { /* what the lanes of a warp access at once */
    uint32_t mask;
    uintptr_t at[lanes];
};

struct Site {
    uint64_t pc;
    uint32_t launch; /* the first of its kernel */
    uint32_t size, operation;
    int32_t region; /* that of the last access */
    uint64_t accesses, requests, sectors, least_sectors, cycles, least_cycles; /* requests: a warp's accesses at once */
    uint32_t used = 0, counts[lanes] = {};
    std::vector<Row> rows;
};

struct Place {
    uint64_t pc;
    uint32_t block, thread, operation, launch;
};

struct Finding {
    int32_t kind, region, size, line;
    int64_t offset; /* bytes from the region's begin */
    uint64_t count;
    Place one, other; /* other.pc is 0 if there is none */
    char text[128];
};

struct Launch {
    char kernel[128];
    uint32_t grid[3], block[3];
};

struct BlockStart {
    uint32_t epoch, block, launch;
};

struct Checker {
    std::vector<Region> regions;
    std::vector<std::pair<size_t, size_t>> shared_arrays; /* offset and size; the size of a dynamic one is ~0 */
    std::vector<int> shared_ids;
    std::vector<Site> sites;
    std::unordered_map<uint64_t, uint32_t> site_ids;
    std::vector<uint32_t> touched; /* sites that the warp that runs has used */
    std::vector<Finding> findings;
    std::vector<Launch> launches;
    std::unordered_map<std::string, uint32_t> kernels; /* their first launches */
    std::vector<BlockStart> starts;
    bool runs = false;
    const char *stacks;
    size_t stride;
    uintptr_t own_stack;
    uint32_t kernel, epoch = 0, launch_epoch, block_epoch;
    uint16_t thread;
    uint64_t accesses;
    uint16_t seen[1024][lanes]; /* per thread: the last clock of each lane of its warp that it has waited for */
    bool seen_is_new = false;
    void (*stop)(const char *);
};
Checker *checker = new Checker;

/* --- findings */

const BlockStart &start_of(uint32_t epoch)
{
    size_t low = 0, high = checker->starts.size();
    while (high - low > 1) {
        const size_t middle = (low + high) / 2;
        (checker->starts[middle].epoch <= epoch ? low : high) = middle;
    }
    return checker->starts[low];
}

Place place_of(const Access &access)
{
    const BlockStart &start = start_of(access.epoch);
    const Site &site = checker->sites[access.site];
    return {site.pc, start.block, access.thread, site.operation, start.launch};
}

Finding *report(Kind kind, int region, int64_t offset, int size, const Access &one, const Access *other = nullptr)
{
    const Place here = place_of(one), there = other ? place_of(*other) : Place{};
    for (Finding &known : checker->findings)
        if (known.kind == kind && known.region == region && known.one.pc == here.pc && known.other.pc == there.pc &&
            known.one.launch == here.launch) {
            known.count++;
            return nullptr;
        }
    if (checker->findings.size() >= most_findings)
        return nullptr;
    checker->findings.push_back({kind, region, size, 0, offset, 1, here, there, ""});
    return &checker->findings.back();
}

/* --- sites, and what a warp accesses at once */

uint32_t site_of(uintptr_t pc, Operation operation, unsigned size)
{
    const uint64_t key = pc * 8 + operation + checker->kernel * 0x9e3779b97f4a7c15ull; /* some calls do two things */
    const auto found = checker->site_ids.find(key);
    if (found != checker->site_ids.end())
        return found->second;
    const uint32_t id = checker->sites.size();
    checker->site_ids[key] = id;
    Site &site = checker->sites.emplace_back();
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

/* --- races */

inline bool is_before(const Access &access, const Access &own)
{
    const bool same_warp = access.thread / lanes == own.thread / lanes;
    return access.thread == own.thread || access.epoch != own.epoch ||
           (same_warp && checker->seen[own.thread][access.thread % lanes] >= access.clock);
}

inline void meet(const Access &access, const Access &own, int region, size_t offset, unsigned size)
{
    if (access.epoch < checker->launch_epoch)
        return;
    if (access.epoch < checker->block_epoch) {
        if (checker->regions[region].space != shared)
            report(race_of_blocks, region, offset, size, own, &access);
    } else if (!is_before(access, own)) {
        report(race, region, offset, size, own, &access);
    }
}

inline void meet_all(const Accesses &accesses, const Access &own, int region, size_t offset, unsigned size)
{
    meet(accesses.first, own, region, offset, size);
    meet(accesses.second, own, region, offset, size);
    meet(accesses.earlier, own, region, offset, size);
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
    meet(cell.write, own, id, offset, size);
    if (cell.copy.epoch >= checker->block_epoch)
        report(in_flight, id, offset, size, own, &cell.copy);
    if (operation != update_it)
        meet_all(cell.updates, own, id, offset, size);
    if (operation != read_it)
        meet_all(cell.reads, own, id, offset, size);
    if (operation == read_it || operation == update_it) {
        const bool is_filled = region.space == shared ? cell.filled >= checker->block_epoch : region.space != fresh || cell.filled;
        if (!is_filled)
            report(uninitialized, id, offset, size, own);
        add(operation == read_it ? cell.reads : cell.updates, own);
    } else if (operation == write_it) {
        cell.write = own;
    } else {
        cell.copy = own;
    }
    if (operation != read_it)
        cell.filled = checker->epoch;
}

int nearest_region(uintptr_t at)
{
    int nearest = -1;
    uintptr_t distance = 1 << 20;
    for (size_t k = 0; k < checker->regions.size(); k++) {
        const Region &region = checker->regions[k];
        const uintptr_t away = at < region.begin ? region.begin - at : at >= region.end ? at - region.end : 0;
        if (region.end > region.begin && away < distance)
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
    if (here >= checker->stacks && here < checker->stacks + 1024 * checker->stride) {
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

void access(uintptr_t at, unsigned size, Operation operation, uintptr_t pc, bool is_aligned = false)
{
    if (!checker->runs || !size || at - checker->own_stack < checker->stride)
        return;
    if (checker->accesses++ > most_accesses)
        checker->stop("more accesses to memory than are checked; does it end?");
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
    const size_t offset = at - region.begin;
    if (is_aligned && at % size) {
        report(misaligned, it, offset, size, own);
        checker->stop("a misaligned access");
    }
    note(id, at, size);
    if ((offset | size) & ((1u << region.granule) - 1))
        refine(region, __builtin_ctzll(offset | size));
    const size_t last = (offset + size - 1) >> region.granule;
    for (size_t k = offset >> region.granule; k <= last; k++)
        touch(region.cells[k], operation, own, it, offset, size);
}

int add_region(uintptr_t begin, size_t size, Space space, unsigned granule, int like = -1)
{
    checker->regions.push_back({begin, begin + size, size, space, like, (uint8_t)granule, std::vector<Cell>((size >> granule) + 1)});
    return checker->regions.size() - 1;
}

} // namespace

/* --- what block_on_cpu.h says */

#define PC ((uintptr_t)__builtin_return_address(0))

extern "C" {

void polysched_check_launch(const char *kernel, const unsigned *grid, const unsigned *block, const char *shared_memory,
                            size_t dynamic, const char *stacks, size_t stride, void (*stop)(const char *))
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
    checker->stop = stop;
    checker->accesses = 0;
    checker->runs = true;
    for (size_t k = 0; k < checker->shared_arrays.size(); k++) {
        const auto &array = checker->shared_arrays[k];
        Region &region = checker->regions[checker->shared_ids[k]];
        const size_t size = array.second == ~(size_t)0 ? dynamic : array.second;
        region.begin = (uintptr_t)shared_memory + array.first;
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
    checker->block_epoch = ++checker->epoch;
    checker->starts.push_back({checker->epoch, block, (uint32_t)checker->launches.size() - 1});
    if (checker->seen_is_new)
        return;
    memset(checker->seen, 0, sizeof checker->seen);
    for (unsigned t = 0; t < 1024; t++)
        checker->seen[t][t % lanes] = 1;
    checker->seen_is_new = true;
}

void polysched_check_thread(unsigned thread, unsigned stack)
{
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

void polysched_check_barrier(void) { checker->epoch++; }

void polysched_check_end(void)
{
    count_warp();
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

void polysched_check_atomic(const void *at, size_t size) { access((uintptr_t)at, size, update_it, PC, true); }

void polysched_check_copy_begins(const void *to, const void *from, size_t size, size_t zeros)
{
    access((uintptr_t)from, size - zeros, read_it, PC);
    access((uintptr_t)to, size, copy_it, PC, true);
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

/* --- what the compiler has called */

#define POLYSCHED_SIZE(n)                                                                               \
    void __tsan_read##n(void *at) { access((uintptr_t)at, n, read_it, PC, true); }                      \
    void __tsan_write##n(void *at) { access((uintptr_t)at, n, write_it, PC, true); }                    \
    void __tsan_unaligned_read##n(void *at) { access((uintptr_t)at, n, read_it, PC); }                  \
    void __tsan_unaligned_write##n(void *at) { access((uintptr_t)at, n, write_it, PC); }                \
    void __tsan_volatile_read##n(void *at) { access((uintptr_t)at, n, read_it, PC, true); }             \
    void __tsan_volatile_write##n(void *at) { access((uintptr_t)at, n, write_it, PC, true); }           \
    void __tsan_unaligned_volatile_read##n(void *at) { access((uintptr_t)at, n, read_it, PC); }         \
    void __tsan_unaligned_volatile_write##n(void *at) { access((uintptr_t)at, n, write_it, PC); }
POLYSCHED_SIZE(1) POLYSCHED_SIZE(2) POLYSCHED_SIZE(4) POLYSCHED_SIZE(8) POLYSCHED_SIZE(16)
void __tsan_read_range(void *at, size_t size) { access((uintptr_t)at, size, read_it, PC); }
void __tsan_write_range(void *at, size_t size) { access((uintptr_t)at, size, write_it, PC); }
void *__tsan_memcpy(void *to, const void *from, size_t size)
{
    access((uintptr_t)from, size, read_it, PC);
    access((uintptr_t)to, size, write_it, PC);
    return memcpy(to, from, size);
}
void *__tsan_memset(void *to, int value, size_t size)
{
    access((uintptr_t)to, size, write_it, PC);
    return memset(to, value, size);
}
void __tsan_func_entry(void *) {}
void __tsan_func_exit(void) {}
void __tsan_init(void) {}

struct TypeDescriptor {
    uint16_t kind, info;
    char name[1];
};
struct OutOfBounds {
    const char *file;
    uint32_t line, column;
    const TypeDescriptor *array, *index;
};
void __ubsan_handle_out_of_bounds(OutOfBounds *data, uintptr_t value)
{
    if (!checker->runs)
        return;
    const unsigned bits = 1u << (data->index->info >> 1);
    const bool is_signed = data->index->info & 1;
    const long long index = is_signed && bits < 64 ? (long long)(value << (64 - bits)) >> (64 - bits) : (long long)value;
    const Access own = {checker->epoch, site_of(PC, compute_it, 0), checker->thread, 0};
    if (Finding *finding = report(index_out_of_bounds, -1, index, 0, own)) {
        finding->line = data->line;
        snprintf(finding->text, sizeof finding->text, "index %lld of %s", index, data->array->name);
    }
    checker->stop("an index out of bounds");
}
void __ubsan_handle_divrem_overflow(void *, uintptr_t, uintptr_t)
{
    if (!checker->runs)
        return;
    const Access own = {checker->epoch, site_of(PC, compute_it, 0), checker->thread, 0};
    if (Finding *finding = report(other, -1, 0, 0, own))
        snprintf(finding->text, sizeof finding->text, "division by zero");
    checker->stop("a division by zero");
}

/* --- what check.py asks */

void polysched_check_reset(void)
{
    delete checker;
    checker = new Checker;
}
int polysched_check_array(const void *at, size_t size, unsigned granule) { return add_region((uintptr_t)at, size, given, granule); }
int polysched_check_fixed(const void *at, size_t size) { return add_region((uintptr_t)at, size, fixed, 3); }
int polysched_check_shared(size_t offset, size_t size)
{
    checker->shared_arrays.push_back({offset, size});
    checker->shared_ids.push_back(add_region(0, 0, shared, 3));
    return checker->shared_ids.back();
}
size_t polysched_check_count(int what)
{
    return what == 0 ? checker->findings.size() : what == 1 ? checker->launches.size() : what == 2 ? checker->sites.size() : checker->regions.size();
}
const Finding *polysched_check_finding(size_t k) { return &checker->findings[k]; }
const Launch *polysched_check_launched(size_t k) { return &checker->launches[k]; }
const Site *polysched_check_site(size_t k) { return &checker->sites[k]; }
void polysched_check_region(size_t k, int64_t *out)
{
    const Region &region = checker->regions[k];
    out[0] = region.size, out[1] = region.space, out[2] = region.like;
}

} // extern "C"
