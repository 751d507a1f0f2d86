#include <cuda_runtime.h>

// C = A * B in tiles of 16 x 16.
__global__ void __launch_bounds__(256) matmul(const float *__restrict__ A, const float *__restrict__ B,
                                              float *__restrict__ C, int n)
{
    __shared__ float As[16][17];
    __shared__ float Bs[16][16];
    const int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int k0 = 0; k0 < n; k0 += 16) {
        As[threadIdx.y][threadIdx.x] = i < n && k0 + threadIdx.x < n ? A[i * n + k0 + threadIdx.x] : 0;
        Bs[threadIdx.y][threadIdx.x] = k0 + threadIdx.y < n && j < n ? B[(k0 + threadIdx.y) * n + j] : 0;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 16; k++)
            sum += As[threadIdx.y][k] * Bs[k][threadIdx.x];
        __syncthreads();
    }
    if (i < n && j < n)
        C[i * n + j] = sum;
}

// The sum of a block's elements: through shared memory, then by shuffles in the first warp, then atomically.
__global__ void __launch_bounds__(128) total(const float *__restrict__ x, float *out, int n)
{
    __shared__ float sums[128];
    const int t = threadIdx.x, i = blockIdx.x * 128 + t;
    sums[t] = i < n ? x[i] : 0;
    __syncthreads();
    for (int half = 64; half >= 32; half /= 2) {
        if (t < half)
            sums[t] += sums[t + half];
        __syncthreads();
    }
    if (t < 32) {
        float sum = sums[t];
        for (int lanes = 16; lanes > 0; lanes /= 2)
            sum += __shfl_down_sync(0xffffffff, sum, lanes);
        if (t == 0)
            atomicAdd(out, sum);
    }
}

// A five-point stencil, through a tile with a halo of one element.
__global__ void __launch_bounds__(128) stencil(const double *__restrict__ A, double *__restrict__ B, int n)
{
    __shared__ double tile[10][18];
    const int i0 = blockIdx.y * 8, j0 = blockIdx.x * 16;
    for (int t = threadIdx.y * 16 + threadIdx.x; t < 10 * 18; t += 128)
        if (i0 + t / 18 < n && j0 + t % 18 < n)
            tile[t / 18][t % 18] = A[(i0 + t / 18) * n + j0 + t % 18];
    __syncthreads();
    const int i = threadIdx.y + 1, j = threadIdx.x + 1;
    if (i0 + i < n - 1 && j0 + j < n - 1)
        B[(i0 + i) * n + j0 + j] = tile[i][j] + tile[i - 1][j] + tile[i + 1][j] + tile[i][j - 1] + tile[i][j + 1];
}

// B = A transposed, four rows a thread.
__global__ void __launch_bounds__(256) transpose(const float *__restrict__ A, float *__restrict__ B, int n)
{
    __shared__ float tile[32][33];
    const int j0 = blockIdx.x * 32, i0 = blockIdx.y * 32, x = threadIdx.x;
    for (int y = threadIdx.y; y < 32; y += 8)
        if (i0 + y < n && j0 + x < n)
            tile[y][x] = A[(i0 + y) * n + j0 + x];
    __syncthreads();
    for (int y = threadIdx.y; y < 32; y += 8)
        if (j0 + y < n && i0 + x < n)
            B[(j0 + y) * n + i0 + x] = tile[x][y];
}
