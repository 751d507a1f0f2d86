#include <stdio.h>
#include <stdlib.h>
double a[50][50], b[50], c[50][50], d[50][50]; int k[50]; static int cnt;
static float uni(float lo, float hi) { return lo + (hi - lo) * ((float)rand() / (float)RAND_MAX); }
static void log2_(int i, double x) { if (x > 0.5) { fprintf(stderr, "{%d}: %g\n", i, x); cnt++; } else printf("  low  %d" " %5.2f %%\n", i, x); }
static void run(int n, int m, FILE *f)
{
    int i, j; long q = 5;
#pragma scop
    for (i = 0; i < n; i++) {
        k[i] = rand() % 10;
        for (j = 0; j < m; j++) a[i][j] = k[i] * j + b[j];
        printf("%d %ld %g\n", k[i], q, a[i][m / 2]);
    }
#pragma endscop
#pragma scop
    for (i = 0; i < n; i++) for (j = 0; j < m; j++) { a[i][j] = uni(-1, 1); b[j] += a[i][j]; }
#pragma endscop
#pragma scop
    for (i = 0; i < n; i++) {
        for (j = 0; j < m; j++) { double s = 0; for (int l = 0; l < m; l++) s += a[i][l] * d[l][j]; c[i][j] = s; }
        log2_(i, b[i]);
    }
#pragma endscop
#pragma scop
    srand(3); for (i = 0; i < n; i++) { if (b[i] > 0) { fprintf(f, "b"); break; } putchar('x'); }
#pragma endscop
#pragma scop
    for (i = 0; i < n; i++) b[i] = rand() - rand();
#pragma endscop
}
int main(void)
{
    for (int i = 0; i < 2500; i++) d[0][i] = i % 7 / 8.;
    for (int n = 0; n < 50; n += 12) { run(n, 50 - n, stdout); double t = cnt; for (int i = 0; i < 2500; i++) t = t * .999 + c[0][i] + a[0][i]; for (int i = 0; i < 50; i++) t += b[i] * i; printf("%.17g\n", t); }
    return 0;
}
