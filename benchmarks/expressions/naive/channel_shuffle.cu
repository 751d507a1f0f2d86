/* The g groups of c channels become c groups of g. */
__global__ void channel_shuffle(float *__restrict__ out, const float *__restrict__ data, int n, int g, int c, int h,
                                int w)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= n * (g * c) * h * w)
        return;
    out[p] = data[(p / (g * c * h * w) * (g * c) + p / (h * w) % (g * c) % g * c + p / (h * w) % (g * c) / g) *
                      (h * w) +
                  p % (h * w)];
}
