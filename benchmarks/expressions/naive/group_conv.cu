/* Of g groups, each makes fg channels from cg. */
__global__ void group_conv(float *__restrict__ out, const float *__restrict__ data, const float *__restrict__ weight,
                           int n, int g, int cg, int fg, int h, int w, int r, int s, int oh, int ow, int pad)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= n * g * fg * oh * ow)
        return;
    float acc = 0.0f;
    for (int k = 0; k < cg; k++)
        for (int i = 0; i < r; i++)
            for (int j = 0; j < s; j++)
                if (0 <= p / ow % oh + i - pad && p / ow % oh + i - pad < h && 0 <= p % ow + j - pad &&
                    p % ow + j - pad < w)
                    acc += data[((p / (g * fg * oh * ow) * (g * cg) + p / (oh * ow) % (g * fg) / fg * cg + k) * h +
                                 p / ow % oh + i - pad) * w + p % ow + j - pad] *
                           weight[((p / (oh * ow) % (g * fg) * cg + k) * r + i) * s + j];
    out[p] = acc;
}
