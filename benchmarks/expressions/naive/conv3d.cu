__global__ void conv3d(float *__restrict__ out, const float *__restrict__ data, const float *__restrict__ weight,
                       int n, int c, int d, int h, int w, int f, int q, int r, int s, int od, int oh, int ow, int pad)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= n * f * od * oh * ow)
        return;
    float acc = 0.0f;
    for (int k = 0; k < c; k++)
        for (int t = 0; t < q; t++)
            for (int i = 0; i < r; i++)
                for (int j = 0; j < s; j++)
                    if (0 <= p / (oh * ow) % od + t - pad && p / (oh * ow) % od + t - pad < d &&
                        0 <= p / ow % oh + i - pad && p / ow % oh + i - pad < h && 0 <= p % ow + j - pad &&
                        p % ow + j - pad < w)
                        acc += data[(((p / (f * od * oh * ow) * c + k) * d + p / (oh * ow) % od + t - pad) * h +
                                     p / ow % oh + i - pad) * w + p % ow + j - pad] *
                               weight[(((p / (od * oh * ow) % f * c + k) * q + t) * r + i) * s + j];
    out[p] = acc;
}
