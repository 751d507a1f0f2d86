/* y = A' (A x) */

void kernel_atax(int m, int n, double A[restrict m][n], double x[restrict n], double y[restrict n],
                 double tmp[restrict m])
{
    int i, j;
#pragma scop
    for (i = 0; i < n; i++)
        y[i] = 0.0;
    for (i = 0; i < m; i++) {
        tmp[i] = 0.0;
        for (j = 0; j < n; j++)
            tmp[i] = tmp[i] + A[i][j] * x[j];
        for (j = 0; j < n; j++)
            y[j] = y[j] + A[i][j] * tmp[i];
    }
#pragma endscop
}
