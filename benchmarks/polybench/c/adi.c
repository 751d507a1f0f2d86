/* Heat in the plane by alternating directions: every half step is implicit along one axis */

void kernel_adi(int tsteps, int n, double u[restrict n][n], double v[restrict n][n], double p[restrict n][n],
                double q[restrict n][n])
{
    int t, i, j;
    double dx, dt, mul1, mul2, a, b, d, e;
#pragma scop
    dx = 1.0 / (double)n;
    dt = 1.0 / (double)tsteps;
    mul1 = 2.0 * dt / (dx * dx);
    mul2 = dt / (dx * dx);
    a = -mul1 / 2.0;
    b = 1.0 + mul1;
    d = -mul2 / 2.0;
    e = 1.0 + mul2;
    for (t = 1; t <= tsteps; t++) {
        for (i = 1; i < n - 1; i++) {
            v[0][i] = 1.0;
            p[i][0] = 0.0;
            q[i][0] = v[0][i];
            for (j = 1; j < n - 1; j++) {
                p[i][j] = -a / (a * p[i][j - 1] + b);
                q[i][j] = (-d * u[j][i - 1] + (1.0 + 2.0 * d) * u[j][i] - d * u[j][i + 1] - a * q[i][j - 1])
                          / (a * p[i][j - 1] + b);
            }
            v[n - 1][i] = 1.0;
            for (j = n - 2; j >= 1; j--)
                v[j][i] = p[i][j] * v[j + 1][i] + q[i][j];
        }
        for (i = 1; i < n - 1; i++) {
            u[i][0] = 1.0;
            p[i][0] = 0.0;
            q[i][0] = u[i][0];
            for (j = 1; j < n - 1; j++) {
                p[i][j] = -d / (d * p[i][j - 1] + e);
                q[i][j] = (-a * v[i - 1][j] + (1.0 + 2.0 * a) * v[i][j] - a * v[i + 1][j] - d * q[i][j - 1])
                          / (d * p[i][j - 1] + e);
            }
            u[i][n - 1] = 1.0;
            for (j = n - 2; j >= 1; j--)
                u[i][j] = p[i][j] * u[i][j + 1] + q[i][j];
        }
    }
#pragma endscop
}
