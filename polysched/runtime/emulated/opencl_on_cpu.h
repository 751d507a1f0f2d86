/* Runs the OpenCL text that polysched prints, and its host code, as C++: after cuda_on_cpu.h, which has the grid. */
#define POLYSCHED_OPENCL
#include <limits.h>
#include <math.h>
#include <sys/types.h>

#define restrict __restrict__
#define __kernel
#define __global
#define __local __shared__
#define reqd_work_group_size(x, y, z) unused

static size_t polysched_along(int axis, dim3 extent) { return axis == 0 ? extent.x : axis == 1 ? extent.y : extent.z; }
static size_t get_group_id(int axis) { return polysched_along(axis, blockIdx); }
static size_t get_num_groups(int axis) { return polysched_along(axis, gridDim); }
static size_t get_local_id(int axis) { return polysched_along(axis, threadIdx); }
static size_t get_local_size(int axis) { return polysched_along(axis, blockDim); }

struct cl_mem {
    void *at;
    template <class T> POLYSCHED_OWN operator T *() const { return (T *)at; }
};

POLYSCHED_OWN static cl_mem polysched_buffer(size_t bytes, const void *from)
{
    cl_mem buffer;
    polysched_allocate(&buffer.at, bytes, from);
    if (from)
        cudaMemcpy(buffer.at, from, bytes, cudaMemcpyHostToDevice);
    return buffer;
}

static void polysched_release(cl_mem buffer) { cudaFree(buffer.at); }

static void polysched_read(void *to, cl_mem from, size_t offset, size_t bytes)
{
    memcpy(to, (const char *)from.at + offset, bytes);
}

static void polysched_back(void *to, cl_mem from, size_t bytes) { memcpy(to, from.at, bytes); }

static int polysched_end() { return polysched_last_error(); }

static dim3 grid_of(int64_t x, int64_t y, int64_t z)
{
    return dim3(x < 0 ? 0 : x < 2147483647 ? x : 2147483647, y < 0 ? 0 : y < 65535 ? y : 65535,
                z < 0 ? 0 : z < 65535 ? z : 65535);
}

static dim3 block_of(unsigned x, unsigned y, unsigned z) { return dim3(x, y, z); }

enum { CLK_LOCAL_MEM_FENCE = 1, CLK_GLOBAL_MEM_FENCE = 2 };
#define barrier(fences) polysched::barrier(POLYSCHED_HERE)

#define POLYSCHED_BEGIN(text) ((void)text)
#define POLYSCHED_ARGUMENT(name) name
#undef POLYSCHED_LAUNCH
#define POLYSCHED_LAUNCH(kernel, grid, block, ...) \
    polysched::launch(#kernel, grid, block, polysched_kernels::kernel, ##__VA_ARGS__)
