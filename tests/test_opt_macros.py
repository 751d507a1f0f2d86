"""What `polysched opt` writes is right with other -D and -U too, or does not compile and says why."""

from __future__ import annotations

import re
import shutil
from contextlib import suppress
from pathlib import Path

import pytest

from polysched.errors import PolyschedError
from tests.fuzz.c_macros import ELSE, check, check_macros, optimized, ran
from tests.fuzz.outcome import Refused

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
FILE = """\
#include <stdio.h>
{before}
double a[40], b[40];
void kernel(int n)
{{
    int i;
{head}
#pragma scop
{region}
#pragma endscop
{tail}
}}
int main(void)
{{
    for (int k = 0; k < 40; k++) b[k] = k + 1;
    kernel(10);
    double s = 0;
    for (int k = 0; k < 40; k++) s = 3 * s + a[k];
    printf("%.17g\\n", s);
    return 0;
}}
"""
LOOP = "    for (i = 0; i < n; i++) a[i] = {};"
REAL = "#ifndef REAL\n#define REAL double\n#endif"
N = "#ifndef N\n#define N 8\n#endif"


def written(tmp_path: Path, before: str, region: str, head: str = "", tail: str = "") -> Path:
    file = tmp_path / "file.c"
    file.write_text(FILE.format(before=before, region=region, head=head, tail=tail))
    return file


@pytest.mark.parametrize(
    ("before", "region", "build"),
    [
        (N, "    for (i = 0; i < N; i++) a[i] = 1 + i;", "-DN=20"),
        (N, "    for (i = 0; i < 2 * N; i++) a[i] = 1 + i;", "-DN=4+4"),
        (N, "    for (i = 0; i < n; i++) a[i] = b[i] / N;", "-DN=8.5"),
        ("#ifndef COEF\n#define COEF 2.0\n#endif", LOOP.format("b[i] + COEF"), "-DCOEF=3.0"),
        (f"{REAL}\ntypedef REAL real;", LOOP.format("(real)(b[i] / 3)"), "-DREAL=float"),
        (REAL, LOOP.format("b[i] / sizeof(REAL)"), "-DREAL=float"),
        (f"{N}\nenum {{ E = N }};", LOOP.format("b[i] + E"), "-DN=3"),
        (f"{N}\nstatic const int K = N;", LOOP.format("b[i] + K"), "-DN=3"),
        (f"{N}\nstatic double f(double x) {{ return x * N; }}", LOOP.format("f(b[i])"), "-DN=3"),
        ("#ifdef X\n#define F(x) x - 1\n#else\n#define F(x) x + 1\n#endif", LOOP.format("2 * F(b[i])"), "-DX"),
        ("#ifdef X\n#define b a\n#endif", LOOP.format("b[i + 10]"), "-DX"),
        ("#ifdef X\n#define CAT(x) x##5\n#else\n#define CAT(x) x##1\n#endif", LOOP.format("b[i] + CAT(1)"), "-DX"),
        ("#ifndef NOW\n#define NOW\n#endif", LOOP.format("b[i] NOW"), "-DNOW=+1"),
        ("#ifndef W\n#define W\n#endif\nW double c[40];", LOOP.format("b[i] + c[i]"), "-DW=static"),
    ],
)  # fmt: skip
def test_what_macros_stand_for_is_tested(tmp_path, before, region, build):
    """The kernel where they are the same, the text as it was elsewhere: both builds are right."""
    assert check(written(tmp_path, before, region), [], [[], [build]]) == (2, 0)


@pytest.mark.parametrize(
    ("before", "head", "region", "tail"),
    [
        ("", "", f"#ifdef X\n{LOOP.format(1)}\n#else\n{LOOP.format(2)}\n#endif", ""),
        ("", "", f"#ifndef X\n{LOOP.format(1)}\n#endif\n{LOOP.format('b[i] + a[i]')}", ""),
        ("#ifdef X\ntypedef float real;\n#else\ntypedef double real;\n#endif", "", LOOP.format("(real)(b[i] / 3)"), ""),
        ("#ifdef X\nenum { E = 3 };\n#else\nenum { E = 4 };\n#endif", "", LOOP.format("b[i] + E"), ""),
        (
            "static double f(double x)\n#ifdef X\n{ return x; }\n#else\n{ return -x; }\n#endif",
            "", LOOP.format("f(b[i])"), "",
        ),
        ("static double f(double x) {\n#ifdef X\nx++;\n#endif\nreturn x; }", "", LOOP.format("f(b[i])"), ""),
        ("", "", LOOP.format("b[i]"), "#ifdef X\n    a[0] = i;\n#endif"),
        (
            "", "    double t = 1;\n#ifdef X\nagain:\n#endif",
            LOOP.format("t"), "#if defined X && 1\n    if (n-- > 9) goto again;\n#endif",
        ),
    ],
)  # fmt: skip
def test_another_branch_fails_the_build_with_our_words(tmp_path, before, head, region, tail):
    assert check(written(tmp_path, before, region, head, tail), [], [[], ["-DX"]]) == (1, 1)


