/* The same of F(2x2x2, 3x3x3). */
__global__ void winograd_output_3d(float *__restrict__ out, const float *__restrict__ data, int n, int f, int od,
                                   int oh, int ow, int td, int th, int tw)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= f * (n * td * th * tw))
        return;
    for (int x = 0; x < 2; x++)
        for (int y = 0; y < 2; y++)
            for (int z = 0; z < 2; z++) {
                float acc = 0.0f;
                for (int i = 0; i < 4; i++)
                    for (int j = 0; j < 4; j++)
                        for (int k = 0; k < 4; k++)
                            acc += data[((i * 4 + j) * 4 + k) * (f * (n * td * th * tw)) + p] *
                                   (x == 1 && i > 1 ? -1.0f : (x == 0 && i < 3) || i == 1 ? 1.0f : 0.0f) *
                                   (y == 1 && j > 1 ? -1.0f : (y == 0 && j < 3) || j == 1 ? 1.0f : 0.0f) *
                                   (z == 1 && k > 1 ? -1.0f : (z == 0 && k < 3) || k == 1 ? 1.0f : 0.0f);
                if (p / (th * tw) % td * 2 + x < od && p / tw % th * 2 + y < oh && p % tw * 2 + z < ow)
                    out[(((p / (td * th * tw) % n * f + p / (n * td * th * tw)) * od + p / (th * tw) % td * 2 + x) *
                             oh + p / tw % th * 2 + y) * ow + p % tw * 2 + z] = acc;
            }
}
