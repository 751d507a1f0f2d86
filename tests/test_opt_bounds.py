"""Bounds of loops as people write them: products of sizes, in signed and unsigned types, small and too large ones."""

from __future__ import annotations

import shutil

import pytest

from tests.test_opt_structures import check, text_of

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")

SHOWN = 'for (int i = 0; i < 40; i++) printf("%.17g %.17g\\n", data[i], more[i]);'
FILLED = "for (int i = 0; i < 40; i++) { data[i] = 1.0 / (i + 2); more[i] = i; }"
PROGRAMS = {
    "rows of a product": (
        "void f(int B, int T, int C, double *out, const double *in)",
        "for (int bt = 0; bt < B * T; bt++) for (int c = 0; c < C; c++) out[bt * C + c] += in[c] * bt;",
        "f(2, 5, 4, data, more);",
    ),
    "planes of a product": (
        "void f(int n, int w, int h, double *out, const double *in)",
        "for (int c = 0; c < n; c++) for (int i = 0; i < w * h; ++i) out[c*w*h + i] += in[i] * c;",
        "f(3, 2, 6, data, more);",
    ),
    "size_t": (
        "void f(size_t n, size_t m, int k, double *restrict out)",
        "for (size_t i = 0; i < k * n * m; i++) out[i] += i;",
        "f(3, 2, 6, data); f(0, 2, 6, data);",
    ),
    "unsigned, from the end": (
        "void f(unsigned n, unsigned m, double *out)",
        "for (int i = n * m - 1; i >= 0; i--) out[i] += i;",
        "f(3, 12, data);",
    ),
    "a sum in a product": (
        "void f(int n, int m, double *out)",
        "for (int i = 0; i < (n + 1) * (m - 1); i++) out[i] += i;",
        "f(3, 7, data);",
    ),
    "of members": (
        "struct image { int w, h, c; double *data; };\nvoid f(struct image *im, struct image *other)",
        "for (int i = 0; i < im->w * im->h * im->c; i++) im->data[i] += other->data[i] * other->w;",
        "struct image one = {2, 3, 5, data}, other = {1, 2, 3, more}; f(&one, &other);",
    ),
}
ATTACKS = {
    "it wraps in unsigned": (
        "void f(unsigned n, unsigned m, double *out)",
        "for (unsigned i = 0; i < n * m; i++) out[i] += i;",
        "f(1u << 31, 2, data); f((1u << 31) + 8, 2, data);",
    ),
    "it wraps in size_t": (
        "void f(size_t n, size_t m, double *out)",
        "for (size_t i = 0; i < n * m; i++) out[i] += i;",
        "f((size_t)1 << 63, 2, data); f(((size_t)1 << 63) + 8, 2, data); f(-1, -1, data);",
    ),
    "it is never computed, and would overflow": (
        "void f(int n, int m, int k, double *out)",
        "if (k > 0) for (int i = 0; i < n * m; i++) out[i] += i;",
        "f(1 << 30, 1 << 30, 0, data); f(-5, -6, 1, data); f(-5, 6, 1, data); f(5, 0, 1, data); f(5, 3, 1, data);",
    ),
    "a store changes a factor": (
        "struct s { int n, m, rest[60]; };\nvoid f(struct s *s, int *k)",
        "for (int i = 0; i < s->n * s->m; i++) k[i] = 3;",
        "struct s s = {2, 20}; f(&s, &s.n); data[0] = s.n; data[1] = s.m;",
    ),
    "a structure that is nowhere, and nobody asks": (
        "struct s { int n, m; };\nvoid f(struct s *s, int k, double *out)",
        "for (int i = 0; i < k; i++) for (int j = 0; j < s->n * s->m; j++) out[j] += i;",
        "struct s s = {4, 5}; f(0, 0, data); f(&s, 3, data);",
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_kernels_run(tmp_path, name):
    head, region, calls = PROGRAMS[name]
    check(tmp_path, text_of(head, region, f"{FILLED} {calls} {SHOWN}"), runs="f(0" not in calls)


@pytest.mark.parametrize("name", ATTACKS)
def test_attacks(tmp_path, name):
    head, region, calls = ATTACKS[name]
    check(tmp_path, text_of(head, region, f"{FILLED} {calls} {SHOWN}"), runs=False)
