#include <stdint.h>

static const char *polysched_kernels_of_heat[] = {
    "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n",
    "#pragma OPENCL FP_CONTRACT OFF\n",
    "\n",
    "/* heat_k0: blocks of 32 x 8 threads */\n",
    "__kernel void __attribute__((reqd_work_group_size(32, 8, 1))) heat_k0(long n,\n",
    "        __global const double *restrict A, __global double *restrict B)\n",
    "{\n",
    "    for (long row = (long)get_group_id(1) * 8; row < n; row += (long)get_num_groups(1) * 8) {\n",
    "        for (long column = (long)get_group_id(0) * 32; column < n; column += (long)get_num_groups(0) * 32) {\n",
    "            const long i = row + (long)get_local_id(1);\n",
    "            if (i >= 1 && i < n - 1) {\n",
    "                const long j = column + (long)get_local_id(0);\n",
    "                if (j >= 1 && j < n - 1) {\n",
    "                    B[i * n + j] = 0.25 * (A[(i - 1) * n + j] + A[(i + 1) * n + j] + A[i * n + j - 1] + A[i * n + j + 1]);\n",
    "                }\n",
    "            }\n",
    "        }\n",
    "    }\n",
    "}\n",
    "\n",
    "/* heat_k1: one thread */\n",
    "__kernel void __attribute__((reqd_work_group_size(1, 1, 1))) heat_k1(long n, __global double *restrict A,\n",
    "        __global const double *restrict B)\n",
    "{\n",
    "    A[0] = B[n + 1];\n",
    "}\n",
};

/* Takes the host's arrays; returns 0 if it has run, else OpenCL's error, and the arrays are as they were. */
int heat(int64_t steps, int64_t n, double *restrict A, double *restrict B)
{
    const size_t bytes_A = sizeof(double) * (size_t)(n * n);
    const size_t bytes_B = sizeof(double) * (size_t)(n * n);
    POLYSCHED_BEGIN(polysched_kernels_of_heat);
    const cl_mem device_A = polysched_buffer(bytes_A, A);
    const cl_mem device_B = polysched_buffer(bytes_B, B);
    for (int64_t t = 0; t < steps; t++) {
        POLYSCHED_LAUNCH(heat_k0, grid_of((n + 31) >> 5, (n + 7) >> 3, 1), block_of(32, 8, 1),
                POLYSCHED_ARGUMENT(n), POLYSCHED_ARGUMENT(device_A), POLYSCHED_ARGUMENT(device_B));
        POLYSCHED_LAUNCH(heat_k1, grid_of(1, 1, 1), block_of(1, 1, 1), POLYSCHED_ARGUMENT(n),
                POLYSCHED_ARGUMENT(device_A), POLYSCHED_ARGUMENT(device_B));
    }
    polysched_back(A, device_A, bytes_A);
    polysched_back(B, device_B, bytes_B);
    polysched_release(device_A);
    polysched_release(device_B);
    return polysched_end();
}
