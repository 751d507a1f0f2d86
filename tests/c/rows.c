#include <stdio.h>
#include <stdlib.h>
typedef struct { int m, n; double **me; } MAT;
static void mul(MAT *A, MAT *B, MAT *C)
{
#pragma scop
    for (int i = 0; i < A->m; i++)
        for (int j = 0; j < B->n; j++) {
            double s = 0;
            for (int k = 0; k < A->n; k++) s += A->me[i][k] * B->me[k][j];
            C->me[i][j] = s;
        }
#pragma endscop
}
static void cube(int n, int m, int l, float ***u, float **v)
{
#pragma scop
    for (int i = 1; i < n - 1; i++)
        for (int j = 0; j < m; j++)
            for (int k = 0; k < l; k++)
                u[i][j][k] = 2 * u[i][j][k] + v[i][j];
#pragma endscop
}
static void tri(int n, double *rows[20], double (*x)[20])
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++)
            rows[i][j] += x[j][i];
#pragma endscop
}
static double **made(int n, int m, int how)
{
    double **r = malloc(n * sizeof *r), *all = how ? malloc((n * m + 1) * sizeof *all * 2) : 0;
    for (int i = 0; i < n; i++) {
        r[i] = how == 0 ? malloc(m * sizeof **r) : how == 1 ? all + i * m : how == 2 ? all + (n - 1 - i) * m : how == 3 ? all + i : all;
    }
    for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) r[i][j] = i * 3 + j % 7 - 4;
    return r;
}
int main(void)
{
    for (int a = 0; a < 5; a++) for (int b = 0; b < 5; b++) for (int n = 0; n < 40; n += 13) {
        MAT A = {n, n + 1, made(n + 1, n + 2, a)}, B = {n + 1, n, made(n + 1, n + 2, b)}, C = {n, n, b == 3 ? A.me : made(n + 1, n + 2, a)};
        mul(&A, &B, &C);
        double s = 0; for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) s = s * 1.0001 + C.me[i][j];
        printf("%.17g\n", s);
    }
    for (int a = 0; a < 3; a++) for (int n = 0; n < 9; n += 4) {
        float ***u = malloc(9 * sizeof *u), **v = malloc(9 * sizeof *v), *all = malloc(90000), *q = all;
        for (int i = 0; i < 9; i++) { u[i] = malloc(9 * sizeof **u); v[i] = malloc(36 + 8 * (i == a)); for (int j = 0; j < 9; j++) v[i][j] = i + j;
            for (int j = 0; j < 9; j++) { u[i][j] = a ? q : malloc(36); q += 9 + (a == 2 && i == 3); for (int k = 0; k < 9; k++) u[i][j][k] = i * j - k; } }
        cube(n, 9, 8, u, v);
        float s = 0; for (int i = 0; i < 9; i++) for (int j = 0; j < 9; j++) for (int k = 0; k < 9; k++) s = s * 1.01f + u[i][j][k];
        printf("%.9g\n", s);
    }
    for (int a = 0; a < 5; a++) { double x[20][20]; for (int i = 0; i < 400; i++) x[0][i] = i;
        double **r = made(20, 20, a); tri(19, r, x); double s = 0; for (int i = 0; i < 20; i++) for (int j = 0; j < 20; j++) s = s * 1.01 + r[i][j]; printf("%.17g\n", s); }
    return 0;
}
