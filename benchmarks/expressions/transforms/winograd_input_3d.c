/* The same of F(2x2x2, 3x3x3): B^T along all three sides of cubes. */
#define CHANNELS 16
#define TILES 10
#define SIDE 20

#define ENTRY(i, x) \
    ((i) == 0 && (x) == 0 ? 1.0f : (i) == 0 && (x) == 1 ? 0.0f : (i) == 0 && (x) == 2 ? 0.0f : \
     (i) == 0 && (x) == 3 ? 0.0f : \
     (i) == 1 && (x) == 0 ? 0.0f : (i) == 1 && (x) == 1 ? 1.0f : (i) == 1 && (x) == 2 ? -1.0f : \
     (i) == 1 && (x) == 3 ? 1.0f : \
     (i) == 2 && (x) == 0 ? -1.0f : (i) == 2 && (x) == 1 ? 1.0f : (i) == 2 && (x) == 2 ? 1.0f : \
     (i) == 2 && (x) == 3 ? 0.0f : \
     (i) == 3 && (x) == 0 ? 0.0f : (i) == 3 && (x) == 1 ? 0.0f : (i) == 3 && (x) == 2 ? 0.0f : \
     (i) == 3 && (x) == 3 ? -1.0f : 0.0f)

void winograd_input_3d(float out[4 * 4 * 4 * CHANNELS * TILES * TILES * TILES],
                       float data[CHANNELS * SIDE * SIDE * SIDE])
{
#pragma scop
    for (int p = 0; p < 4 * 4 * 4 * CHANNELS * TILES * TILES * TILES; p++) {
        float acc = 0.0f;
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 4; j++)
                for (int k = 0; k < 4; k++)
                    acc += (1 <= p / (TILES * TILES) % TILES * 2 + i &&
                            p / (TILES * TILES) % TILES * 2 + i < SIDE + 1 &&
                                    1 <= p / TILES % TILES * 2 + j && p / TILES % TILES * 2 + j < SIDE + 1 &&
                                    1 <= p % TILES * 2 + k && p % TILES * 2 + k < SIDE + 1
                                ? data[((p / (TILES * TILES * TILES) % CHANNELS * SIDE +
                                    p / (TILES * TILES) % TILES * 2 + i - 1) * SIDE +
                                        p / TILES % TILES * 2 + j - 1) * SIDE + p % TILES * 2 + k - 1]
                                : 0.0f) *
                           ENTRY(i, p / (4 * 4 * CHANNELS * TILES * TILES * TILES)) *
                           ENTRY(j, p / (4 * CHANNELS * TILES * TILES * TILES) % 4) *
                           ENTRY(k, p / (CHANNELS * TILES * TILES * TILES) % 4);
        out[p] = acc;
    }
#pragma endscop
}
