/* Pearson's coefficients of every two of m attributes, from n observations; `data` becomes centred and scaled. */
#include <math.h>

void kernel_correlation(int m, int n, double data[restrict n][m], double corr[restrict m][m],
                        double mean[restrict m], double stddev[restrict m])
{
    int i, j, k;
#pragma scop
    for (j = 0; j < m; j++) {
        mean[j] = 0.0;
        for (i = 0; i < n; i++)
            mean[j] += data[i][j];
        mean[j] /= n;
    }
    for (j = 0; j < m; j++) {
        stddev[j] = 0.0;
        for (i = 0; i < n; i++)
            stddev[j] += (data[i][j] - mean[j]) * (data[i][j] - mean[j]);
        stddev[j] /= n;
        stddev[j] = sqrt(stddev[j]);
        stddev[j] = stddev[j] <= 0.1 ? 1.0 : stddev[j]; /* a nearly constant column */
    }
    for (i = 0; i < n; i++)
        for (j = 0; j < m; j++) {
            data[i][j] -= mean[j];
            data[i][j] /= sqrt((double)n) * stddev[j];
        }
    for (i = 0; i < m - 1; i++) {
        corr[i][i] = 1.0;
        for (j = i + 1; j < m; j++) {
            corr[i][j] = 0.0;
            for (k = 0; k < n; k++)
                corr[i][j] += data[k][i] * data[k][j];
            corr[j][i] = corr[i][j];
        }
    }
    corr[m - 1][m - 1] = 1.0;
#pragma endscop
}
