/* Runs the host's part of the CUDA text that polysched prints without launching anything: each launch is told to
   polysched_tell instead. Arrays on the device are addresses that nothing is behind. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define __host__
#define __device__

typedef _Float16 __half;
typedef int cudaError_t;
enum { cudaSuccess = 0, cudaMemcpyDeviceToHost = 2 };

struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x, unsigned y, unsigned z) : x(x), y(y), z(z) {}
};

extern "C" {
void (*polysched_tell)(const char *kernel, const unsigned *blocks, const unsigned *threads, const uint64_t *arguments);
int polysched_has_read = 0; /* an element that only a GPU could have computed */
}

static inline const char *cudaGetErrorString(cudaError_t) { return ""; }
static inline cudaError_t cudaGetLastError() { return cudaSuccess; }
static inline cudaError_t cudaFree(void *) { return cudaSuccess; }
static inline cudaError_t cudaFreeAsync(void *, int) { return cudaSuccess; }

static inline cudaError_t cudaMalloc(void **pointer, size_t size)
{
    static uintptr_t free_from = (uintptr_t)1 << 46;
    *pointer = (void *)free_from;
    free_from += (size + 511) / 256 * 256;
    return cudaSuccess;
}

static inline cudaError_t cudaMallocAsync(void **pointer, size_t size, int) { return cudaMalloc(pointer, size); }

static inline cudaError_t cudaMemcpy(void *to, const void *, size_t size, int)
{
    memset(to, 0, size);
    polysched_has_read = 1;
    return cudaSuccess;
}

template <class T> static uint64_t polysched_bits(const T &argument)
{
    uint64_t bits = 0;
    memcpy(&bits, &argument, sizeof argument);
    return bits;
}

template <class... T> static void polysched_launch(const char *kernel, dim3 grid, dim3 block, const T &...arguments)
{
    const unsigned blocks[] = {grid.x, grid.y, grid.z}, threads[] = {block.x, block.y, block.z};
    const uint64_t bits[] = {polysched_bits(arguments)..., 0};
    if (grid.x && grid.y && grid.z)
        polysched_tell(kernel, blocks, threads, bits);
}

static unsigned polysched_shared;
#define POLYSCHED_SHARED(kernel, bytes) ((void)(polysched_shared = (bytes)))
#define POLYSCHED_LAUNCH(kernel, ...) polysched_launch(#kernel, __VA_ARGS__)
