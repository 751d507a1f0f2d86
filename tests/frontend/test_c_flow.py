"""Jumps, values that loops leave, steps and calls in regions: the optimised region against gcc, bit for bit."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from frontend.c_programs import Programs

from polysched.errors import InputError
from polysched.frontend.c.read import read_c
from polysched.ir.text import show

EXAMPLE = """\
void f(int n, double *restrict a, double *restrict b)
{
    int i;
    #pragma scop
    for (i = 0; i < n; i++) {
        if (a[i] < 0) break;
        if (a[i] == 0) continue;
        b[i] = 1 / a[i];
    }
    b[0] = i;
    #pragma endscop
}
"""


def test_example(tmp_path: Path) -> None:
    (tmp_path / "f.c").write_text(EXAMPLE)
    (region,) = read_c(tmp_path / "f.c")
    assert show(region.function).splitlines()[1:] == [
        "    alloc i_2: private i32[]",
        "    i_2[] = i32(max(0, n))",
        "    alloc going: private bool[]",
        "    going[] = true",
        "    for i in 0..n:",
        "        if going[]:",
        "            if a[i] < 0.0:",
        "                i_2[] = i32(i)",
        "                going[] = false",
        "            else:",
        "                if !(a[i] == 0.0):",
        "                    b[i] = 1.0 / a[i]",
        "    b[0] = f64(i_2[])",
    ]


HEAD = """
double g;
static void axpy(int n, double a, const double *x, double *y) { for (int k = 0; k < n; k++) y[k] += a * x[k]; }
static double dot(const double *x, const double *y, int n)
{
    double s = 0;
    int i;
    for (i = 0; i < n; i++) s += x[i] * y[i];
    return s;
}
static int find(const double *x, int n, double lim)
{
    for (int i = 0; i < n; i++) { if (x[i] > lim) return i; if (x[i] == lim) return -i; }
    return n;
}
static double next(double *x, double a) { *x = *x * a + 0.25; if (*x > 2) { *x -= 2; return *x / 2; } return *x; }
static void swap(double *a, double *b) { double t = *a; *a = *b; *b = t; }
static void halves(double *a, int n) { if (n <= 1) return; a[n - 1] /= 2; halves(a, n - 1); }
"""

FUNCTIONS = {
    "nested(int n, int m, double A[n][m], double b[n], int c[n])": """
        int i, j = 7, t = 0;
        for (i = 0; i < n; i++) {
            for (j = i; j < m; j++) {
                if (A[i][j] < 0) { if (c[i] > 2) break; t += 3; if (c[i] < -2) continue; t++; }
                A[i][j] += t;
            }
            b[i] = j + t;
            if (t > 40) break;
        }
        b[n - 1] += i * 100 + j;""",
    "strided(int n, int m, int c[n], int out[3])": """
        int i = m % 5, q = 0;
        for (i = i + 1; i < n; i += 3) q += c[i] % 7;
        out[0] = i;
        for (i = n - 1; i >= 0; i -= 2) { q += c[i] % 5; if (q > 11) break; }
        out[1] = i; out[2] = q;""",
    "steps(int n, int m, double a[n], double b[2 * n], int c[n])": """
        int k = 0, z = n;
        for (int i = 0; i < n; i++) {
            if (a[i] > 0) b[k++] = a[i];
            c[i] = --z + m;
            if (k++ % 3 == 0) a[i] += z; else a[i] -= k;
        }""",
    "calls(int n, int m, double A[n][m], double B[n][m], double v[n])": """
        for (int i = 1; i < n; i++) {
            axpy(m, v[i] * 2, A[i - 1], A[i]);
            axpy(m - 1, 0.5, &A[i][1], A[i]);
            v[i] = dot(A[i], B[i], m) + dot(v, v, i);
            int j = find(B[i], m, v[i]);
            B[i][0] += j;
        }""",
    "addresses(int n, int m, double A[n][m])": """
        double x = 0.5;
        for (int i = 0; i < n / 2; i++) for (int k = 0; k < m; k++) {
            swap(&A[i][k], &A[n - 1 - i][k]);
            double q = next(&x, 1.375);
            A[i][k] += q;
        }""",
}


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Programs:
    regions = (f"void {head}\n{{\n#pragma scop\n{body}\n#pragma endscop\n}}\n" for head, body in FUNCTIONS.items())
    return Programs(HEAD + "".join(regions), tmp_path_factory.mktemp("flow"))


@pytest.mark.parametrize("name", [head.partition("(")[0] for head in FUNCTIONS])
@pytest.mark.parametrize("sizes", [(1, 1), (2, 3), (5, 4), (9, 12)])
def test_as_gcc(programs: Programs, name: str, sizes: tuple[int, int]) -> None:
    order = next(head for head in FUNCTIONS if head.startswith(f"{name}("))
    parameters = re.findall(r"(?:int|double) (\w+)", order)
    programs.check(name, dict(zip("nm", sizes, strict=True)), order=parameters)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("for (int i = 0; i < n; i++) { halves(a, n); }", "calls itself"),
        ("for (int i = 0; i < n; i++) a[i] = next(a, 2) + a[0];", "is called in an expression"),
        ("for (int i = 0; i < n; i++) a[i] = n > 3 && find(a, n, 2) > 1;", "no number"),
        ("for (int i = 0; i < n; i++) { int k = i; a[k++] = k; }", "inside of an expression"),
        ("for (int i = 0; i < n; i++) { int k = i; a[0] = n > 2 ? k++ : 1; a[1] = k; }", "inside of an expression"),
        ("for (int i = 0; i < n; i++) a[0] = i++;", "is changed in the body of its loop"),
        ("int k = n; for (k = k - 1; k >= 0; k--) { if (a[k] > 3) break; a[k] = 1; }", "counts down from what data"),
        ("if (n > 3) return; a[0] = 1;", "return leaves the region"),
    ],
)
def test_refused(tmp_path: Path, body: str, message: str) -> None:
    path = tmp_path / "f.c"
    path.write_text(f"{HEAD}void f(int n, double *a)\n{{\n#pragma scop\n{body}\n#pragma endscop\n}}\n")
    with pytest.raises(InputError, match=message):
        read_c(path)


def _block(rng: random.Random, depth: int, loops: int) -> Iterator[str]:
    for _ in range(rng.randint(1, 3)):
        place = rng.choice(["a[k % 8]", "a[i]", "c[i][j & 7]", "c[j & 7][i]", "a[j & 7]"])
        test = rng.choice([f"{place} > {rng.randint(-3, 3)}", "i == j", f"k % {rng.randint(2, 5)} == 1", "j > 2"])
        match rng.randint(0, 6):
            case 0 if depth:
                yield f"if ({test}) {{ {' '.join(_block(rng, depth - 1, loops))} }}"
            case 1 if depth:
                other = " ".join(_block(rng, depth - 1, loops))
                yield f"if ({test}) {{ {' '.join(_block(rng, depth - 1, loops))} }} else {{ {other} }}"
            case 2 if loops == 1 and depth:
                head = rng.choice(["j = 0; j < 8; j++", "j = i; j < 8; j += 3", "j = 7; j >= i; j--"])
                yield f"for ({head}) {{ {' '.join(_block(rng, depth - 1, 2))} }}"
            case 3:
                yield f"if ({test}) {rng.choice(['break', 'continue'])};"
            case 4:
                yield rng.choice(["k++;", "a[k++ & 7] += 1;", f"k = k * 3 % 11 + {rng.randint(0, 3)};"])
            case _:
                yield f"{place} = {place} * 0.5 + {rng.choice(['i', 'j', 'k'])};"


def _function(seed: int) -> str:
    rng = random.Random(seed)
    body = " ".join(_block(rng, 3, 1))
    text = f"int i, j = 3, k = 1; for (i = 0; i < 8; i++) {{ {body} }} a[0] += i; a[1] += j; a[2] += k;"
    return f"void f{seed}(double a[8], double c[8][8])\n{{\n#pragma scop\n{text}\n#pragma endscop\n}}\n"


@pytest.mark.parametrize("first", range(0, 120, 10))
def test_random_jumps(first: int, tmp_path: Path) -> None:
    programs = Programs("".join(map(_function, range(first, first + 10))), tmp_path)
    for seed in range(first, first + 10):
        programs.check(f"f{seed}", {})
