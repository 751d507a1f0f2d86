"""Members of structures in regions: the rewritten file prints what its source prints, whatever overlaps."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from polysched import opt
from polysched.errors import InputError
from polysched.frontend.c.read import read_c

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")

HEAD = """\
#include <stdio.h>
#include <stdlib.h>
typedef struct { int n, m; double *x; double sum; double w[8]; unsigned char *c; } V;
struct net { V *v; V own; double out[4][5]; };
union either { int k; double d; };
struct mixed { union either u; int bits : 5; struct { int inside; }; };
struct __attribute__((packed)) tight { char c; double d[4]; };
struct point { double re, im; int k; struct { float x, y; } in; };
struct point points[20], others[20], grid[4][5];
struct cloud { int n; struct point *p; };
double data[40], more[40];
unsigned char letters[400], page[512] __attribute__((aligned(512)));
static V made(int n, double *x)
{
    V v = {n, n / 2, x, 0.5, {1, 2, 3, 4, 5, 6, 7, 8}, letters};
    for (int i = 0; i < n; i++) x[i] = 1.0 / (i + 3);
    for (int i = 0; i < 20; i++) points[i] = (struct point){i, 2 * i, 20 - i, {i, 3}};
    return v;
}
static void shown(const V *v)
{
    printf("%d %d %.17g", v->n, v->m, v->sum);
    for (int i = 0; i < 8; i++) printf(" %.17g", v->w[i]);
    printf("\\n");
    for (int i = 0; i < 20; i++) printf("%.17g %.17g %d\\n", points[i].re, points[i].im, points[i].k);
    for (int i = 0; i < 20; i++) printf("%.9g %.17g %.17g\\n", points[i].in.y, others[i].re, grid[i / 5][i % 5].im);
    for (int i = 0; i < 40; i++) printf("%.17g %.17g %d\\n", data[i], more[i], letters[i]);
}
"""


def text_of(head: str, region: str, main: str) -> str:
    kernel = f"{head}\n{{\n#pragma scop\n{region}\n#pragma endscop\n}}\n"
    return f"{HEAD}{kernel}int main(void)\n{{\n{main}\n    return 0;\n}}\n"


def output(file: Path, *flags: str) -> str:
    program = file.with_suffix("")
    subprocess.run(["gcc", "-std=gnu11", "-ffp-contract=off", *flags, str(file), "-o", str(program)], check=True)
    return subprocess.run([program], check=True, capture_output=True, text=True).stdout


def rewritten(tmp_path: Path, text: str) -> str:
    file = tmp_path / "source.c"
    file.write_text(text)
    out = opt.rewrite(text.encode(), read_c(file), always=True)
    assert not any(region.is_kept for region in out.regions)
    return out.text.decode()


def check(tmp_path: Path, text: str, *, runs: bool) -> str:
    """`runs`: the kernel, and not the text as it was."""
    out = rewritten(tmp_path, text)
    if runs:
        before, _, after = out.rpartition("    } else {\n")
        out = f"{before}    }} else {{ abort();\n{after}"
    file = tmp_path / "out.c"
    file.write_text(out)
    expected = output(tmp_path / "source.c", "-O1")
    for flags in (("-O2", "-fopenmp"), ("-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")):
        assert output(file, *flags) == expected
    return out


MADE = "    V v = made(20, data), w = made(10, more);"
PROGRAMS = {
    "behind a pointer": (
        "void f(V *p, double a)",
        "for (int i = 0; i < p->n; i++) p->x[i] = p->x[i] * a + p->w[3];",
        f"{MADE} f(&v, 3); shown(&v);",
    ),
    "of a variable": (
        "void f(V p, double a)",
        "for (int i = p.n - 1; i >= 0; i -= 2) p.x[i] = p.x[i] * a + p.w[3];",
        f"{MADE} f(v, 3); shown(&v);",
    ),
    "of a member": (
        "void f(struct net *net)",
        "for (int i = 0; i < 4; i++) for (int j = 0; j < 5; j++) net->own.x[i] += (*net).v->x[j] + net->out[i][j];",
        f"{MADE} struct net net = {{&w, v, {{{{1, 2}}, {{3, 4}}}}}}; f(&net); shown(&w);",
    ),
    "a sum": (
        "void f(V *p, V q)",
        "for (int i = 0; i < q.n; i++) p->sum += q.x[i] * p->w[i % 8];",
        f"{MADE} f(&v, w); shown(&v);",
    ),
    "characters": (
        "void f(V *p)",
        "for (int i = 0; i < p->n; i++) p->c[i] += 3 * i;",
        f"{MADE} f(&v); shown(&v);",
    ),
    "a size that another has": (
        "void f(V *p, V *q)",
        "for (int i = 0; i < p->n; i++) for (int j = 0; j < q->m; j++) p->x[i] += q->x[j];",
        f"{MADE} f(&v, &w); shown(&v);",
    ),
    "of the first of an array": (
        "V g[2];\nvoid f(int n)",
        "for (int i = 0; i < n; i++) g->x[i] += g->w[i] + (*g).n;",
        f"{MADE} g[0] = v; f(8); shown(&v);",
    ),
    "of a global": (
        "V g;\nvoid f(int n)",
        "for (int i = 0; i < n; i++) g.x[i] += g.w[i];",
        f"{MADE} g = v; f(8); shown(&v);",
    ),
}
PROGRAMS |= {
    "of each element": (
        "void f(int n, struct point *p)",
        "for (int i = 1; i < n; i++) { p[i].re += p[i].im * p[i - 1].re; p[i].im -= p[i].k; p[i].in.y /= 7; }",
        f"{MADE} f(20, points); shown(&v);",
    ),
    "of each element of a global": (
        "void f(int n)",
        "for (int i = 0; i < n; i++) for (int j = 0; j < 5; j++) grid[i][j].im = points[i].re * j + others[j].im;",
        f"{MADE} f(4); shown(&v);",
    ),
    "of each element of a member": (
        "void f(struct cloud *c, const double *x)",
        "for (int i = 0; i < c->n; i++) { (*(c->p + i)).re = x[i]; c->p[i].k++; }",
        f"{MADE} struct cloud c = {{20, points}}; f(&c, data); shown(&v);",
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_kernels_run(tmp_path, name):
    check(tmp_path, text_of(*PROGRAMS[name]), runs=True)


ATTACKS = {
    "both are one": (
        "void f(V *p, V *q)",
        "for (int i = 1; i < p->n; i++) p->x[i] += q->x[i - 1];",
        f"{MADE} f(&v, &v); shown(&v);",
    ),
    "the array is in the structure": (
        "void f(V *p)",
        "for (int i = 0; i < p->m; i++) p->x[i] = p->w[7 - i] + p->sum;",
        f"{MADE} v.x = v.w; v.m = 8; f(&v); shown(&v); v.x = &v.sum; f(&v); shown(&v);",
    ),
    "a store changes a size": (
        "void f(V *p, int *k, int n)",
        "for (int i = 0; i < n; i++) for (int j = 0; j < p->m; j++) k[i] -= j;",
        f"{MADE} v.m = 5; f(&v, &v.n, 2); shown(&v);",
    ),
    "a store changes a number": (
        "void f(V *p, int *k, int n)",
        "for (int i = 0; i < n; i++) k[i] += p->m;",
        f"{MADE} f(&v, &v.n, 2); shown(&v);",
    ),
    "a store of one member changes the other's": (
        "void f(V *p, V *q)",
        "for (int i = 0; i < 5; i++) { p->sum += q->sum; p->w[i] = q->sum; }",
        f"{MADE} f(&v, &v); shown(&v); f(&v, &w); shown(&v);",
    ),
    "characters are a pointer": (
        "void f(V *p, unsigned char *c, int n)",
        "for (int i = 0; i < n; i++) c[i] = p->c[i];",
        f"{MADE} v.c = page; page[0] = 16; page[1] = 77; page[17] = (unsigned long)page >> 8 & 255;"
        ' f(&v, (unsigned char *)&v.c, 2); printf("%d\\n", (int)(v.c - page)); v.c = letters; shown(&v);',
    ),
    "a pointer to nothing, where no loop runs": (
        "void f(V *p, V *q, int n)",
        "for (int i = 0; i < n; i++) for (int j = 0; j < p->m; j++) p->x[i] += q->x[j];",
        f"{MADE} f(0, 0, 0); v.m = 0; f(&v, 0, 5); v.m = 3; f(&v, &w, 5); shown(&v);",
    ),
    "a pointer to nothing behind a condition": (
        "void f(V *p, double *a, int n, int is)",
        "for (int i = 0; i < n; i++) { if (is > 0) a[i] += p->sum; else a[i] = 4; }",
        f"{MADE} f(0, data, 9, 0); f(&w, data, 9, 1); shown(&v);",
    ),
    "a condition behind another": (
        "void f(V *p, double *a, int n)",
        "for (int i = 0; i < n && i < p->m; i++) a[i] = 4;",
        f"{MADE} f(0, data, 0); f(&w, data, 9); shown(&v);",
    ),
    "a negative size": (
        "void f(V *p)",
        "for (int i = 0; i < p->n; i++) p->x[i] = 3;",
        f"{MADE} v.n = -5; f(&v); shown(&v);",
    ),
}
ATTACKS |= {
    "a loop from below zero, to a negative size": (
        "void f(V *p, double *a, int n)",
        "for (int i = -1; i < n; i++) for (int j = 0; j < p->m; j++) a[i + 1] += j;",
        f"{MADE} f(0, data, -5); f(&w, data, 3); shown(&v);",
    ),
    "a loop that unsigned numbers keep from running": (
        "void f(V *p, double *a, unsigned n)",
        "for (unsigned i = 9; i > n - 3; i--) for (int j = 0; j < p->m; j++) a[i] += j;",
        f"{MADE} f(0, data, 2); f(&w, data, 5); shown(&v);",
    ),
    "a product that wraps to nothing": (
        "void f(V *p, double *a, unsigned n, unsigned m)",
        "for (unsigned i = 0; i < n * m; i++) for (int j = 0; j < p->m; j++) a[i] += j;",
        f"{MADE} f(0, data, 1u << 31, 2); f(&w, data, 3, 4); shown(&v);",
    ),
    "both arrays are one": (
        "void f(struct point *p, struct point *q, int n)",
        "for (int i = 1; i < n; i++) p[i].re += q[i - 1].re;",
        f"{MADE} f(points, points, 20); f(points, others, 20); f(others, points + 1, 19); shown(&v);",
    ),
    "restrict, and both an element and a structure": (
        "void f(struct point *restrict p, int n)",
        "for (int i = 0; i < n; i++) { p[i].re += 1; p->im += p[i].re; p[i].im *= 2; }",
        f"{MADE} f(points, 10); shown(&v);",
    ),
    "a pointer into the structures": (
        "void f(struct point *p, double *x, int n)",
        "for (int i = 1; i < n; i++) p[i].re += x[5 * i - 5];",
        f"{MADE} f(points, &points[0].re, 10); f(points, &points[3].im, 3); shown(&v);",
    ),
    "the array is in what is read": (
        "void f(struct cloud *c, int n)",
        "for (int i = 0; i < n; i++) c->p[i].k = c->n;",
        f"{MADE} struct {{ struct cloud c; struct point p[3]; }} s = {{{{3, 0}}}}; s.c.p = s.p; f(&s.c, 3);"
        ' shown(&v); printf("%d\\n", s.p[2].k);',
    ),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_attacks(tmp_path, name):
    check(tmp_path, text_of(*ATTACKS[name]), runs=False)


REFUSED = {
    "for (int i = 0; i < n; i++) if (a[i] > 0) a[i] = p->sum;": (
        "'p->sum' is used only where data tells so, and may be nowhere otherwise"
    ),
    "for (int i = 0; i < n; i++) { if (a[i] > 0) a[i] = p->sum; for (int j = 0; j < many->m; j++) a[i] += p->sum; }": (
        "'p->sum' is used only where data tells so, and may be nowhere otherwise"
    ),
    "for (p->m = 0; p->m < n; p->m++) a[p->m] = 1;": "the loop variable 'p->m' is a member of a structure",
    "for (int i = 0; i < n; i++) a[i] = s->u.d;": "a member of a structure cannot be in a region",
    "for (int i = 0; i < n; i++) a[i] = s->bits;": "a member of a structure cannot be in a region",
    "for (int i = 0; i < n; i++) a[i] = t->d[0];": "'t->d[0]' is no element of an array",
    "for (int i = 0; i < n; i++) a[i] = vol->m;": "a member of a structure cannot be in a region",
    "for (int i = 0; i < n; i++) a[i] = many[i].x[0];": "'many[i].x[0]' is no element of an array",
    "for (int i = 0; i < n; i++) a[i] = s[i].u.d;": "'s[i].u.d' is no element of an array",
    "for (int i = 0; i < n; i++) a[i] = vol[i].m;": "'vol[i].m' is no element of an array",
    "for (int i = 0; i < n; i++) many[i] = *p;": "V",
    "for (int i = 0; i < n; i++) a[i] = (*pp)->m;": "a member of a structure cannot be in a region",
    "for (int i = 0; i < n; i++) a[i] = pp[i]->sum;": "a member of a structure cannot be in a region",
    "for (int i = 0; i < n; i++) { p = p + 1; a[i] = p->m; }": "the pointer 'p' changes in the region",
    "for (int i = 0; i < n; i++) { a[i] = reg.sum; reg.sum = 1; }": "'reg.sum' is in a register, and has no address",
}


@pytest.mark.parametrize("region", REFUSED)
def test_refused(tmp_path, region):
    head = "void f(V *p, double *a, int n, struct mixed *s, struct tight *t, volatile V *vol, V *many, V **pp)"
    file = tmp_path / "source.c"
    file.write_text(text_of(head, region, "").replace("#pragma scop", "    register V reg = *p;\n#pragma scop"))
    with pytest.raises(InputError) as error:
        read_c(file)
    assert REFUSED[region] in str(error.value)


@pytest.mark.parametrize(("macro", "build"), [("N", "-DN=6"), ("REAL", "-DREAL=float"), ("WIDE", "-DWIDE")])
def test_what_macros_make_of_a_structure_is_tested(tmp_path, macro, build):
    """Another build computes as its source does, or says that it cannot be compiled."""
    text = """\
#include <stdio.h>
#ifndef N
#define N 4
#endif
#ifndef REAL
#define REAL double
#endif
struct s { int n;
#ifdef WIDE
    long long w[N];
#else
    int w[N];
#endif
    REAL x[N]; };
void f(struct s *p)
{
#pragma scop
    for (int i = 0; i < N; i++) { p->x[i] = p->x[i] / 3 + N; p->w[i] += 2000000000; }
#pragma endscop
}
int main(void)
{
    struct s s = {0};
    f(&s); f(&s);
    for (int i = 0; i < N; i++) printf("%.17g %lld\\n", (double)s.x[i], (long long)s.w[i]);
    return 0;
}
"""
    (tmp_path / "out.c").write_text(rewritten(tmp_path, text))
    assert output(tmp_path / "out.c", "-O2", "-fwrapv") == output(tmp_path / "source.c", "-O1", "-fwrapv")
    expected = output(tmp_path / "source.c", "-O1", "-fwrapv", build)
    try:
        assert output(tmp_path / "out.c", "-O2", "-fwrapv", build) == expected
    except subprocess.CalledProcessError:
        assert macro == "WIDE"
