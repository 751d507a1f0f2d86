#include <stdio.h>
#include <stdlib.h>
#define N 37
#define min_i64 3 /* a macro that would break a helper */

typedef double real;
static real S[N][N], U[N][N];
static long counts[N];
static unsigned char bytes[N];

static void gemm(int n, int m, int k, real alpha, real C[n][m], real A[n][k], real B[k][m])
{
    int i, j, p;
#pragma scop
    for (i = 0; i < n; i++)
        for (j = 0; j < m; j++)
            for (p = 0; p < k; p++)
                C[i][j] += alpha * A[i][p] * B[p][j]; /* the heart */
#pragma endscop
}

static void jacobi(int steps)
{
    int t0, c0, A_1, t;
    t0 = 1; c0 = N - 1; A_1 = min_i64;
    #pragma scop
    for (t = 0; t < steps; t++) {
        for (int i = 1; i < N - 1; i++)
            for (int j = 1; j < N - 1; j++)
                U[i][j] = 0.25 * (S[i][j-1] + S[i][j+1] + S[i-1][j] + S[i+1][j]);
        for (int i = 1; i < N - 1; i++)
            for (int j = 1; j < N - 1; j++)
                S[i][j] = U[i][j];
    }
    #pragma endscop
    (void)t0, (void)c0, (void)A_1;
}

static void scan(int n, float *a, const float *b)
{
#pragma scop
    for (int i = 1; i < n; i++)
        a[i] = a[i] + b[i - 1];
#pragma endscop
}

static void seidel(int n, int t0, real *c0)
{
#pragma scop
    for (int t = 0; t < t0; t++)
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                c0[i * n + j] = (c0[(i - 1) * n + j] + c0[i * n + j - 1] + c0[i * n + j] + c0[(i + 1) * n + j]) / 4.0;
#pragma endscop
}

static void integers(int n)
{
#pragma scop
    for (int i = 0; i < n; i++)
        counts[i] = counts[i] * 3 - i;
    for (int i = 0; i < n; i++)
        bytes[i] += (unsigned char)(7 * i);
#pragma endscop
}

static void show(const real *p, int n)
{
    for (int i = 0; i < n; i++)
        printf("%a%c", p[i], i % 8 == 7 ? '\n' : ' ');
    printf("\n");
}

int main(void)
{
    static real A[N * N], B[N * N], C[N * N];
    float f[2 * N];
    for (int i = 0; i < N * N; i++)
        A[i] = i % 7 / 3.0, B[i] = i % 11 / 7.0, C[i] = i, S[i / N][i % N] = i % 13 / 9.0;
    for (int i = 0; i < 2 * N; i++)
        f[i] = i / 5.0f;
    gemm(N, N - 1, N - 2, 1.5, (real (*)[N - 1])C, (real (*)[N - 2])A, (real (*)[N - 1])B);
    show(C, N * N);
    gemm(10, 10, 10, 0.5, (real (*)[10])A, (real (*)[10])A, (real (*)[10])B); /* C is A */
    show(A, N * N);
    gemm(10, 10, 10, 0.5, (real (*)[10])B, (real (*)[10])A, (real (*)[10])(B + 50)); /* C and B overlap */
    gemm(0, 0, 0, 0.5, (real (*)[10])B, (real (*)[10])A, (real (*)[10])A);
    show(B, N * N);
    jacobi(9);
    show(S[0], N * N);
    scan(N, f, f + N);
    scan(N, f, f + 1);
    scan(N, f + 3, f);
    for (int i = 0; i < 2 * N; i++)
        printf("%a\n", f[i]);
    seidel(N, 6, B);
    seidel(2, 6, B);
    seidel(-5, 6, B);
    show(B, N * N);
    for (int k = 0; k < 5; k++)
        integers(N);
    for (int i = 0; i < N; i++)
        printf("%ld %d\n", counts[i], bytes[i]);
    return 0;
}
