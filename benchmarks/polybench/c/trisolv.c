/* L x = b for a lower triangular L */

void kernel_trisolv(int n, double L[restrict n][n], double x[restrict n], double b[restrict n])
{
    int i, j;
#pragma scop
    for (i = 0; i < n; i++) {
        x[i] = b[i];
        for (j = 0; j < i; j++)
            x[i] -= L[i][j] * x[j];
        x[i] = x[i] / L[i][i];
    }
#pragma endscop
}