@pytest.mark.parametrize(
    ("before", "region", "tail"),
    [
        ("#ifdef X\n#include \"gone.h\"\n#endif", LOOP.format("b[i]"), ""),
        ("", LOOP.format("b[i]"), '#ifdef X\n    puts("debug");\n#endif'),
        ("#ifdef X\nint unused(void) { return (int)a[0]; }\n#endif".replace("a[0]", "1"), LOOP.format("b[i]"), ""),
        ("", f"{LOOP.format('b[i]')}\n#ifdef X\n#endif", ""),
    ],
)
def test_what_does_not_matter_is_not_tested(tmp_path, before, region, tail):
    new = optimized(written(tmp_path, before, region, "", tail), [])
    assert "#error" not in new.read_text() and "same(" not in new.read_text()


@pytest.mark.parametrize(
    ("before", "head", "region", "message"),
    [
        ("#define N 8", "", "#undef N\n#define N 9\n    for (i = 0; i < N; i++) a[i] = 1;", "'N' may change here"),
        ("#define N 8\nenum { E = N };\n#undef N\n#define N 9", "", LOOP.format("E"), "'N' may change here"),
        ("", "", LOOP.format("__LINE__"), "'__LINE__' in the region would not mean the same"),
        ("#define long int", "", LOOP.format("1"), "'long' is a macro"),
        ("", '#include "empty.h"', LOOP.format("1"), "an #include in the function of a region"),
        ("#define OPEN (", "", LOOP.format("OPEN 1)"), "what its macros stand for cannot be told: OPEN"),
        ("#define CLOSE )", "", LOOP.format("(1 CLOSE"), "what its macros stand for cannot be told: CLOSE"),
    ],
)
def test_what_cannot_be_tested_is_refused(tmp_path, before, head, region, message):
    (tmp_path / "empty.h").write_text("")
    with pytest.raises(PolyschedError, match=re.escape(message)):
        optimized(written(tmp_path, before, region, head), [])


def test_a_header_is_read_like_the_file(tmp_path):
    guard = "#ifndef H\n#define H\n{}\n#endif\n"
    (tmp_path / "mine.h").write_text(guard.format("#ifdef X\ntypedef float real;\n#else\ntypedef double real;\n#endif"))
    file = written(tmp_path, '#include "mine.h"', LOOP.format("(real)(b[i] / 3)"))
    assert check(file, [], [[], ["-DX"]]) == (1, 1)
    assert "mine.h:3 has another branch" in file.with_name("opt.c").read_text()


@pytest.mark.parametrize("flags", [["-O0"], ["-O2"], ["-O3", "-std=c99", "-Wall", "-Wextra", "-Wno-unknown-pragmas"]])
def test_numbers_of_the_compiler_are_compared_by_value(tmp_path, flags):
    """gcc and clang spell INT_MAX and DBL_MAX in two ways."""
    region = LOOP.format("b[i] < DBL_MAX && i < INT_MAX ? M_PI * b[i] : 0")
    before = "#include <math.h>\n#include <limits.h>\n#include <float.h>\n#ifndef M_PI\n#define M_PI 3.14\n#endif"
    file = written(tmp_path, before, region)
    only_kernel = optimized(file, [])
    only_kernel.write_text(only_kernel.read_text().replace(ELSE, ELSE + "__builtin_abort();\n"))
    in_99 = "-std=c99" in flags  # without M_PI, so that it is 3.14
    assert (ran(only_kernel, flags) == ran(file, flags)) != in_99
    assert ran(optimized(file, []), flags) == ran(file, flags)


@pytest.mark.parametrize("seed", [*range(3), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(3, 20))])
def test_random_macros(seed):
    with suppress(Refused):
        check_macros(seed)
