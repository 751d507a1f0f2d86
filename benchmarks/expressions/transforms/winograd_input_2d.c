/* B^T d B of F(4x4, 3x3): of all channels and tiles, in planes padded with zeros by 1. */
#define CHANNELS 64
#define TILES 14
#define SIDE 56

#define ENTRY(i, x) \
    ((i) == 0 && (x) == 0 ? 4.0f : (i) == 0 && (x) == 1 ? 0.0f : (i) == 0 && (x) == 2 ? 0.0f : \
     (i) == 0 && (x) == 3 ? 0.0f : (i) == 0 && (x) == 4 ? 0.0f : (i) == 0 && (x) == 5 ? 0.0f : \
     (i) == 1 && (x) == 0 ? 0.0f : (i) == 1 && (x) == 1 ? -4.0f : (i) == 1 && (x) == 2 ? 4.0f : \
     (i) == 1 && (x) == 3 ? -2.0f : (i) == 1 && (x) == 4 ? 2.0f : (i) == 1 && (x) == 5 ? 4.0f : \
     (i) == 2 && (x) == 0 ? -5.0f : (i) == 2 && (x) == 1 ? -4.0f : (i) == 2 && (x) == 2 ? -4.0f : \
     (i) == 2 && (x) == 3 ? -1.0f : (i) == 2 && (x) == 4 ? -1.0f : (i) == 2 && (x) == 5 ? 0.0f : \
     (i) == 3 && (x) == 0 ? 0.0f : (i) == 3 && (x) == 1 ? 1.0f : (i) == 3 && (x) == 2 ? -1.0f : \
     (i) == 3 && (x) == 3 ? 2.0f : (i) == 3 && (x) == 4 ? -2.0f : (i) == 3 && (x) == 5 ? -5.0f : \
     (i) == 4 && (x) == 0 ? 1.0f : (i) == 4 && (x) == 1 ? 1.0f : (i) == 4 && (x) == 2 ? 1.0f : \
     (i) == 4 && (x) == 3 ? 1.0f : (i) == 4 && (x) == 4 ? 1.0f : (i) == 4 && (x) == 5 ? 0.0f : \
     (i) == 5 && (x) == 0 ? 0.0f : (i) == 5 && (x) == 1 ? 0.0f : (i) == 5 && (x) == 2 ? 0.0f : \
     (i) == 5 && (x) == 3 ? 0.0f : (i) == 5 && (x) == 4 ? 0.0f : (i) == 5 && (x) == 5 ? 1.0f : 0.0f)

void winograd_input_2d(float out[6 * 6 * CHANNELS * TILES * TILES], float data[CHANNELS * SIDE * SIDE])
{
#pragma scop
    for (int p = 0; p < 6 * 6 * CHANNELS * TILES * TILES; p++) {
        float acc = 0.0f;
        for (int i = 0; i < 6; i++)
            for (int j = 0; j < 6; j++)
                acc += (1 <= p / TILES % TILES * 4 + i && p / TILES % TILES * 4 + i < SIDE + 1 &&
                                1 <= p % TILES * 4 + j && p % TILES * 4 + j < SIDE + 1
                            ? data[(p / (TILES * TILES) % CHANNELS * SIDE + p / TILES % TILES * 4 + i - 1) * SIDE +
                                   p % TILES * 4 + j - 1]
                            : 0.0f) *
                       ENTRY(i, p / (6 * CHANNELS * TILES * TILES)) * ENTRY(j, p / (CHANNELS * TILES * TILES) % 6);
        out[p] = acc;
    }
#pragma endscop
}
