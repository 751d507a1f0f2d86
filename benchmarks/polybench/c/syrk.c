/* C = alpha A A' + beta C, its lower triangle */

void kernel_syrk(int m, int n, double alpha, double beta, double C[restrict n][n], double A[restrict n][m])
{
    int i, j, k;
#pragma scop
    for (i = 0; i < n; i++) {
        for (j = 0; j <= i; j++)
            C[i][j] *= beta;
        for (k = 0; k < m; k++)
            for (j = 0; j <= i; j++)
                C[i][j] += alpha * A[i][k] * A[j][k];
    }
#pragma endscop
}
