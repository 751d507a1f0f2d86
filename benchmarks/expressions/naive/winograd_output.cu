/* A^T m A of F(2x2, 3x3) for each channel and tile. */
__global__ void winograd_output(float *__restrict__ out, const float *__restrict__ data, int n, int f, int oh, int ow,
                                int th, int tw)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= f * (n * th * tw))
        return;
    for (int x = 0; x < 2; x++)
        for (int y = 0; y < 2; y++) {
            float acc = 0.0f;
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++)
                    acc += data[(i * 4 + j) * (f * (n * th * tw)) + p] *
                           (x == 1 && i > 1 ? -1.0f : (x == 0 && i < 3) || i == 1 ? 1.0f : 0.0f) *
                           (y == 1 && j > 1 ? -1.0f : (y == 0 && j < 3) || j == 1 ? 1.0f : 0.0f);
            if (p / tw % th * 2 + x < oh && p % tw * 2 + y < ow)
                out[((p / (th * tw) % n * f + p / (n * th * tw)) * oh + p / tw % th * 2 + x) * ow + p % tw * 2 + y] =
                    acc;
        }
}
