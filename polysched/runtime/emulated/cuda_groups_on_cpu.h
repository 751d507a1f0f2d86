/* Cooperative groups: blocks, tiles of a warp, and lanes that are there at once; cooperative_groups.h and its reduce.h.

   A line is the place where a group waits. Clusters are not known. */
#pragma once
#include "cuda_types_on_cpu.h"
#include "waiting_on_cpu.h"

namespace cooperative_groups {

#define POLYSCHED_AT unsigned line = __builtin_LINE()
#define POLYSCHED_PLACE line | 1u << 31, line

/* --- some lanes of a warp; what they give each other is counted in ranks */

struct polysched_lanes {
    unsigned mask;

    POLYSCHED_OWN static unsigned lane() { return polysched::machine.current % 32; }
    POLYSCHED_OWN unsigned thread_rank() const { return __builtin_popcount(mask & ((1u << lane()) - 1)); }
    POLYSCHED_OWN unsigned size() const { return __builtin_popcount(mask); }
    POLYSCHED_OWN unsigned num_threads() const { return size(); }
    POLYSCHED_OWN unsigned lane_of(unsigned rank) const
    {
        unsigned rest = mask;
        for (; rank; rank--)
            rest &= rest - 1;
        return __builtin_ctz(rest);
    }
    POLYSCHED_OWN unsigned ranks_of(unsigned votes) const
    {
        unsigned ranks = 0;
        for (unsigned lane = 0, rank = 0; lane < 32; lane++)
            if (mask >> lane & 1)
                ranks |= (votes >> lane & 1) << rank++;
        return ranks;
    }
    POLYSCHED_METHOD void sync(POLYSCHED_AT) const { polysched::sync_warp(POLYSCHED_PLACE, mask); }
    template <class T> POLYSCHED_METHOD T polysched_from(T value, int rank, bool is_there, unsigned line) const
    {
        const unsigned from = is_there ? lane_of(rank) : lane();
        return polysched::shuffle(POLYSCHED_PLACE, mask, value, from, 32, true);
    }
    template <class T> POLYSCHED_METHOD T shfl(T value, int rank, POLYSCHED_AT) const
    {
        return polysched_from(value, (int)((unsigned)rank % size()), true, line);
    }
    template <class T> POLYSCHED_METHOD T shfl_up(T value, unsigned by, POLYSCHED_AT) const
    {
        return polysched_from(value, thread_rank() - by, thread_rank() >= by, line);
    }
    template <class T> POLYSCHED_METHOD T shfl_down(T value, unsigned by, POLYSCHED_AT) const
    {
        return polysched_from(value, thread_rank() + by, thread_rank() + by < size(), line);
    }
    POLYSCHED_METHOD unsigned ballot(int predicate, POLYSCHED_AT) const
    {
        return ranks_of(polysched::ballot(POLYSCHED_PLACE, mask, predicate != 0));
    }
    POLYSCHED_METHOD int any(int predicate, POLYSCHED_AT) const { return polysched::ballot(POLYSCHED_PLACE, mask, predicate != 0) != 0; }
    POLYSCHED_METHOD int all(int predicate, POLYSCHED_AT) const { return polysched::ballot(POLYSCHED_PLACE, mask, !predicate) == 0; }
    template <class T> POLYSCHED_METHOD unsigned match_any(T value, POLYSCHED_AT) const
    {
        return ranks_of(polysched::match(POLYSCHED_PLACE, mask, value));
    }
    template <class T> POLYSCHED_METHOD unsigned match_all(T value, int &same, POLYSCHED_AT) const
    {
        const unsigned found = polysched::match(POLYSCHED_PLACE, mask, value);
        same = found == polysched::lanes_met();
        return same ? ranks_of(found) : 0;
    }
};

struct coalesced_group : polysched_lanes {
    POLYSCHED_OWN unsigned meta_group_size() const { return 1; }
    POLYSCHED_OWN unsigned meta_group_rank() const { return 0; }
};
POLYSCHED_METHOD coalesced_group coalesced_threads(POLYSCHED_AT)
{
    return {{polysched::lanes_here(POLYSCHED_PLACE)}};
}

template <class Group> POLYSCHED_METHOD coalesced_group labeled_partition(const Group &group, int label, POLYSCHED_AT)
{
    return {{polysched::match(POLYSCHED_PLACE, group.mask, label)}};
}
template <class Group> POLYSCHED_METHOD coalesced_group binary_partition(const Group &group, bool label, POLYSCHED_AT)
{
    return {{polysched::match(POLYSCHED_PLACE, group.mask, (int)label)}};
}

/* --- a block */

struct thread_block {
    POLYSCHED_METHOD static void sync(POLYSCHED_AT) { polysched::barrier(POLYSCHED_PLACE); }
    POLYSCHED_OWN static unsigned thread_rank() { return polysched::machine.current; }
    POLYSCHED_OWN static unsigned size() { return polysched::machine.count; }
    POLYSCHED_OWN static unsigned num_threads() { return size(); }
    POLYSCHED_OWN static dim3 group_index() { return blockIdx; }
    POLYSCHED_OWN static dim3 thread_index() { return threadIdx; }
    POLYSCHED_OWN static dim3 group_dim() { return blockDim; }
    POLYSCHED_OWN static dim3 dim_threads() { return blockDim; }
};
template <unsigned... sizes> struct block_tile_memory { /* that tiles of several warps need on a GPU */
    char unused;
};
POLYSCHED_INLINE thread_block this_thread_block() { return {}; }
template <unsigned... sizes> POLYSCHED_INLINE thread_block this_thread_block(block_tile_memory<sizes...> &) { return {}; }

/* --- tiles: of `size` threads that follow each other */

template <unsigned n, class Parent = void, bool is_large = (n > 32)> struct thread_block_tile : polysched_lanes {
    static_assert((n & (n - 1)) == 0, "a tile of a power of two");
    unsigned group_rank, group_size;

    static constexpr unsigned polysched_size = n;
    POLYSCHED_OWN static constexpr unsigned size() { return n; }
    POLYSCHED_OWN static constexpr unsigned num_threads() { return n; }
    POLYSCHED_OWN static unsigned thread_rank() { return lane() % n; }
    POLYSCHED_OWN unsigned meta_group_rank() const { return group_rank; }
    POLYSCHED_OWN unsigned meta_group_size() const { return group_size; }
    template <class T> POLYSCHED_METHOD T shfl_xor(T value, unsigned by, POLYSCHED_AT) const
    {
        return polysched::shuffle(POLYSCHED_PLACE, mask, value, (int)(thread_rank() ^ by), (int)n, false);
    }
    template <unsigned m, class Other> POLYSCHED_METHOD operator thread_block_tile<m, Other>() const
    {
        static_assert(m == n, "a tile of another size");
        return {{mask}, group_rank, group_size};
    }
};
template <unsigned n, class Parent> struct thread_block_tile<n, Parent, true> {
    static_assert(n <= 512 && (n & (n - 1)) == 0, "a tile of a power of two up to 512 threads");
    unsigned group_rank, group_size;

    POLYSCHED_METHOD void sync(POLYSCHED_AT) const { polysched::sync_tile(POLYSCHED_PLACE, n); }
    POLYSCHED_OWN static constexpr unsigned size() { return n; }
    POLYSCHED_OWN static constexpr unsigned num_threads() { return n; }
    POLYSCHED_OWN static unsigned thread_rank() { return thread_block::thread_rank() % n; }
    POLYSCHED_OWN unsigned meta_group_rank() const { return group_rank; }
    POLYSCHED_OWN unsigned meta_group_size() const { return group_size; }
    template <unsigned m, class Other> POLYSCHED_METHOD operator thread_block_tile<m, Other, true>() const
    {
        static_assert(m == n, "a tile of another size");
        return {group_rank, group_size};
    }
};
POLYSCHED_INLINE unsigned polysched_tile_mask(unsigned n)
{
    return (n == 32 ? ~0u : (1u << n) - 1) << polysched_lanes::lane() / n * n;
}
template <unsigned n> POLYSCHED_INLINE thread_block_tile<n, thread_block> tiled_partition(const thread_block &)
{
    const unsigned rank = thread_block::thread_rank() / n, count = (thread_block::size() + n - 1) / n;
    if constexpr (n > 32)
        return {rank, count};
    else
        return {{polysched_tile_mask(n)}, rank, count};
}
template <unsigned n, unsigned m, class Parent>
POLYSCHED_INLINE thread_block_tile<n, thread_block_tile<m, Parent>> tiled_partition(const thread_block_tile<m, Parent> &parent)
{
    static_assert(n <= m, "a part is no larger than the whole");
    if constexpr (n > 32)
        return {parent.thread_rank() / n, m / n};
    else
        return {{polysched_tile_mask(n)}, parent.thread_rank() / n, m / n};
}

/* --- any of these, known when it runs */

struct thread_group {
    polysched_lanes some;
    bool is_block;

