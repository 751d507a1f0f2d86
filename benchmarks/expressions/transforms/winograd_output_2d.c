/* A^T m A of F(4x4, 3x3): of all channels and tiles. */
#define CHANNELS 64
#define TILES 14

#define ENTRY(i, x) \
    ((i) == 0 && (x) == 0 ? 1.0f : (i) == 0 && (x) == 1 ? 0.0f : (i) == 0 && (x) == 2 ? 0.0f : \
     (i) == 0 && (x) == 3 ? 0.0f : \
     (i) == 1 && (x) == 0 ? 1.0f : (i) == 1 && (x) == 1 ? 1.0f : (i) == 1 && (x) == 2 ? 1.0f : \
     (i) == 1 && (x) == 3 ? 1.0f : \
     (i) == 2 && (x) == 0 ? 1.0f : (i) == 2 && (x) == 1 ? -1.0f : (i) == 2 && (x) == 2 ? 1.0f : \
     (i) == 2 && (x) == 3 ? -1.0f : \
     (i) == 3 && (x) == 0 ? 1.0f : (i) == 3 && (x) == 1 ? 2.0f : (i) == 3 && (x) == 2 ? 4.0f : \
     (i) == 3 && (x) == 3 ? 8.0f : \
     (i) == 4 && (x) == 0 ? 1.0f : (i) == 4 && (x) == 1 ? -2.0f : (i) == 4 && (x) == 2 ? 4.0f : \
     (i) == 4 && (x) == 3 ? -8.0f : \
     (i) == 5 && (x) == 0 ? 0.0f : (i) == 5 && (x) == 1 ? 0.0f : (i) == 5 && (x) == 2 ? 0.0f : \
     (i) == 5 && (x) == 3 ? 1.0f : 0.0f)

void winograd_output_2d(float out[CHANNELS * TILES * TILES * 4 * 4], float data[6 * 6 * CHANNELS * TILES * TILES])
{
#pragma scop
    for (int p = 0; p < CHANNELS * TILES * TILES * 4 * 4; p++) {
        float acc = 0.0f;
        for (int i = 0; i < 6; i++)
            for (int j = 0; j < 6; j++)
                acc += data[((i * 6 + j) * CHANNELS + p / (4 * 4 * TILES * TILES)) * (TILES * TILES) +
                            p / (4 * 4) % (TILES * TILES)] *
                       ENTRY(i, p / 4 % 4) * ENTRY(j, p % 4);
        out[p] = acc;
    }
#pragma endscop
}
