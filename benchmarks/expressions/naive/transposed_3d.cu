/* With stride 2. */
__global__ void transposed_3d(float *__restrict__ out, const float *__restrict__ data, const float *__restrict__ weight,
                              int n, int c, int d, int h, int w, int f, int q, int r, int s, int od, int oh, int ow,
                              int pad)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= n * f * od * oh * ow)
        return;
    float acc = 0.0f;
    for (int k = 0; k < c; k++)
        for (int t = 0; t < q; t++)
            for (int i = 0; i < r; i++)
                for (int j = 0; j < s; j++)
                    if ((p / (oh * ow) % od + pad - t) % 2 == 0 && (p / ow % oh + pad - i) % 2 == 0 &&
                        (p % ow + pad - j) % 2 == 0 && 0 <= (p / (oh * ow) % od + pad - t) / 2 &&
                        (p / (oh * ow) % od + pad - t) / 2 < d && 0 <= (p / ow % oh + pad - i) / 2 &&
                        (p / ow % oh + pad - i) / 2 < h && 0 <= (p % ow + pad - j) / 2 &&
                        (p % ow + pad - j) / 2 < w)
                        acc += data[(((p / (f * od * oh * ow) * c + k) * d + (p / (oh * ow) % od + pad - t) / 2) * h +
                                     (p / ow % oh + pad - i) / 2) * w + (p % ow + pad - j) / 2] *
                               weight[(((k * f + p / (od * oh * ow) % f) * q + t) * r + i) * s + j];
    out[p] = acc;
}
