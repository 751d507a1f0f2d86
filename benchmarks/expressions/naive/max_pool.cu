/* With stride 2. */
__global__ void max_pool(float *__restrict__ out, const float *__restrict__ data, int n, int c, int h, int w, int r,
                         int s, int oh, int ow, int pad)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= n * c * oh * ow)
        return;
    float acc = -3.0e38f;
    for (int i = 0; i < r; i++)
        for (int j = 0; j < s; j++)
            if (0 <= p / ow % oh * 2 + i - pad && p / ow % oh * 2 + i - pad < h && 0 <= p % ow * 2 + j - pad &&
                p % ow * 2 + j - pad < w)
                acc = fmaxf(acc,
                            data[((p / (c * oh * ow) * c + p / (oh * ow) % c) * h + p / ow % oh * 2 + i - pad) * w +
                                 p % ow * 2 + j - pad]);
    out[p] = acc;
}
