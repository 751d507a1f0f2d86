/* x1 += A y1; x2 += A' y2 */

void kernel_mvt(int n, double A[restrict n][n], double x1[restrict n], double x2[restrict n],
                double y1[restrict n], double y2[restrict n])
{
    int i, j;
#pragma scop
    for (i = 0; i < n; i++)
        for (j = 0; j < n; j++)
            x1[i] = x1[i] + A[i][j] * y1[j];
    for (i = 0; i < n; i++)
        for (j = 0; j < n; j++)
            x2[i] = x2[i] + A[j][i] * y2[j];
#pragma endscop
}
