/* C = alpha A B + beta C for a symmetric A, of which the lower triangle is read */

void kernel_symm(int m, int n, double alpha, double beta, double C[restrict m][n], double A[restrict m][m],
                 double B[restrict m][n])
{
    int i, j, k;
    double acc;
#pragma scop
    for (i = 0; i < m; i++)
        for (j = 0; j < n; j++) {
            acc = 0.0;
            for (k = 0; k < i; k++) {
                C[k][j] += alpha * B[i][j] * A[i][k];
                acc += B[k][j] * A[i][k];
            }
            C[i][j] = beta * C[i][j] + alpha * B[i][j] * A[i][i] + alpha * acc;
        }
#pragma endscop
}
