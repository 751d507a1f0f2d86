/* C = alpha (A B' + B A') + beta C, its lower triangle */

void kernel_syr2k(int m, int n, double alpha, double beta, double C[restrict n][n], double A[restrict n][m],
                  double B[restrict n][m])
{
    int i, j, k;
#pragma scop
    for (i = 0; i < n; i++) {
        for (j = 0; j <= i; j++)
            C[i][j] *= beta;
        for (k = 0; k < m; k++)
            for (j = 0; j <= i; j++)
                C[i][j] += A[j][k] * alpha * B[i][k] + B[j][k] * alpha * A[i][k];
    }
#pragma endscop
}
