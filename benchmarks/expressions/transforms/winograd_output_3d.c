/* A^T along all three sides, of F(2x2x2, 3x3x3). */
#define CHANNELS 16
#define TILES 10

#define ENTRY(i, x) \
    ((i) == 0 && (x) == 0 ? 1.0f : (i) == 0 && (x) == 1 ? 0.0f : \
     (i) == 1 && (x) == 0 ? 1.0f : (i) == 1 && (x) == 1 ? 1.0f : \
     (i) == 2 && (x) == 0 ? 1.0f : (i) == 2 && (x) == 1 ? -1.0f : \
     (i) == 3 && (x) == 0 ? 0.0f : (i) == 3 && (x) == 1 ? -1.0f : 0.0f)

void winograd_output_3d(float out[CHANNELS * TILES * TILES * TILES * 2 * 2 * 2],
                        float data[4 * 4 * 4 * CHANNELS * TILES * TILES * TILES])
{
#pragma scop
    for (int p = 0; p < CHANNELS * TILES * TILES * TILES * 2 * 2 * 2; p++) {
        float acc = 0.0f;
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 4; j++)
                for (int k = 0; k < 4; k++)
                    acc += data[(((i * 4 + j) * 4 + k) * CHANNELS + p / (2 * 2 * 2 * TILES * TILES * TILES))
                                 * (TILES * TILES * TILES) +
                                p / (2 * 2 * 2) % (TILES * TILES * TILES)] *
                           ENTRY(i, p / (2 * 2) % 2) * ENTRY(j, p / 2 % 2) * ENTRY(k, p % 2);
        out[p] = acc;
    }
#pragma endscop
}
