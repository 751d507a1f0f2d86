/* A program that nobody marked loops in. */
#include <stdio.h>
#include <stdlib.h>
#define N 640
#define M 9000
#define FOR(v, hi) for (v = 0; v < (hi); v++)

static double A[N][N], B[N][N], C[N][N], out[N][N];
static int dims[3] = {N, N, 4}, first[M + 1], column[M * 8];
static double values[M * 8], x[M], y[M];

static double sum(int n, const double *v)
{
    double s = 0;
    for (int i = 0; i < n; i++) s += v[i] * (i % 7);
    return s;
}

static void sparse(int n, int start[], int at[], double of[], double with[], double to[])
{
    for (int i = 0; i < n; i++) {
        double s = 0;
        for (int k = start[i]; k < start[i + 1]; k++) s += of[k] * with[at[k]];
        to[i] = s;
    }
}

static void smooth(void)
{
    int i, j;
    double row[N];
    for (i = 1; i < dims[0] - 1; i++) {
        for (j = 0; j < dims[1]; j++) row[j] = A[i - 1][j] + A[i + 1][j];
        for (j = 1; j <= dims[1] - 2; j++) out[i][j] += 0.25 * (row[j - 1] + row[j + 1]);
    }
}

int main(int argc, char **argv)
{
    int i, j, k;
    FOR(i, N) FOR(j, N) { A[i][j] = (i * j) % 7 - 0.3; B[i][j] = (i + 2 * j) % 5; }
    for (i = 0; i < 3; i++) printf("%d ", dims[i]);
    for (i = 0; i < M; i++) first[i + 1] = first[i] + i % 8;
    for (k = 0; k < first[M]; k++) { column[k] = k * 31 % M; values[k] = k % 3; }
    FOR(i, M) x[i] = i;
    if (argc < 9) for (i = 0; i < N; i++)
        for (j = 0; j < N; j++)
            for (k = 0; k < 90; k++)
                C[i][j] += A[i][k] * B[k][j]; else puts("never");
    sparse(M, first, column, values, x, y);
    smooth();
    do { i--; } while (i > 10);
    printf("line %d: %d %.17g %.17g %.17g\n", __LINE__, i, sum(N * N, C[0]), sum(M, y), sum(N * N, out[0]));
    return 0;
}
