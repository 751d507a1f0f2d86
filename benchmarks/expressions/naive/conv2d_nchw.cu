__global__ void conv2d_nchw(float *__restrict__ out, const float *__restrict__ data, const float *__restrict__ weight,
                            int n, int c, int h, int w, int f, int r, int s, int oh, int ow, int pad)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= n * f * oh * ow)
        return;
    float acc = 0.0f;
    for (int k = 0; k < c; k++)
        for (int i = 0; i < r; i++)
            for (int j = 0; j < s; j++)
                if (0 <= p / ow % oh + i - pad && p / ow % oh + i - pad < h && 0 <= p % ow + j - pad &&
                    p % ow + j - pad < w)
                    acc += data[((p / (f * oh * ow) * c + k) * h + p / ow % oh + i - pad) * w + p % ow + j - pad] *
                           weight[((p / (oh * ow) % f * c + k) * r + i) * s + j];
    out[p] = acc;
}
