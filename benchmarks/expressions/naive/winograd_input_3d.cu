/* The same of F(2x2x2, 3x3x3). */
__global__ void winograd_input_3d(float *__restrict__ out, const float *__restrict__ data, int n, int c, int d, int h,
                                  int w, int td, int th, int tw, int pad)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= c * (n * td * th * tw))
        return;
    for (int x = 0; x < 4; x++)
        for (int y = 0; y < 4; y++)
            for (int z = 0; z < 4; z++) {
                float acc = 0.0f;
                for (int i = 0; i < 4; i++)
                    for (int j = 0; j < 4; j++)
                        for (int k = 0; k < 4; k++)
                            acc += (0 <= p / (th * tw) % td * 2 + i - pad && p / (th * tw) % td * 2 + i - pad < d &&
                                            0 <= p / tw % th * 2 + j - pad && p / tw % th * 2 + j - pad < h &&
                                            0 <= p % tw * 2 + k - pad && p % tw * 2 + k - pad < w
                                        ? data[(((p / (td * th * tw) % n * c + p / (n * td * th * tw)) * d +
                                                 p / (th * tw) % td * 2 + i - pad) * h +
                                                p / tw % th * 2 + j - pad) * w + p % tw * 2 + k - pad]
                                        : 0.0f) *
                                   ((i == 2 && x == 0) || (i == 1 && x == 2) || (i == 3 && x == 3) ? -1.0f
                                    : i == x || (i == 2 && x == 1) || (i == 1 && x == 3) ? 1.0f : 0.0f) *
                                   ((j == 2 && y == 0) || (j == 1 && y == 2) || (j == 3 && y == 3) ? -1.0f
                                    : j == y || (j == 2 && y == 1) || (j == 1 && y == 3) ? 1.0f : 0.0f) *
                                   ((k == 2 && z == 0) || (k == 1 && z == 2) || (k == 3 && z == 3) ? -1.0f
                                    : k == z || (k == 2 && z == 1) || (k == 1 && z == 3) ? 1.0f : 0.0f);
                out[((x * 4 + y) * 4 + z) * (c * (n * td * th * tw)) + p] = acc;
            }
}
