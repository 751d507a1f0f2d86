#ifndef POLYSCHED_OPENCL
#define POLYSCHED_OPENCL
/* What the functions below need of OpenCL 1.2. After an error, the rest of a call only cleans up. */
#define CL_TARGET_OPENCL_VERSION 120
#ifdef __APPLE__
#include <OpenCL/opencl.h>
#else
#include <CL/cl.h>
#endif
#include <stdint.h>
#include <stdlib.h>

typedef struct {
    size_t x, y, z;
} polysched_extent;

typedef struct {
    size_t size;
    const void *value;
} polysched_argument;

typedef struct {
    const char **lines;
    cl_uint count;
    int is_built;
    cl_int status; /* what became of building it */
    cl_program program;
} polysched_program;

static struct {
    volatile int busy; /* one call at a time */
    int is_set_up;
    cl_int set_up; /* what became of setting it up */
    cl_device_id device;
    cl_context context;
    cl_command_queue queue;
    cl_program program; /* of this call */
    cl_event last;      /* launch of this call, which has waited for those before; NULL: none yet */
    cl_int status;      /* of this call: its first error */
} polysched_cl;

/* A GPU, or what there is. */
static inline cl_int polysched_set_up(void)
{
    const cl_device_type types[] = {CL_DEVICE_TYPE_GPU, CL_DEVICE_TYPE_ALL};
    cl_platform_id platforms[16];
    cl_uint count = 0;
    cl_int status = clGetPlatformIDs(16, platforms, &count);
    cl_device_id device = NULL;
    if (status)
        return status;
    for (int t = 0; t < 2 && !device; t++)
        for (cl_uint p = 0; p < count && p < 16 && !device; p++)
            if (clGetDeviceIDs(platforms[p], types[t], 1, &device, NULL))
                device = NULL;
    if (!device)
        return CL_DEVICE_NOT_FOUND;
    polysched_cl.device = device;
    polysched_cl.context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    if (!status)
        polysched_cl.queue = clCreateCommandQueue(polysched_cl.context, device, 0, &status);
    return status;
}

static inline void polysched_build(polysched_program *program)
{
    const char *options = "-cl-std=CL1.2";
    cl_device_fp_config floats = 0;
    clGetDeviceInfo(polysched_cl.device, CL_DEVICE_SINGLE_FP_CONFIG, sizeof floats, &floats, NULL);
    if (floats & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT)
        options = "-cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt";
    program->program = clCreateProgramWithSource(polysched_cl.context, program->count, program->lines, NULL,
                                                 &program->status);
    if (!program->status)
        program->status = clBuildProgram(program->program, 1, &polysched_cl.device, options, NULL, NULL);
}

static inline void polysched_begin(polysched_program *program)
{
    while (__sync_lock_test_and_set(&polysched_cl.busy, 1)) {
    }
    if (!polysched_cl.is_set_up)
        polysched_cl.set_up = polysched_set_up();
    polysched_cl.is_set_up = 1;
    polysched_cl.status = polysched_cl.set_up;
    if (polysched_cl.status)
        return;
    if (!program->is_built)
        polysched_build(program);
    program->is_built = 1;
    polysched_cl.status = program->status;
    polysched_cl.program = program->program;
}

/* 0, or the first error. */
static inline int polysched_end(void)
{
    const int status = polysched_cl.status;
    if (polysched_cl.last)
        clReleaseEvent(polysched_cl.last);
    polysched_cl.last = NULL;
    __sync_lock_release(&polysched_cl.busy);
    return status;
}

/* Memory on the device, with what is at `from`, unless that is NULL. */
static inline cl_mem polysched_buffer(size_t bytes, const void *from)
{
    cl_mem buffer = NULL;
    if (!polysched_cl.status)
        buffer = clCreateBuffer(polysched_cl.context, CL_MEM_READ_WRITE, bytes ? bytes : 1, NULL,
                                &polysched_cl.status);
    if (!polysched_cl.status && from && bytes)
        polysched_cl.status =
            clEnqueueWriteBuffer(polysched_cl.queue, buffer, CL_TRUE, 0, bytes, from, 0, NULL, NULL);
    return buffer;
}

static inline void polysched_release(cl_mem buffer)
{
    if (buffer)
        clReleaseMemObject(buffer);
}

static inline void polysched_wait(void)
{
    if (!polysched_cl.status && polysched_cl.last)
        polysched_cl.status = clWaitForEvents(1, &polysched_cl.last);
}

static inline void polysched_read(void *to, cl_mem from, size_t offset, size_t bytes)
{
    polysched_wait();
    if (!polysched_cl.status)
        polysched_cl.status =
            clEnqueueReadBuffer(polysched_cl.queue, from, CL_TRUE, offset, bytes, to, 0, NULL, NULL);
}

/* A result, once all launches have succeeded. */
static inline void polysched_back(void *to, cl_mem from, size_t bytes)
{
    polysched_wait();
    if (!polysched_cl.status && bytes &&
        clEnqueueReadBuffer(polysched_cl.queue, from, CL_TRUE, 0, bytes, to, 0, NULL, NULL))
        abort(); /* too late to run it otherwise */
}

/* Groups: no more than are allowed everywhere, and no more than asked for; kernels stride over the rest. */
static inline polysched_extent grid_of(int64_t x, int64_t y, int64_t z)
{
    const polysched_extent grid = {(size_t)(x < 0 ? 0 : x < 2147483647 ? x : 2147483647),
                                   (size_t)(y < 0 ? 0 : y < 65535 ? y : 65535),
                                   (size_t)(z < 0 ? 0 : z < 65535 ? z : 65535)};
    return grid;
}

static inline polysched_extent block_of(size_t x, size_t y, size_t z)
{
    const polysched_extent block = {x, y, z};
    return block;
}

static inline void polysched_launch(const char *name, polysched_extent grid, polysched_extent block,
                                    cl_uint count, const polysched_argument *arguments)
{
    const size_t global[] = {grid.x * block.x, grid.y * block.y, grid.z * block.z};
    const size_t local[] = {block.x, block.y, block.z};
    const cl_event before = polysched_cl.last;
    cl_kernel kernel = NULL;
    if (polysched_cl.status || !grid.x || !grid.y || !grid.z)
        return;
    kernel = clCreateKernel(polysched_cl.program, name, &polysched_cl.status);
    for (cl_uint k = 0; k < count && !polysched_cl.status; k++)
        polysched_cl.status = clSetKernelArg(kernel, k, arguments[k].size, arguments[k].value);
    if (!polysched_cl.status)
        polysched_cl.status = clEnqueueNDRangeKernel(polysched_cl.queue, kernel, 3, NULL, global, local,
                                                     before ? 1 : 0, before ? &before : NULL, &polysched_cl.last);
    if (!polysched_cl.status && before)
        clReleaseEvent(before);
    if (kernel)
        clReleaseKernel(kernel);
}

#define POLYSCHED_BEGIN(text)                                                                               \
    do {                                                                                                    \
        static polysched_program polysched_own = {text, sizeof(text) / sizeof *(text), 0, CL_SUCCESS, NULL}; \
        polysched_begin(&polysched_own);                                                                    \
    } while (0)
#define POLYSCHED_ARGUMENT(name) {sizeof(name), &(name)}
#define POLYSCHED_LAUNCH(kernel, grid, block, ...)                                                          \
    do {                                                                                                    \
        const polysched_argument polysched_arguments[] = {__VA_ARGS__};                                     \
        polysched_launch(#kernel, grid, block, sizeof polysched_arguments / sizeof *polysched_arguments,    \
                         polysched_arguments);                                                              \
    } while (0)
#endif
