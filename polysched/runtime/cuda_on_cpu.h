/* Runs the CUDA text that polysched prints as C++: blocks and threads one after another, forward or in reverse.
   The kernels it prints so far have no barriers, so any order must give the same result. */
#pragma once
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef _Float16 __half;

struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};

#define __global__ static
#define __device__
#define __host__
#define __shared__ static
#define __launch_bounds__(threads)

static dim3 gridDim, blockDim, blockIdx, threadIdx;

extern "C" {
int polysched_reverse = 0; /* 1: the last block and thread run first */
}

/* A step from (0, 0, 0) to the end of `extent` in order of x, y, z; `k` counts the steps. */
static dim3 polysched_at(uint64_t k, dim3 extent)
{
    const uint64_t total = (uint64_t)extent.x * extent.y * extent.z;
    if (polysched_reverse)
        k = total - 1 - k;
    return dim3(k % extent.x, k / extent.x % extent.y, k / extent.x / extent.y);
}

template <class Kernel> static void polysched_launch(dim3 grid, dim3 block, Kernel kernel)
{
    gridDim = grid;
    blockDim = block;
    for (uint64_t b = 0; b < (uint64_t)grid.x * grid.y * grid.z; b++) {
        blockIdx = polysched_at(b, grid);
        for (uint64_t t = 0; t < (uint64_t)block.x * block.y * block.z; t++) {
            threadIdx = polysched_at(t, block);
            kernel();
        }
    }
}

#define POLYSCHED_LAUNCH(kernel, grid, block, ...) polysched_launch(grid, block, [&] { kernel(__VA_ARGS__); })

typedef int cudaError_t;
enum { cudaSuccess = 0 };
enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2, cudaMemcpyDeviceToDevice = 3 };

/* Fresh memory holds NaNs, so that reading it shows. */
static inline cudaError_t cudaMalloc(void **pointer, size_t size)
{
    *pointer = malloc(size ? size : 1);
    if (!*pointer)
        abort();
    memset(*pointer, 0xff, size);
    return cudaSuccess;
}

static inline cudaError_t cudaFree(void *pointer)
{
    free(pointer);
    return cudaSuccess;
}

static inline cudaError_t cudaMemcpy(void *to, const void *from, size_t size, cudaMemcpyKind)
{
    memcpy(to, from, size);
    return cudaSuccess;
}

static inline cudaError_t cudaGetLastError() { return cudaSuccess; }

static inline cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
