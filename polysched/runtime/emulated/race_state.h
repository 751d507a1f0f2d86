/* What the checker of race_check.cpp knows while kernels run, and the findings that it keeps. */
#pragma once
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
enum Space : uint8_t { given, shared, fresh, fixed, ignored }; /* an argument; __shared__; cudaMalloc; of the program; of the compiler */
enum { lanes = 32, most_rows = 4096, most_findings = 1000 };
const uintptr_t guard = 1 << 16; /* bytes before and behind each argument that are nobody's */

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

struct Guess { /* what a thread has read by a plain load; an atomicCAS may show that it still holds */
    uintptr_t at = 0; /* 0: nothing, or it has been shown */
    uint64_t value;
    uint32_t block_epoch;
    uint64_t when; /* counted in accesses */
};

struct Site {
    uint64_t pc;
    uint32_t launch; /* the first of its kernel */
    uint32_t size, operation;
    int32_t region; /* that of the last access */
    uint64_t accesses, requests, sectors, least_sectors, cycles, least_cycles; /* requests: a warp's accesses at once */
    uint32_t used = 0, counts[lanes] = {};
    std::vector<Row> rows;
    bool is_of_block = false; /* an update that is atomic in its block alone */
    std::vector<uint64_t> last; /* per thread: when it was here last, counted in accesses */
    std::vector<Guess> guesses; /* per thread: of a load */
    uint64_t shown = 0; /* guesses that held */
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

struct TileSync { /* of threads of several warps, since the barrier: what each had done before */
    unsigned first, end;
    std::vector<uint16_t> clocks;
};

struct Seen { /* by a thread: clocks of the lanes of its warp */
    uint16_t clocks[lanes];
};

struct Fence { /* the last one of a thread, and what it had seen */
    uint32_t epoch, seen;
};

struct Fenced { /* what a thread had done before: clocks up to this one */
    uint32_t epoch;
    uint16_t clock;
};

struct Release { /* by an atomic operation */
    uint32_t at, fence, seen; /* epochs, and what the thread had seen at that fence */
    uint16_t thread;
};

struct Acquired { /* the first releases at a place */
    Access by;
    size_t count;
};

struct Skipped { /* a site: who was there, while who waited; where they parted, and when the others went on */
    unsigned thread, waiting;
    int anchor;
    unsigned line;
    uint64_t since;
    int warp; /* that waited; -1: the block */
};

struct Repeated { /* a write of what may be there already */
    uintptr_t at;
    int region;
    unsigned size; /* 0: none */
    Access own, first;
    unsigned char bytes[16];
};

struct Kept { /* of a shared array, while its block waits for the grid */
    std::vector<Cell> cells;
    uint8_t granule;
    uint32_t block_epoch;
};

struct SharedArray {
    size_t offset, size; /* the size of a dynamic one is ~0 */
    std::string kernel;  /* that has it; empty: all */
};

struct Checker {
    std::vector<Region> regions;
    std::vector<SharedArray> shared_arrays;
    std::vector<int> shared_ids;
    std::vector<Site> sites;
    std::unordered_map<uint64_t, uint32_t> site_ids;
    std::vector<uint32_t> touched; /* sites that the warp that runs has used */
    std::vector<Finding> findings;
    std::vector<Finding> doubts; /* which are faults only if results depend on them */
    std::vector<Launch> launches;
    std::unordered_map<std::string, uint32_t> kernels; /* their first launches */
    std::vector<BlockStart> starts;
    bool runs = false;
    const char *stacks;
    size_t stride, stacks_size;
    uintptr_t own_stack;
    uint32_t kernel, epoch = 0, launch_epoch, block_epoch;
    uint16_t thread;
    uint64_t accesses = 0;
    uint16_t seen[1024][lanes]; /* per thread: the last clock of each lane of its warp that it has waited for */
    bool seen_is_new = false;
    std::vector<TileSync> tiles;
    Fence fences[1024] = {};
    std::unordered_map<uintptr_t, std::vector<Release>> releases; /* of this launch */
    std::unordered_map<uint64_t, std::vector<Fenced>> fenced; /* by block and thread, of this launch */
    std::unordered_map<uintptr_t, std::vector<Acquired>> acquired; /* by this block */
    std::vector<Seen> seen_at_fences;
    std::unordered_map<uint32_t, Skipped> skipped;
    uint64_t since = 0, last_access[1024] = {}; /* when the last barrier was, and each thread's last access */
    unsigned barrier_place = ~0u;
    Repeated repeated = {};
    std::unordered_map<uint32_t, std::vector<Kept>> suspended; /* per block */
    void (*stop)(const char *);
};
Checker *checker = new Checker;

inline uint64_t site_key(uintptr_t pc, unsigned operation)
{
    return pc * 8 + operation + checker->kernel * 0x9e3779b97f4a7c15ull; /* some calls do two things */
}

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

} // namespace
