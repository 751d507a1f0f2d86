"""Statements that stay as they are in a region: what they may touch, and the region's new text against gcc."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from polysched.codegen.emit.region import emit_region
from polysched.config.options import Options
from polysched.errors import InputError
from polysched.frontend.c.file.macros import Macros
from polysched.frontend.c.file.marked import pragma_pairs
from polysched.frontend.c.file.source import parse
from polysched.frontend.c.read import file_of
from polysched.frontend.c.region import Region
from polysched.ir.nodes import TOUCHED
from polysched.ir.text import show
from polysched.model.extents import sizes_that_fit
from polysched.opt.regions import Job, Outcome, assembled
from polysched.pipeline import optimize

EXAMPLE = """\
void step(double *p, int n);
void f(int n, double *restrict a, double *restrict b)
{
    #pragma scop
    for (int i = 0; i < n; i++) {
        a[i] = 2;
        step(b, i);
        b[i] += a[i];
    }
    #pragma endscop
}
"""


def regions(path: Path, *, keeps_texts: bool = True) -> list[Region]:
    source = parse(str(path), (), (), path.read_bytes())
    file = file_of(Macros(source), pragma_pairs(source), keeps_texts=keeps_texts)
    return [file.region(k) for k in range(len(file.spans))]


def test_example(tmp_path: Path) -> None:
    (tmp_path / "f.c").write_text(EXAMPLE)
    (region,) = regions(tmp_path / "f.c")
    touch = [
        "        a[outside[]] = touched(outside[], a[outside[]])",
        "        b[outside[]] = touched(outside[], b[outside[]])",
    ]
    assert show(region.function).splitlines()[1:] == [
        "    for i in 0..n:",
        "        a[i] = 2.0",
        *touch,
        "        outside[] = statement_1(outside[], i32(i))",
        *touch,
        "        b[i] = b[i] + a[i]",
    ]
    text = region.calls["statement_1"][1].format("i")
    assert text == "(__extension__ ({ int i_given = (i); int i = i_given; step(b, i); 0LL; }))"


def test_regions_of_the_users_own_are_refused_as_ever(tmp_path: Path) -> None:
    (tmp_path / "f.c").write_text(EXAMPLE)
    with pytest.raises(InputError, match="the call of 'step' may write memory"):
        regions(tmp_path / "f.c", keeps_texts=False)


PROGRAM = """
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define N 24
#define POKE(i) poke(a, i),
typedef struct { int w, h; double *data; } image;
typedef struct list { struct list *next; int v; } list;
double a[N], b[N], c[N], A[N][N], total, *lead, outside = 3;
int limit = 6, seen, *spy;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void poke(double *p, int i)
{ p[(unsigned)i % N] += 1; total *= 1.25; limit += i == 3; if (lead) lead[2] += .5; if (getenv("NEVER")) abort(); }
static void look(void) { if (spy) ++*spy; if (getenv("NEVER")) abort(); }
image load(int k) { image m = {k, k % 5, calloc(k + 1, 8)}; if (k < 0) exit(1); m.data[k / 2] = k; return m; }
void swap(double **x, double **y) { double *t = *x; *x = *y; *y = t; if (x == y) exit(1); }
"""

LOOPS = {
    "calls and structures": """{ int count = 0;
        SCOP for (int i = 0; i < 15; i++) {
            image im = load(i); b[i] += im.data[i / 2]; poke(b, i); count += 1; total += b[i];
            for (int j = 0; j < N; j++) A[i][j] = A[i][j] * 2 + b[j];
            if (im.h > 3) { printf("%d \\"{}%%\\" %d\\n", im.h, count); count = im.h; }
            free(im.data);
        } END printf("%d\\n", count); }""",
    "a global bound that a call changes": """{
        SCOP for (int i = 0; i < limit; i++) { poke(a, i); a[i] += 1; for (int j = 0; j < N; j++) A[i][j] += a[i]; } END
        printf("%d\\n", limit); }""",
    "an array that a call reaches by another name": """{ lead = c;
        SCOP for (int i = 0; i < N; i++) { c[2] = i; poke(a, i); b[i] = c[2]; c[3] += c[2]; } END lead = 0; }""",
    "a call before loops that would gain by another order": """{
        SCOP for (int i = 0; i < N; i++) {
            poke(a, i);
            for (int j = 0; j < N; j++) for (int k = 0; k < N; k++) A[j][k] += a[k] * b[j];
        } END }""",
    "a list, with a way out": """{ list n[3] = {{n + 1, 4}, {n + 2, 9}, {n, 7}}, *p; int k = 0, left = 17;
        SCOP for (p = n; left--; p = p->next) {
            b[k++ % N] += p->v; if (p->v == 9) continue; if (k > 14) break; a[k] += 2;
        } END printf("%d %d %d\\n", p->v, k, left); }""",
    "pointers that are swapped": """{ double *x = a, *y = b;
        SCOP for (int i = 0; i < 9; i++) {
            swap(&x, &y); for (int j = 0; j < N; j++) { x[j] += 1; c[j] += y[j]; A[i][j] -= 1; }
        } END }""",
    "loops, switches and local arrays": """{ int last = -1;
        SCOP for (int i = 0; i < N; i++) {
            int k = 0; char name[16];
            int h; for (h = 0; h < 3; h++) if (getenv("NEVER")) abort(); else seen += h;
            while (k < 5 && b[k] < i) { k++; if (k == 4) break; }
            switch (k) { case 0: a[i] = 1; break; case 1: a[i] = 2; default: a[i] += 3; }
            snprintf(name, sizeof name, "%d", k * 37); a[i] += strlen(name); last = k;
            for (int j = 0; j < N; j++) A[j][i] += a[i] + last;
        } END printf("%d\\n", last); }""",
    "one name for two variables": """{
        SCOP for (int i = 0; i < N; i++) {
            a[i] += outside; if (i % 3 == 0) { image outside = load(i); b[i] += outside.w; free(outside.data); }
            outside += .5;
        } END }""",
    "a structure that is assigned": """{ image l = {9, 2, 0};
        SCOP for (int i = 0; i < l.w; i++) { l.h += 2; a[i] += l.h; if (i == 2) { l = load(12); free(l.data); } } END
        printf("%d %d\\n", l.w, l.h); }""",
    "small types": """{ unsigned char u = 250; short s = 32760; _Bool t = 0;
        SCOP for (int i = 0; i < 20; i++) {
            poke(a, i); u += 3; s++; t = !t; a[i] += u + s + t; if (u == 4) abort();
        } END
        printf("%d %d %d\\n", u, s, t); }""",
    "a loop that never runs": """{ int n = 0; double *none = 0;
        SCOP for (int i = 0; i < n; i++) { seen += *none; poke(none, i); a[i] += 1; } END }""",
    "an element that bounds a loop, and that others reach": """{ int d[2] = {5, 6}; spy = d;
        SCOP for (int i = 0; i < d[0]; i++) {
            if (i < 4) look(); for (int j = 0; j < d[1]; j++) A[i][j] += a[j]; if (d[0] > 12) spy = 0;
        } END spy = 0; printf("%d\\n", d[0]); }""",
    "an element of a row that others reach": """{ int d[2][2] = {{3, 4}, {5, 6}}; spy = d[1];
        SCOP for (int i = 0; i < 4; i++) { for (int j = 0; j < d[1][0]; j++) A[i][j] += 1; look(); } END spy = 0; }""",
    "numbers of types that have no name, and of names like those of a macro": """{ enum {P, Q, R} e; int TEXT = 1;
        SCOP for (int i = 0; i < 4; i++) {
            for (e = P; e <= R; e++) { poke(a, e); b[i] += e; } A[i][1] += 1;
            { int nTEXT = {seen}; TEXT += nTEXT; poke(b, TEXT); }
        } END printf("%d\\n", TEXT); }""",
    "a macro with more than the statement": """{
        SCOP for (int i = 0; i < 9; i++) { POKE(i) poke(b, i + 2); b[i] += a[i]; } END }""",
    "what is a list of one": """{
        SCOP for (int i = 0; i < 9; i++) { int k = {seen + i}; b[i] += k; poke(a, k); _Bool t = getenv("NEVER");
        b[i] += t; } END }""",
    "a way out of the program": """{
        SCOP for (int i = 0; i < N; i++) {
            a[i] = i; a[3] += a[i]; if (i == 9) { printf("%g\\n", a[3]); exit(3); }
        } END }""",
}
MAIN = """
static void *count(void *w)
{
    double *own = w;
    #pragma scop
    for (int i = 0; i < 3000; i++) {
        own[i & 7] += 1; pthread_mutex_lock(&mutex); total += own[0]; pthread_mutex_unlock(&mutex);
    }
    #pragma endscop
    return 0;
}
int main(void)
{
    pthread_t t[3]; double w[3][8] = {0};
    for (int i = 0; i < N; i++) { a[i] = i; b[i] = 2 * i; for (int j = 0; j < N; j++) A[i][j] = i - j; }
    for (int k = 0; k < 3; k++) pthread_create(&t[k], 0, count, w[k]);
    for (int k = 0; k < 3; k++) pthread_join(t[k], 0);
    printf("%g\\n", total); total = 1;
    CALLS
}
"""
PRINT = 'for (int i = 0; i < N; i++) printf("%.17g %.17g %.17g %.17g\\n", a[i], b[i], c[i], A[i][i] + A[3][i]);'


def test_the_same_as_gcc(tmp_path: Path) -> None:
    """With sanitizers, too; each function is a region whose kernel is made whether it pays or not."""
    functions = [f"void f{k}(void) {body}" for k, body in enumerate(LOOPS.values())]
    text = PROGRAM + "\n".join(functions).replace("SCOP", "\n#pragma scop\n").replace("END", "\n#pragma endscop\n")
    calls = " ".join(f"f{k}(); {PRINT}" for k in range(len(LOOPS)))
    (tmp_path / "f.c").write_text(text + MAIN.replace("CALLS", calls))
    found = regions(tmp_path / "f.c")
    assert sum(bool(region.texts) for region in found) > len(LOOPS) // 2
    outcomes = [outcome(region) for region in found]
    (tmp_path / "new.c").write_bytes(assembled((tmp_path / "f.c").read_bytes(), outcomes, Job()).text)
    assert TOUCHED + "(" not in (tmp_path / "new.c").read_text()
    for options in (["-O2", "-fopenmp"], ["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover"]):
        assert ran(tmp_path / "new.c", options) == ran(tmp_path / "f.c", ["-O1"])


def outcome(region: Region) -> Outcome:
    done = optimize(region.function, options=Options())
    before, after = emit_region(done.kernel, region, sizes_that_fit(done.scop, region.function))
    return Outcome(begin=region.begin, end=region.end, place="", summary="", before=before, after=after)


def ran(path: Path, options: list[str]) -> tuple[int, str]:
    program = path.with_suffix("")
    command = ["gcc", "-w", "-ffp-contract=off", *options, str(path), "-o", str(program), "-lm", "-pthread"]
    subprocess.run(command, check=True, timeout=120)
    environment = {"ASAN_OPTIONS": "detect_leaks=0", "OMP_NUM_THREADS": "2"}
    done = subprocess.run([str(program)], capture_output=True, text=True, timeout=60, check=False, env=environment)
    return done.returncode, done.stdout + done.stderr


NEST = "for (int j = 0; j < n; j++) a[j] += 1;"


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("f2(p);", id="nothing in it is read"),
        pytest.param(f"f2(p); if (i == 3) return; {NEST}", id="it leaves the function"),
        pytest.param(f"f2(p); if (i == 3) goto out; {NEST}", id="it leaves the region"),
        pytest.param(f"static int k; f2(p + k++); {NEST}", id="there would be two of a static variable"),
        pytest.param(f"struct t {{ int x; }} q = {{1}}; f2(p + q.x); {NEST}", id="a type of its own"),
        pytest.param(f"{NEST} if (i % 5) TWICE;", id="a macro ends one statement and begins another"),
        pytest.param("p = __builtin_alloca_with_align(8, 64); f2(p);", id="memory of the function"),
        pytest.param(f"f2((int *)__builtin_LINE() + 1); {NEST}", id="the line that it is on"),
        pytest.param(f"struct c q = make(); f2(p + q.k); {NEST}", id="a structure that cannot be assigned"),
        pytest.param(f"int *restrict q = f3(); f2(q); {NEST}", id="a restrict pointer that would live longer"),
        pytest.param(f"int m = f4(i), (*q)[m] = (void *)p; f2(q[1]); {NEST}", id="a type that a number tells"),
        pytest.param(f"_Alignas(64) int q[8]; f2(q); {NEST}", id="what is where its type need not be"),
        pytest.param(f"int k __attribute__((cleanup(f2))) = 1; {NEST}", id="what is called at the end of a block"),
    ],
)
def test_refused(tmp_path: Path, body: str) -> None:
    text = "#define TWICE f2(p); f2(p + 1)\nvoid f2(int *); int *f3(void), f4(int);\n"
    text += "struct c { const int k; } make(void);\nvoid f(int n, int *p, double *restrict a)\n{"
    text += "\n#pragma scop\nfor (int i = 0; i < n; i++) "
    (tmp_path / "f.c").write_text(f"{text}{{ {body} }}\n#pragma endscop\nout: ;\n}}\n")
    with pytest.raises(InputError):
        regions(tmp_path / "f.c")
