/* B^T d B of F(2x2, 3x3) for each channel and tile; the entries of B are told by conditions. */
__global__ void winograd_input(float *__restrict__ out, const float *__restrict__ data, int n, int c, int h, int w,
                               int th, int tw, int pad)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= c * (n * th * tw))
        return;
    for (int x = 0; x < 4; x++)
        for (int y = 0; y < 4; y++) {
            float acc = 0.0f;
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++)
                    acc += (0 <= p / tw % th * 2 + i - pad && p / tw % th * 2 + i - pad < h &&
                                    0 <= p % tw * 2 + j - pad && p % tw * 2 + j - pad < w
                                ? data[((p / (th * tw) % n * c + p / (n * th * tw)) * h +
                                        p / tw % th * 2 + i - pad) * w + p % tw * 2 + j - pad]
                                : 0.0f) *
                           ((i == 2 && x == 0) || (i == 1 && x == 2) || (i == 3 && x == 3) ? -1.0f
                            : i == x || (i == 2 && x == 1) || (i == 1 && x == 3) ? 1.0f : 0.0f) *
                           ((j == 2 && y == 0) || (j == 1 && y == 2) || (j == 3 && y == 3) ? -1.0f
                            : j == y || (j == 2 && y == 1) || (j == 1 && y == 3) ? 1.0f : 0.0f);
            out[(x * 4 + y) * (c * (n * th * tw)) + p] = acc;
        }
}