    POLYSCHED_METHOD thread_group(const thread_block &) : some{0}, is_block(true) {}
    POLYSCHED_METHOD thread_group(const polysched_lanes &lanes) : some(lanes), is_block(false) {}
    POLYSCHED_METHOD void sync(POLYSCHED_AT) const
    {
        if (is_block)
            polysched::barrier(POLYSCHED_PLACE);
        else
            some.sync(line);
    }
    POLYSCHED_OWN unsigned thread_rank() const { return is_block ? thread_block::thread_rank() : some.thread_rank(); }
    POLYSCHED_OWN unsigned size() const { return is_block ? thread_block::size() : some.size(); }
    POLYSCHED_OWN unsigned num_threads() const { return size(); }
};
POLYSCHED_INLINE thread_group tiled_partition(const thread_group &, unsigned n) { return polysched_lanes{polysched_tile_mask(n)}; }
POLYSCHED_INLINE coalesced_group tiled_partition(const coalesced_group &parent, unsigned n)
{
    const unsigned first = parent.thread_rank() / n * n;
    unsigned mask = 0;
    for (unsigned rank = first; rank < first + n && rank < parent.size(); rank++)
        mask |= 1u << parent.lane_of(rank);
    return {{mask}};
}

/* --- all blocks */

struct grid_group {
    POLYSCHED_METHOD static void sync(POLYSCHED_AT) { polysched::grid_barrier(POLYSCHED_PLACE); }
    POLYSCHED_OWN static bool is_valid() { return true; }
    POLYSCHED_OWN static unsigned long long block_rank()
    {
        return blockIdx.x + (unsigned long long)gridDim.x * (blockIdx.y + (unsigned long long)gridDim.y * blockIdx.z);
    }
    POLYSCHED_OWN static unsigned long long num_blocks() { return (unsigned long long)gridDim.x * gridDim.y * gridDim.z; }
    POLYSCHED_OWN static unsigned long long thread_rank() { return block_rank() * thread_block::size() + thread_block::thread_rank(); }
    POLYSCHED_OWN static unsigned long long size() { return num_blocks() * thread_block::size(); }
    POLYSCHED_OWN static unsigned long long num_threads() { return size(); }
    POLYSCHED_OWN static dim3 group_dim() { return gridDim; }
    POLYSCHED_OWN static dim3 dim_blocks() { return gridDim; }
    POLYSCHED_OWN static dim3 block_index() { return blockIdx; }
};
POLYSCHED_INLINE grid_group this_grid() { return {}; }

template <class Group> POLYSCHED_METHOD void sync(const Group &group, POLYSCHED_AT) { group.sync(line); }
template <class Group> POLYSCHED_METHOD auto thread_rank(const Group &group) { return group.thread_rank(); }
template <class Group> POLYSCHED_METHOD auto group_size(const Group &group) { return group.size(); }

/* --- reduce.h and scan.h */

#define POLYSCHED_OPERATION(name, result)                                                                   \
    template <class T = void> struct name {                                                                 \
        POLYSCHED_METHOD T operator()(T a, T b) const { return result; }                                    \
    };
POLYSCHED_OPERATION(plus, (T)(a + b))
POLYSCHED_OPERATION(less, b < a ? b : a)
POLYSCHED_OPERATION(greater, a < b ? b : a)
POLYSCHED_OPERATION(bit_and, (T)(a & b))
POLYSCHED_OPERATION(bit_or, (T)(a | b))
POLYSCHED_OPERATION(bit_xor, (T)(a ^ b))
#undef POLYSCHED_OPERATION

template <class Group, class T, class Operation>
POLYSCHED_METHOD T reduce(const Group &group, T value, Operation operation, POLYSCHED_AT)
{
    return polysched::reduce(POLYSCHED_PLACE, group.mask, value, operation);
}
template <unsigned n, class Parent, class T, class Operation>
POLYSCHED_METHOD T reduce(const thread_block_tile<n, Parent, true> &, T value, Operation operation, POLYSCHED_AT)
{
    return polysched::reduce_tile(POLYSCHED_PLACE, n, value, operation);
}
/* The values of lower ranks with its own, or without; of none it is T(). */
template <class Group, class T, class Operation>
POLYSCHED_METHOD T inclusive_scan(const Group &group, T value, Operation operation, POLYSCHED_AT)
{
    return polysched::scan(POLYSCHED_PLACE, group.mask, value, operation, true);
}
template <class Group, class T, class Operation>
POLYSCHED_METHOD T exclusive_scan(const Group &group, T value, Operation operation, POLYSCHED_AT)
{
    return polysched::scan(POLYSCHED_PLACE, group.mask, value, operation, false);
}
template <class Group, class T> POLYSCHED_METHOD T inclusive_scan(const Group &group, T value, POLYSCHED_AT)
{
    return inclusive_scan(group, value, plus<T>(), line);
}
template <class Group, class T> POLYSCHED_METHOD T exclusive_scan(const Group &group, T value, POLYSCHED_AT)
{
    return exclusive_scan(group, value, plus<T>(), line);
}

/* A copy that all threads of a group begin: each takes its share; they wait by cg::wait. */
template <class Group> POLYSCHED_METHOD void memcpy_async(const Group &group, void *to, const void *from, size_t size)
{
    for (size_t k = group.thread_rank() * 4; k < size; k += group.size() * 4)
        __pipeline_memcpy_async((char *)to + k, (const char *)from + k, size - k < 4 ? size - k : 4);
    __pipeline_commit();
}
template <class Group> POLYSCHED_METHOD void wait(const Group &group, POLYSCHED_AT)
{
    __pipeline_wait_prior(0);
    group.sync(line);
}

#undef POLYSCHED_PLACE
#undef POLYSCHED_AT

} // namespace cooperative_groups
