/* Covariances of every two of m attributes, from n observations; `data` becomes centred. */

void kernel_covariance(int m, int n, double data[restrict n][m], double cov[restrict m][m], double mean[restrict m])
{
    int i, j, k;
#pragma scop
    for (j = 0; j < m; j++) {
        mean[j] = 0.0;
        for (i = 0; i < n; i++)
            mean[j] += data[i][j];
        mean[j] /= n;
    }
    for (i = 0; i < n; i++)
        for (j = 0; j < m; j++)
            data[i][j] -= mean[j];
    for (i = 0; i < m; i++)
        for (j = i; j < m; j++) {
            cov[i][j] = 0.0;
            for (k = 0; k < n; k++)
                cov[i][j] += data[k][i] * data[k][j];
            cov[i][j] /= n - 1.0;
            cov[j][i] = cov[i][j];
        }
#pragma endscop
}
