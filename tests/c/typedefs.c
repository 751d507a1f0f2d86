#include <stdio.h>
#include <stdlib.h>
#define N 37

typedef float real;
typedef struct {
    real low, high;
} range;

static real A[N][N], B[N][N];

static range range_of(int n, const real *values)
{
    range found = {values[0], values[0]};
    for (int i = 1; i < n; i++) {
        found.low = values[i] < found.low ? values[i] : found.low;
        found.high = values[i] > found.high ? values[i] : found.high;
    }
    return found;
}

void smooth(int n, real a, const real *restrict x, real *restrict y)
{
#pragma scop
    for (int i = 1; i < n - 1; i++)
        y[i] = a * (x[i - 1] + x[i] + x[i + 1]);
#pragma endscop
}

int main(void)
{
    real *x = (real *)malloc(sizeof(real) * 100), *y = (real *)calloc(100, sizeof(real));
    for (int i = 0; i < 100; i++)
        x[i] = (real)(i % 7);
    smooth(100, 0.25f, x, y);
#pragma scop
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            A[i][j] = B[i][j] + (real)i * (real)j;
#pragma endscop
    range found = range_of(100, y);
    printf("%g %g %g\n", found.low, found.high, A[7][9]);
    free(x);
    free(y);
    return 0;
}
