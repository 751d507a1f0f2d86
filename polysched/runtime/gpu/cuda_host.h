/* Runs the host's part of the CUDA text that polysched prints on the driver alone: with it, g++ makes a library of that
   text whose kernels are loaded as machine code. POLYSCHED_KERNELS(X) is X(name) of each, in front of this. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define __host__
#define __device__

typedef _Float16 __half;
typedef int cudaError_t; /* the driver's CUresult, whose numbers CUDA's runtime has too */
enum { cudaSuccess = 0, cudaMemcpyDeviceToHost = 2 };

struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x, unsigned y, unsigned z) : x(x), y(y), z(z) {}
};

typedef struct CUlib_st *polysched_library;
typedef struct CUkern_st *polysched_kernel;
typedef unsigned long long polysched_pointer;

static struct {
    cudaError_t (*load)(polysched_library *, const void *, void *, void **, unsigned, void *, void **, unsigned);
    cudaError_t (*find)(polysched_kernel *, polysched_library, const char *);
    cudaError_t (*launch)(polysched_kernel, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                          void *, void **, void **);
    cudaError_t (*set)(int, int, polysched_kernel, int);
    cudaError_t (*device)(int *);
    cudaError_t (*allocate)(polysched_pointer *, size_t);
    cudaError_t (*release)(polysched_pointer);
    cudaError_t (*allocate_in_order)(polysched_pointer *, size_t, void *);
    cudaError_t (*release_in_order)(polysched_pointer, void *);
    cudaError_t (*copy_back)(void *, polysched_pointer, size_t);
    cudaError_t (*error_string)(cudaError_t, const char **);
} polysched_driver;

#define POLYSCHED_DECLARE(kernel) static polysched_kernel kernel;
POLYSCHED_KERNELS(POLYSCHED_DECLARE)

static thread_local char polysched_message[512];
#define POLYSCHED_REPORT(...) snprintf(polysched_message, sizeof polysched_message, __VA_ARGS__)

extern "C" const char *polysched_last_message() { return polysched_message; }

static bool polysched_connect()
{
    void *const library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library)
        return false;
#define POLYSCHED_CONNECT(member, name) *(void **)&polysched_driver.member = dlsym(library, name)
    POLYSCHED_CONNECT(load, "cuLibraryLoadData");
    POLYSCHED_CONNECT(find, "cuLibraryGetKernel");
    POLYSCHED_CONNECT(launch, "cuLaunchKernel");
    POLYSCHED_CONNECT(set, "cuKernelSetAttribute");
    POLYSCHED_CONNECT(device, "cuCtxGetDevice");
    POLYSCHED_CONNECT(allocate, "cuMemAlloc_v2");
    POLYSCHED_CONNECT(release, "cuMemFree_v2");
    POLYSCHED_CONNECT(allocate_in_order, "cuMemAllocAsync");
    POLYSCHED_CONNECT(release_in_order, "cuMemFreeAsync");
    POLYSCHED_CONNECT(copy_back, "cuMemcpyDtoH_v2");
    POLYSCHED_CONNECT(error_string, "cuGetErrorString");
    return polysched_driver.load && polysched_driver.find; /* the others are older */
}

static inline const char *cudaGetErrorString(cudaError_t status)
{
    const char *text = NULL;
    polysched_driver.error_string(status, &text);
    return text ? text : "unknown error";
}

static inline cudaError_t cudaGetLastError() { return cudaSuccess; } /* the driver keeps none */

/* Makes the kernels in this machine code what is launched; they run in every context. */
extern "C" int polysched_load(const void *image)
{
    polysched_library library = NULL;
    if (!polysched_connect()) {
        POLYSCHED_REPORT("the driver is older than CUDA 12: it has no cuLibraryLoadData");
        return -1;
    }
    cudaError_t status = polysched_driver.load(&library, image, NULL, NULL, 0, NULL, NULL, 0);
#define POLYSCHED_FIND(kernel)                                                   \
    if (status == cudaSuccess)                                                   \
        status = polysched_driver.find(&kernel, library, #kernel);
    POLYSCHED_KERNELS(POLYSCHED_FIND)
    if (status != cudaSuccess)
        POLYSCHED_REPORT("%s", cudaGetErrorString(status));
    return status;
}

static inline cudaError_t cudaMalloc(void **pointer, size_t size)
{
    polysched_pointer fresh = 0;
    const cudaError_t status = polysched_driver.allocate(&fresh, size ? size : 1);
    *pointer = (void *)fresh;
    return status;
}

static inline cudaError_t cudaFree(void *pointer)
{
    return pointer ? polysched_driver.release((polysched_pointer)pointer) : cudaSuccess;
}

static inline cudaError_t cudaMallocAsync(void **pointer, size_t size, void *stream)
{
    polysched_pointer fresh = 0;
    const cudaError_t status = polysched_driver.allocate_in_order(&fresh, size ? size : 1, stream);
    *pointer = (void *)fresh;
    return status;
}

static inline cudaError_t cudaFreeAsync(void *pointer, void *stream)
{
    return pointer ? polysched_driver.release_in_order((polysched_pointer)pointer, stream) : cudaSuccess;
}

static inline cudaError_t cudaMemcpy(void *to, const void *from, size_t size, int)
{
    return polysched_driver.copy_back(to, (polysched_pointer)from, size);
}

static thread_local unsigned polysched_shared; /* bytes of shared memory that launches give a block */

static cudaError_t polysched_share(polysched_kernel kernel, int bytes)
{
    enum { max_dynamic_shared_size_bytes = 8 };
    if (!polysched_driver.set) /* which came with CUDA 12.1 */
        return 801; /* not supported */
    int device = 0;
    const cudaError_t status = polysched_driver.device(&device);
    polysched_shared = bytes;
    return status != cudaSuccess ? status : polysched_driver.set(max_dynamic_shared_size_bytes, bytes, kernel, device);
}

#define POLYSCHED_SHARED(kernel, bytes)                                                                  \
    do {                                                                                                 \
        if (polysched_status == cudaSuccess)                                                             \
            polysched_check(polysched_share(kernel, bytes), "shared memory of " #kernel, __FILE__,       \
                            __LINE__);                                                                   \
    } while (0)

/* Arguments have the types of the kernel's parameters: they are its names. */
template <class... T>
static cudaError_t polysched_launch(polysched_kernel kernel, dim3 grid, dim3 block, const T &...arguments)
{
    void *values[] = {(void *)&arguments..., NULL};
    if (!grid.x || !grid.y || !grid.z)
        return cudaSuccess;
    return polysched_driver.launch(kernel, grid.x, grid.y, grid.z, block.x, block.y, block.z, polysched_shared, NULL, values, NULL);
}

#define POLYSCHED_LAUNCH(kernel, grid, block, ...)                                                       \
    do {                                                                                                 \
        if (polysched_status == cudaSuccess)                                                             \
            polysched_check(polysched_launch(kernel, grid, block, __VA_ARGS__), "launch of " #kernel,    \
                            __FILE__, __LINE__);                                                         \
    } while (0)
