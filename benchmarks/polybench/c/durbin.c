/* Levinson and Durbin's recursion for the Yule-Walker equations: T y = -r, for the Toeplitz matrix T of 1, r */

void kernel_durbin(int n, double r[restrict n], double y[restrict n], double z[restrict n])
{
    int i, k;
    double alpha, beta, acc;
#pragma scop
    y[0] = -r[0];
    beta = 1.0;
    alpha = -r[0];
    for (k = 1; k < n; k++) {
        beta = (1 - alpha * alpha) * beta;
        acc = 0.0;
        for (i = 0; i < k; i++)
            acc += r[k - i - 1] * y[i];
        alpha = -(r[k] + acc) / beta;
        for (i = 0; i < k; i++)
            z[i] = y[i] + alpha * y[k - i - 1];
        for (i = 0; i < k; i++)
            y[i] = z[i];
        y[k] = alpha;
    }
#pragma endscop
}
