/* CUDA's words for a C++ compiler: with this before it, the text of kernels runs on the CPU unchanged.

       __global__ void scale(float *a) { a[threadIdx.x] *= 2; }
       POLYSCHED_LAUNCH(scale, dim3(1), dim3(32), a);

   Threads wait for each other as in block_on_cpu.h says. A device's memory is the host's; fresh, it holds NaNs. */
#pragma once
#include <limits.h>

#include "launch_on_cpu.h"
#include "cuda_types_on_cpu.h"
#include "cuda_warp_on_cpu.h"
#include "cuda_atomics_on_cpu.h"
#include "cuda_functions_on_cpu.h"
#include "cuda_math_on_cpu.h"

#define __global__
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __grid_constant__
/* In a function it is static then, and may be extern; "used" keeps stores that nothing reads, for the checker. */
#define __shared__ __attribute__((used)) thread_local
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))
/* What stands for alignas in a text, since C++ does not let that be among other words, as in `__shared__ alignas(16)`. */
#define POLYSCHED_ALIGNAS(...) __attribute__((aligned(polysched_alignment<__VA_ARGS__>())))
template <class T> constexpr size_t polysched_alignment() { return alignof(T); }
template <size_t bytes> constexpr size_t polysched_alignment() { return bytes; }
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __inline__ inline
#define __cluster_dims__(...)
#define __maxnreg__(...)
#define __CUDA_ARCH__ 900
#define POLYSCHED_HIDDEN(end) /* PTX, in the texts that polysched makes */
#define POLYSCHED_NO_PTX

/* Time passes with each look at it. */
POLYSCHED_OWN static long long clock64()
{
    static long long now;
    return now += 32;
}
extern "C" {
long clock() noexcept(true) __asm__("polysched_clock");
__attribute__((visibility("hidden"), unused)) long clock() noexcept(true) { return clock64(); }
}
#define __nanosleep(time) ((void)(time))
#define __trap() polysched::polysched_stop("__trap()")
#define __brkpt() ((void)0)
#define __builtin_assume(condition) ((void)0)
#define __assume(condition) ((void)0)
#define __prof_trigger(counter) ((void)0)

#define polysched_shared polysched_dynamic
#define POLYSCHED_SHARED(kernel, bytes) ((void)(polysched_shared = (bytes)))
#define POLYSCHED_LAUNCH(kernel, grid, block, ...) polysched::launch(#kernel, grid, block, kernel, ##__VA_ARGS__)
#define POLYSCHED_LAUNCH_EITHER(narrow, kernel, wide, ...) \
    do {                                                   \
        if ((narrow) && !polysched_wide)                   \
            POLYSCHED_LAUNCH(kernel, __VA_ARGS__);         \
        else                                               \
            POLYSCHED_LAUNCH(wide, __VA_ARGS__);           \
    } while (0)

/* --- what the host calls */

typedef int cudaError_t;
typedef struct polysched_stream *cudaStream_t;
enum { cudaSuccess = 0, cudaErrorMemoryAllocation = 2, cudaErrorLaunchFailure = 719 };
enum cudaMemcpyKind {
    cudaMemcpyHostToHost = 0,
    cudaMemcpyHostToDevice = 1,
    cudaMemcpyDeviceToHost = 2,
    cudaMemcpyDeviceToDevice = 3,
    cudaMemcpyDefault = 4
};

/* `like`: what it will be a copy of, if that is known. */
POLYSCHED_OWN static cudaError_t polysched_allocate(void **pointer, size_t size, const void *like)
{
    *pointer = nullptr;
    if (polysched_notes)
        return cudaSuccess;
    if (posix_memalign(pointer, 256, size ? size : 1) != 0)
        return cudaErrorMemoryAllocation;
    memset(*pointer, 0xff, size);
    polysched_check_allocated(*pointer, size, like);
    return cudaSuccess;
}

static inline cudaError_t cudaMalloc(void **pointer, size_t size) { return polysched_allocate(pointer, size, nullptr); }

template <class T> static inline cudaError_t cudaMalloc(T **pointer, size_t size) { return cudaMalloc((void **)pointer, size); }

POLYSCHED_OWN static cudaError_t cudaFree(void *pointer)
{
    if (pointer)
        polysched_check_freed(pointer);
    free(pointer);
    return cudaSuccess;
}

static inline cudaError_t cudaMallocAsync(void **pointer, size_t size, cudaStream_t) { return cudaMalloc(pointer, size); }
static inline cudaError_t cudaFreeAsync(void *pointer, cudaStream_t) { return cudaFree(pointer); }

POLYSCHED_OWN static cudaError_t cudaMemcpy(void *to, const void *from, size_t size, cudaMemcpyKind)
{
    if (polysched_notes)
        return cudaSuccess;
    memcpy(to, from, size);
    polysched_check_filled(to, size);
    return cudaSuccess;
}

POLYSCHED_OWN static cudaError_t cudaMemset(void *to, int value, size_t size)
{
    if (polysched_notes)
        return cudaSuccess;
    memset(to, value, size);
    polysched_check_filled(to, size);
    return cudaSuccess;
}

POLYSCHED_OWN static cudaError_t polysched_last_error() { return polysched_fault[0] ? cudaErrorLaunchFailure : cudaSuccess; }
static inline cudaError_t cudaGetLastError() { return polysched_last_error(); }
static inline cudaError_t cudaPeekAtLastError() { return polysched_last_error(); }
static inline cudaError_t cudaDeviceSynchronize() { return polysched_last_error(); }
static inline const char *cudaGetErrorString(cudaError_t error)
{
    return error == cudaSuccess ? "no error" : polysched_fault[0] ? polysched_fault : "out of memory";
}
