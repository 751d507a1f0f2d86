__global__ void batched_matmul(float *__restrict__ out, const float *__restrict__ left, const float *__restrict__ right,
                               int b, int n, int m, int k)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= b * n * m)
        return;
    float acc = 0.0f;
    for (int q = 0; q < k; q++)
        acc += left[(p / (n * m) * n + p / m % n) * k + q] * right[(p / (n * m) * k + q) * m + p % m];
    out[p] = acc;
}
