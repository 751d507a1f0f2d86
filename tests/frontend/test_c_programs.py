"""What each construct of C computes: the optimised region against gcc, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from frontend.c_programs import Programs

HEAD = """
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <stdbool.h>
#define LOOP(v, hi) for (int v = 0; v < (hi); v++)
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define SQUARE(x) ((x) * (x))
typedef float real;
typedef double matrix[][7];
enum colour { RED = 2, GREEN };
double global_m[9][7];
int global_v[40];
static inline double twice(double v) { return v + v; }
int collatz(int v)
{
    int c = 0;
    for (int k = 0; k < 5; k++) {
        if (v % 2) v = 3 * v + 1; else v /= 2;
        c += v;
    }
    return c;
}
double opaque(double x) { static int calls; calls++; return x / 3; }
"""

# One function with one region a paragraph; `body` is between the pragmas.
FUNCTIONS = {
    # --- arrays
    "vla(int n, int m, double A[n][m], double B[restrict m])": """
        for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) A[i][j] = A[i][j] + B[j] * (i + 1);""",
    "globals(int n)": """
        for (int i = 0; i < n; i++) for (int j = 0; j < 7; j++) global_m[i][j] += global_v[i + j];""",
    "typedefs(int n, matrix A, real *restrict x)": """
        for (int i = 0; i < n; i++) for (int j = 0; j < 7; j++) A[i][j] = x[i] * A[i][j] + GREEN;""",
    "linear(int n, int m, double *restrict A, const double *restrict B)": """
        for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) A[i * m + j] = A[i * m + j] + B[j * n + i];""",
    "linear3(int n, int m, int p, float *restrict A, float *restrict B)": """
        for (int i = 0; i < n; i++) for (int j = 1; j < m; j++) for (int k = 0; k < p; k++)
            A[(i * m + j) * p + k] = A[(i * m + j - 1) * p + k] + B[i * (p + 1) + k + 1];""",
    "last_of_row(int n, double *restrict A)": """
        for (int i = 1; i < n; i++) A[i * n] += A[i * n - 1] * A[(n - 1) * n + i];""",
    "pointers(int n, int *restrict p, int (*restrict q)[5])": """
        for (int i = 0; i < n; i++) { *(p + i) += (*(q + i))[1]; *(*(q + i) + 2) = i; q[i][3] = 3[q[i]] + *p; }""",
    "rows(int n, int m, double *restrict A, double B[n][m])": """
        for (int i = 0; i < n; i++) {
            double *row = A + i * m, *last = B[n - 1 - i], *all = A;
            const double *second = &row[1];
            for (int j = 0; j < m; j++) row[j] += last[j] + *(row + j) * i + all[i * m + j];
            for (int j = 1; j < m; j++) row[j] -= second[j - 1] / 3;
        }""",
    "outside(int n, int *restrict p)": """
        for (int i = 3; i < n; i += 4) p[2 * i + 1] = p[i - 3];""",
    "chained(int n, double *restrict A, int *restrict k, float *restrict x)": """
        for (int i = 0; i < n; i++) {
            double p; float q; _Bool b;
            A[i] = k[i] = x[i] = A[i] * 40.3;
            p = (q = k[i] += 2) ;
            x[i] += p;
            b = x[i] > 9;
            A[i] += q + b;
            p = q = b = A[i] > 1;
            A[i] += p + q;
        }""",
    # --- loops
    "strides(int n, int *restrict A)": """
        int i;
        for (i = 0; i < n; i += 2) A[i] += 1;
        for (i = 1; i <= n - 1; i = i + 3) A[i] += i;
        for (i = n - 1; i >= 0; i--) A[i] *= 3;
        for (i = n - 1; i > 2; i -= 2) A[i] += A[i - 1];
        for (i = n - 2; 0 <= i; i = i - 1) A[i] -= A[i + 1];
        for (i = 0; i != n; ++i) A[i] ^= 5;
        for (int k = n - 1; k != -1; --k) A[k] += k;""",
    "heads(int n, int *restrict A, double *restrict x)": """
        int i, j, k, v, w;
        double t;
        for (i = 0, j = n - 1; i < n; i++, j--) A[i] += 3 * j;
        for (k = v = 0; v < n; v += 2, k++) A[k] = A[k] * 5 + k;
        for (v = w = 1; v < n; w = w * 2 % 1000, v++) x[v] += w % 7;
        for (int a = 0, m = n / 2, c = 7; a < m; a++) { c += A[a] % 3; x[a] *= c; }
        for (t = 1, i = 0; i < n; ++i, t /= 2) x[i] -= t;
        for (i = n - 1, j = 0; i >= 0; i -= 1) { if (A[i] > 0) j++; x[i] += j; }""",
    "bounds(int n, int m, int A[n][n])": """
        LOOP(i, MIN(n, m + 1)) for (int j = MAX(i - 2, 0); j < n && j <= i + 3; j++) A[i][j] += i * n + j;""",
    "quotients(int n, int A[n])": """
        for (int i = 0; i < n / 2; i++) A[2 * i] += A[i] + i % 3;
        for (int i = (n + 1) / 2; i < n; i++) if (i % 3 == 1 || i / 4 > 2) A[i] = -A[i];
        for (int i = 0; i < n >> 1; i += 1) A[i << 1] += 7;""",
    "halves(int n, int A[n])": """
        for (int i = 0; i < n; i++) if ((i & 3) == 2) A[i >> 1] += A[i]; else if (!(i & 1)) A[i] = 4;""",
    # --- unsigned
    "unsigned_sizes(unsigned n, size_t m, unsigned A[n], double B[m])": """
        for (unsigned i = 0; i < n - 1; i++) A[i] = A[i + 1] - 3u * i + (i << 3);
        for (size_t i = 1; i < m; i++) B[i - 1] = B[i];
        for (size_t i = m; i > 0; i--) B[i - 1] += i;
        for (uint8_t i = 0; i < 3; i++) A[0] += i;""",
    "unsigned_rows(unsigned n, unsigned m, double *restrict A)": """
        for (unsigned i = 0; i < n; i++) for (unsigned j = 1; j < m; j++) A[i * m + j] += A[i * m + j - 1];""",
    # --- numbers
    "integers(int n, signed char *restrict c, unsigned short *restrict s, long *restrict l, bool *restrict b)": """
        for (int i = 0; i < n; i++) {
            c[i] += i * 3;
            c[i] <<= 1;
            s[i] = ~s[i] ^ c[i];
            l[i] = -l[i] / 3 + (l[i] % 7 << 2) + s[i] * (c[i] | 1);
            b[i] = c[i] > s[i] || !b[i];
            b[i] += 1;
            c[i]++;
            --s[i];
            l[i] |= (unsigned char)c[i];
            l[i] >>= 1;
            c[i] = l[i] & 127 ? c[i] : s[i];
            s[i] *= s[i];
        }""",
    "wraps(int n, unsigned *restrict u, uint64_t *restrict w, uint8_t *restrict b)": """
        for (int i = 0; i < n; i++) {
            u[i] = u[i] * 2654435769u - i;
            w[i] = w[i] * 6364136223846793005ull + u[i];
            b[i] = (u[i] >> 24) + b[i] * 200;
            u[i] /= 7;
            w[i] ^= w[i] >> 33;
            w[i] += -1 < 0u;
        }""",
    "data_of_loops(int n, int m, int *restrict A, long *restrict B, float *restrict x)": """
        for (int i = 0; i < n; i++) {
            A[i] = i * m % 7 - n;
            B[i] = (long)i * n - 1;
            x[i] = i / 2 + (float)i / n + 1.5;
        }""",
    "floats(int n, float *restrict x, double *restrict y, int *restrict k)": """
        for (int i = 0; i < n; i++) {
            x[i] = x[i] * 0.1f + x[i] / 3;
            x[i] += 0.1;
            y[i] -= x[i];
            k[i] += 2.5 * y[i];
            k[i] = (int)(y[i] * 100) + (x[i] > 0);
            y[i] = k[i] ? y[i] : -x[i];
            x[i]++;
            y[i] = +y[i] == 0 ? 1e-3 : y[i];
        }""",
    "extremes(int n, double *restrict x, int *restrict k)": """
        for (int i = 0; i < n; i++) {
            x[i] = MIN(x[i], 0.25);
            x[i] = MAX(x[i], -0.5);
            k[i] = MIN(k[i], 3);
            k[i] = k[i] >= -2 ? k[i] : -2;
        }""",
    "constants(int n, int A[n])": """
        for (int i = 0; i < n; i++) A[i] += 'a' + RED + sizeof(A[0]) + (int)sizeof(long) + 0x10 + 010 + ~1;""",
    # --- functions
    "calls(int n, double *restrict x, float *restrict y, int *restrict k)": """
        for (int i = 0; i < n; i++) {
            x[i] = sqrt(fabs(x[i])) + fmax(x[i], 0.5) + fmin(x[i], y[i]);
            y[i] = sqrtf(fabsf(y[i])) + floorf(3 * y[i]) + fmaxf(y[i], 0.25f);
            k[i] = abs(k[i]) + collatz(k[i] & 1023) + (int)labs(i - n);
            x[i] += twice(SQUARE(x[i]) + 1) + opaque(x[i]);
        }""",
    # --- branches
    "guards(int n, int m, double A[n][n])": """
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                if (i < j && j <= i + m) A[i][j] += 1;
                else if (i == j || A[j][i] > 0.25) A[i][j] = A[j][i];
                else ;
                if (!(i > j) && i + j != 4) { A[i][j] -= 0.5; }
            }""",
    "indirect(int n, int *restrict k, double x[n], double y[n])": """
        for (int i = 0; i < n; i++) if (k[i] >= 0 && k[i] < n) x[k[i]] += y[i];
        for (int i = 0; i < n; i++) for (int j = 0; j < k[i] && j < n; j++) y[i] += x[j];""",
    # --- variables
    "locals(int n, double A[n], double B[n])": """
        double last = 0, t;
        for (int i = 0; i < n; i++) {
            const int k = n - 1 - i;
            double s = A[k], row[4];
            row[0] = s; row[1] = A[i]; row[2] = row[0] + row[1]; row[3] = 1;
            for (int j = 0; j < 4; j++) s += row[j];
            t = s * 2;
            B[i] = t + last;
            last = B[i];
        }""",
    "scratch(int n, double A[n][n])": """
        double T[n][3];
        for (int i = 0; i < n; i++) for (int j = 0; j < 3; j++) T[i][j] = A[i][0] + j;
        for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) A[i][j] = T[i][j % 3] + T[n - 1 - i][0];""",
    "shadows(int n, double A[n])": """
        for (int i = 0; i < n; i++) { int A_2 = A[i] > 0; { double A_2 = 3; A[i] += A_2; } A[i] += A_2; }
        for (int max = 0; max < n; max++) { double i = A[max]; A[max] = i * 2; }""",
    "statements(int n, int A[n])": """
        ;
        { LOOP(i, n) { A[i] = 1, A[i] += 2; (A[i] += 3); } }
        { }""",
    "several(int n, double A[n], double x, float y, int k, char c)": """
        for (int i = 0; i < n; i++) A[i] = A[i] * x + y * k + c;""",
}

SIZES = {
    "bounds": [{"n": n, "m": m} for n, m in ((1, 0), (5, 2), (20, 40))],
    "globals": [{"n": n} for n in (0, 1, 9)],
    "pointers": [{"n": n} for n in (1, 6)],
    "unsigned_sizes": [{"n": n, "m": m} for n, m in ((1, 0), (2, 1), (33, 18))],
    "guards": [{"n": n, "m": m} for n, m in ((1, 1), (7, 2), (19, 30))],
    "scratch": [{"n": n} for n in (3, 17)],
}


def text_of(functions: dict[str, str]) -> str:
    parts = [f"void {head}\n{{\n#pragma scop{body}\n#pragma endscop\n}}\n" for head, body in functions.items()]
    return HEAD + "\n".join(parts)


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Programs:
    return Programs(text_of(FUNCTIONS), tmp_path_factory.mktemp("c"), pure=("opaque",))


@pytest.mark.parametrize("name", [head.partition("(")[0] for head in FUNCTIONS])
def test_same_bits(programs: Programs, name: str) -> None:
    sizes = programs.regions[name].function.sizes
    default = [{size: n + k for k, size in enumerate(s for s in sizes)} for n in (1, 5, 33)]
    for chosen in SIZES.get(name, default):
        given = {"k": np.array([3, -1, 7, 0, 2] * 7, np.int32)[: chosen["n"]]} if name == "indirect" else {}
        programs.check(name, {size: value for size, value in chosen.items() if size in sizes}, given)
