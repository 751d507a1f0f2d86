/* What is around the data counts as zero. */
__global__ void depthwise(float *__restrict__ out, const float *__restrict__ data, const float *__restrict__ weight,
                          int n, int c, int h, int w, int r, int s, int oh, int ow, int pad)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= n * c * oh * ow)
        return;
    float acc = 0.0f;
    for (int i = 0; i < r; i++)
        for (int j = 0; j < s; j++)
            acc += 0 <= p / ow % oh + i - pad && p / ow % oh + i - pad < h && 0 <= p % ow + j - pad &&
                           p % ow + j - pad < w
                       ? data[p / (oh * ow) * (h * w) + (p / ow % oh + i - pad) * w + p % ow + j - pad] *
                             weight[(p / (oh * ow) % c * r + i) * s + j]
                       : 0.0f;
    out[p] = acc;
}
