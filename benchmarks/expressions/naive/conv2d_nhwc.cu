__global__ void conv2d_nhwc(float *__restrict__ out, const float *__restrict__ data, const float *__restrict__ weight,
                            int n, int h, int w, int c, int r, int s, int f, int oh, int ow, int pad)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= n * oh * ow * f)
        return;
    float acc = 0.0f;
    for (int i = 0; i < r; i++)
        for (int j = 0; j < s; j++)
            for (int k = 0; k < c; k++)
                if (0 <= p / (f * ow) % oh + i - pad && p / (f * ow) % oh + i - pad < h &&
                    0 <= p / f % ow + j - pad && p / f % ow + j - pad < w)
                    acc += data[((p / (f * ow * oh) * h + p / (f * ow) % oh + i - pad) * w + p / f % ow + j - pad) * c +
                                k] *
                           weight[((i * s + j) * c + k) * f + p % f];
    out[p] = acc;
}
