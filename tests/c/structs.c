#include <stdio.h>
#include <stdlib.h>
typedef struct { int w, h, c; float *data; } image;
typedef struct { float x, y; } pt;
typedef struct { image im; pt o; int k; } two;
static float get(image m, int x, int y, int c) { if (x >= m.w || x < 0) return 0; return m.data[c*m.h*m.w + y*m.w + x]; }
static void set(image m, int x, int y, int c, float v) { m.data[c*m.h*m.w + y*m.w + x] = v; }
static float change(image m, int x) { m.w = 3; return m.data[x] * m.w; }
static float shift(pt p, float v) { return p.x * v + p.y; }
static void run(image a, image b, pt p, two t, float *fx)
{
#pragma scop
    for (int k = 0; k < a.c; k++) for (int j = 0; j < a.h; j++) for (int i = 0; i < a.w; i++) set(b, i, j, k, get(a, i - 1, j, k) + 2 * get(a, i + 1, j, k));
#pragma endscop
#pragma scop
    for (int i = 0; i < a.w; i++) b.data[i] += change(a, i);
#pragma endscop
#pragma scop
    for (int i = 0; i < a.w; i++) { fx[i] = shift(p, b.data[i]) + shift(t.o, get(t.im, i, 0, 0)); }
#pragma endscop
}
int main(void)
{
    for (int n = 0; n < 3; n++) for (int o = 0; o < 3; o++) {
    float *d = malloc(4000), *e = malloc(4000), f[40] = {0};
    for (int i = 0; i < 900; i++) { d[i] = i % 13 - 4; e[i] = i % 5; }
    image a = {8 * n, 9, 3, d}, b = {8 * n, 9, 3, o == 1 ? d + 3 : o == 2 ? d : e}; pt p = {1.5f, 2}; two t = {{8 * n, 9, 3, o ? e : d}, {3, 4}, 1};
    run(a, b, p, t, o == 2 ? d : f);
    double s = 0; for (int i = 0; i < 900; i++) s = s * .999 + d[i] + e[i]; for (int i = 0; i < 40; i++) s += f[i] * i; printf("%.17g\n", s); }
    return 0;
}
