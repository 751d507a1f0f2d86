/* A stand-in for NVIDIA's driver: one device, whose memory is the host's. Its machine code is the path of a library with
   a function run_<kernel> for each kernel, which tests/fake_cuda.py makes of the same text. */
#include <dlfcn.h>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

typedef unsigned long long Pointer;

static int devices = 1, current = 0;
static std::map<Pointer, size_t> memory;
static std::map<void *, unsigned> shared; /* the most that kernels may be given, where that is more than usual */
static std::string failing, calls;
static int failing_status;

#define API extern "C" __attribute__((visibility("default")))
#define CALLED                                 \
    calls += std::string(__func__) + " ";      \
    if (failing == __func__)                   \
        return failing_status;

/* --- for the tests */

API void fake_devices(int count) { devices = count; }
API void fake_failure(const char *function, int status) { failing = function, failing_status = status; }
API size_t fake_allocations() { return memory.size(); }
API const char *fake_calls()
{
    static std::string last;
    last = calls;
    calls.clear();
    return last.c_str();
}

/* --- the driver */

API int cuInit(unsigned) { return 0; }
API int cuDriverGetVersion(int *version) { return *version = 13000, 0; }
API int cuDeviceGetCount(int *count) { return *count = devices, 0; }
API int cuDeviceGet(int *device, int ordinal) { return *device = ordinal, 0; }
API int cuDeviceGetName(char *name, int size, int) { return strncpy(name, "NVIDIA H200", size), 0; }
API int cuDeviceGetAttribute(int *value, int attribute, int)
{
    *value = attribute == 75 ? 9 : 0; /* compute capability 9.0 */
    return 0;
}
API int cuCtxGetCurrent(void **context) { return *context = (void *)(long)current, 0; }
API int cuCtxGetDevice(int *device) { return *device = 0, 0; }
API int cuDevicePrimaryCtxRetain(void **context, int) { return *context = (void *)1, 0; }
API int cuDevicePrimaryCtxRelease_v2(int) { return 0; }
API int cuCtxPushCurrent_v2(void *) { return current++, 0; }
API int cuCtxPopCurrent_v2(void **context) { return current--, *context = (void *)1, 0; }
API int cuCtxSynchronize() { CALLED return 0; }
API int cuStreamSynchronize(void *) { CALLED return 0; }
API int cuPointerGetAttribute(void *data, int, Pointer at)
{
    auto after = memory.upper_bound(at);
    if (after == memory.begin() || at >= (--after)->first + after->second)
        return 1;
    return *(int *)data = 0, 0;
}

API int cuGetErrorString(int status, const char **text)
{
    return *text = status == 2 ? "out of memory" : status == 719 ? "unspecified launch failure" : "invalid argument", 0;
}

API int cuMemAlloc_v2(Pointer *at, size_t size)
{
    CALLED
    if (size == 0)
        return 1;
    *at = (Pointer)malloc(size);
    memset((void *)*at, 0xff, size);
    memory[*at] = size;
    return 0;
}
API int cuMemFree_v2(Pointer at)
{
    CALLED
    if (!memory.erase(at))
        return 1;
    free((void *)at);
    return 0;
}
API int cuMemAllocAsync(Pointer *at, size_t size, void *) { CALLED return cuMemAlloc_v2(at, size); }
API int cuMemFreeAsync(Pointer at, void *) { CALLED return cuMemFree_v2(at); }
API int cuMemcpyHtoD_v2(Pointer to, const void *from, size_t size) { CALLED return memcpy((void *)to, from, size), 0; }
API int cuMemcpyDtoH_v2(void *to, Pointer from, size_t size) { CALLED return memcpy(to, (void *)from, size), 0; }
API int cuMemcpyDtoD_v2(Pointer to, Pointer from, size_t size)
{
    CALLED return memcpy((void *)to, (void *)from, size), 0;
}

API int cuEventCreate(void **event, unsigned) { return *event = (void *)1, 0; }
API int cuEventRecord(void *, void *) { return 0; }
API int cuEventSynchronize(void *) { return 0; }
API int cuEventElapsedTime(float *milliseconds, void *, void *) { return *milliseconds = 0.25f, 0; }
API int cuEventElapsedTime_v2(float *milliseconds, void *, void *) { return *milliseconds = 0.25f, 0; }
API int cuEventDestroy_v2(void *) { return 0; }

API int cuLibraryLoadData(void **library, const void *image, void *, void **, unsigned, void *, void **, unsigned)
{
    CALLED
    *library = dlopen((const char *)image, RTLD_NOW);
    return *library ? 0 : 200;
}
API int cuLibraryGetKernel(void **kernel, void *library, const char *name)
{
    *kernel = dlsym(library, (std::string("run_") + name).c_str());
    return *kernel ? 0 : 500;
}
API int cuKernelSetAttribute(int attribute, int value, void *kernel, int)
{
    CALLED
    if (attribute != 8 || value > 232448) /* the most dynamic shared memory */
        return 1;
    shared[kernel] = value;
    return 0;
}
API int cuLaunchKernel(void *kernel, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                       unsigned bytes, void *, void **values, void **)
{
    CALLED
    if (!gx || !gy || !gz || (unsigned long)bx * by * bz > 1024 || bytes > (shared.count(kernel) ? shared[kernel] : 49152))
        return 1;
    const unsigned extents[] = {gx, gy, gz, bx, by, bz, bytes};
    return ((int (*)(const unsigned *, void **))kernel)(extents, values);
}

/* NVRTC asks for tables that are not documented, and does without. */
API int cuGetExportTable(const void **table, const void *) { return *table = nullptr, 500; }

/* How cuda-bindings finds the rest: the newest version of each. */
API int cuGetProcAddress_v2(const char *name, void **function, int, unsigned long long, int *status)
{
    static void *const own = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    for (const char *version : {"_v2", ""}) {
        *function = dlsym(own, (std::string(name) + version).c_str());
        if (*function)
            break;
    }
    if (status)
        *status = *function ? 0 : 1;
    return 0;
}
API int cuGetProcAddress(const char *name, void **function, int version, unsigned long long flags)
{
    return cuGetProcAddress_v2(name, function, version, flags, nullptr);
}
