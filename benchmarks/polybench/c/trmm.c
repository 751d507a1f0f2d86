/* B = alpha A' B for a lower triangular A with ones on its diagonal */

void kernel_trmm(int m, int n, double alpha, double B[restrict m][n], double A[restrict m][m])
{
    int i, j, k;
#pragma scop
    for (i = 0; i < m; i++)
        for (j = 0; j < n; j++) {
            for (k = i + 1; k < m; k++)
                B[i][j] += A[k][i] * B[k][j];
            B[i][j] = alpha * B[i][j];
        }
#pragma endscop
}
