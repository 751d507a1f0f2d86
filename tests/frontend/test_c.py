"""Regions of C files: where they are, what ties them to the file, and what they assume."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path
from textwrap import dedent

import pytest

from polysched.frontend.c.read import read_c
from polysched.frontend.c.region import Region
from polysched.ir.interp import evaluate
from polysched.ir.text import show

GEMM = """\
#define IF(x) x
void gemm(int n, int m, int p, double alpha, double C[n][m], double A[n][p], double B[p][m])
{
    int i, j, k;
    #pragma scop
    for (i = 0; i < n; i++)
        for (j = 0; j < m; j++) {
            C[i][j] *= 0.5f;
            for (k = 0; k < p; ++k)
                C[i][j] += alpha * A[i][k] * B[k][j];
        }
    #pragma endscop
}
"""


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., tuple[Region, ...]]:
    """The regions of a text."""

    def regions(text: str | bytes, **options: tuple[str, ...]) -> tuple[Region, ...]:
        path = tmp_path / "kernel.c"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return read_c(path, **options)

    return regions


@pytest.fixture
def region(read: Callable[..., tuple[Region, ...]]) -> Callable[..., Region]:
    """The region that a body makes, in a function with the given parameters."""

    def only(parameters: str, body: str, before: str = "", after: str = "", head: str = "") -> Region:
        text = f"{head}\nint f({parameters})\n{{\n{before}\n#pragma scop\n{body}\n#pragma endscop\n{after}\n}}\n"
        return read(text)[0]

    return only


def test_example(read: Callable[..., tuple[Region, ...]]) -> None:
    (gemm,) = read(GEMM)
    assert show(gemm.function) == dedent("""\
        def gemm(n: size, m: size, p: size, alpha: f64, C: f64[n, m], A: f64[n, p], B: f64[p, m]):
            for i in 0..n:
                for j in 0..m:
                    C[i, j] = C[i, j] * 0.5
                    for k in 0..p:
                        C[i, j] = C[i, j] + alpha * A[i, k] * B[k, j]""")
    assert GEMM[gemm.begin : gemm.end] == "".join(GEMM.splitlines(keepends=True)[5:11])
    assert gemm.indent == "    "
    assert gemm.expressions == {
        **{name: name for name in ("n", "m", "p", "alpha")},
        **{name: f"&{name}[0][0]" for name in "CAB"},
    }
    assert gemm.assumptions == ("n >= 0", "m >= 0", "p >= 0")
    assert gemm.unaliased == frozenset()  # nothing says that C and A are different arrays
    assert {"gemm", "IF", "i", "alpha", "define", "__GNUC__"} <= gemm.taken


# --- where regions are


def test_several_regions(read: Callable[..., tuple[Region, ...]]) -> None:
    text = dedent("""\
        int A[9];
        void f(void) {
        #pragma scop
          A[0] = 1;
        #pragma endscop
        #  pragma   scop /* of
           two lines */
          A[1] = 1;
        \t#pragma endscop // here
          for (int t = 0; t < 3; t++) { if (A[0])
          {
            #pragma\\
                  scop
            A[2] = t;
            #pragma endscop
          } }
        }
        void g(void) {
        #pragma scop
          A[3] = 1;
        #pragma endscop
        }""")
    regions = read(text)
    assert [r.function.name for r in regions] == ["f", "f_2", "f_3", "g"]
    assert [text[r.begin : r.end].strip() for r in regions] == ["A[0] = 1;", "A[1] = 1;", "A[2] = t;", "A[3] = 1;"]
    assert [r.indent for r in regions] == ["", "", "    ", ""]
    assert all(text[r.begin - 1] == "\n" and text[r.end - 1] == "\n" for r in regions)


def test_offsets_are_bytes(read: Callable[..., tuple[Region, ...]]) -> None:
    text = 'char *s = "größe";\nvoid f(int A[3]) { // ü\n\t#pragma scop\n\tA[0] = 1; /* é */\n#pragma endscop\n}'
    data = text.replace("\n", "\r\n").encode()
    (found,) = read(data)
    assert data[found.begin : found.end] == "\tA[0] = 1; /* é */\r\n".encode()
    assert found.indent == "\t"


def test_region_at_the_end_of_the_file(read: Callable[..., tuple[Region, ...]]) -> None:
    text = "int A[3];\n#define END }\nvoid f(void) {\n#pragma scop\nA[0] = 1;\n#pragma endscop\nEND"
    (found,) = read(text)
    assert text[found.begin : found.end] == "A[0] = 1;\n"


def test_pragmas_that_the_compiler_does_not_see(read: Callable[..., tuple[Region, ...]]) -> None:
    text = "int A[3];\nvoid f(void) {\n// #pragma scop\n#ifdef NOT\n#pragma scop\n#endif\n"
    text += "#pragma scop\nA[0] = 1;\n#pragma endscop\n}\n/*\n#pragma scop\n*/\n"
    assert len(read(text)) == 1


def test_include_and_define(tmp_path: Path, read: Callable[..., tuple[Region, ...]]) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "loop.h").write_text("#define LOOP(i) for (int i = 0; i < N; i++)\n#include <stddef.h>\n")
    text = '#include "loop.h"\nvoid f(TYPE A[N])\n{\n#pragma scop\nLOOP(i) A[i] = OTHER;\n#pragma endscop\n}\n'
    (found,) = read(text, include=(str(tmp_path / "folder"),), define=("N=7", "TYPE=float", "OTHER"))
    assert show(found.function) == "def f(A: f32[7]):\n    for i in 0..7:\n        A[i] = 1.0f32"
    assert {"LOOP", "TYPE", "size_t"} <= found.taken


# --- what ties a region to its file


def test_expressions_and_aliases(region: Callable[..., Region]) -> None:
    found = region(
        "int max, double A[max], double *restrict B, double (*C)[5], double s",
        "for (int i = 0; i < max; i++) { s += A[i] * B[i] + G[0][i]; C[i][0] = H[i] + x; }",
        head="static double G[2][3], H[9]; extern double x;",
        after="return s;",
    )
    assert found.expressions == {
        "max_2": "max",  # isl keeps `max` for itself
        "A": "A",
        "B": "B",
        "C": "&C[0][0]",
        "s": "&s",
        "G": "&G[0][0]",
        "H": "H",
        "x": "&x",  # C may point to it
    }
    assert found.unaliased == {"B", "s"}  # A and C may point into G and H


def test_arrays_are_apart_where_no_pointer_is_around(region: Callable[..., Region]) -> None:
    found = region("int n, float *restrict B", "for (int i = 0; i < n; i++) A[i] = B[i] + V[i];", "float V[n];",
                   head="float A[9];")
    assert found.unaliased == {"A", "B", "V"}


def test_scalars_that_live_on(region: Callable[..., Region]) -> None:
    body = "for (int i = 0; i < n; i++) { t = A[i]; s += t; u = t; A[i] = u; v = 1; }\n w = A[0];"
    found = region("int n, int A[n]", body, "int s = 0, t, u, v, w;", "t = 1; if (n) u = 2; v += s; return t + u;")
    shared = [array.name for array in found.function.arrays]
    assert shared == ["A", "s", "u", "v"]  # t is assigned before it is read, w is not read at all


@pytest.mark.parametrize(
    ("after", "is_dead"),
    [
        ("", True),
        ("i = 3; return i;", True),
        ("for (i = 0; i < 3; i++) A[i] = 0;", True),
        ("if (n) i = 0; else i = 1; A[i] = 0;", True),
        ("{ int j = 0; (i = j); } A[i] = 0;", True),
        ("return n; return i;", True),
        ("A[0] = sizeof(i);", False),
        ("return i;", False),
        ("i++;", False),
        ("if (n) i = 0; A[i] = 0;", False),
        ("for (; i < 3; i++) A[i] = 0;", False),
        ("while (n--) i = 0; return i;", False),
        ("do { if (n) break; i = 0; } while (n); return i;", False),
        ("goto end; end: return i;", False),
    ],
)
def test_what_follows_a_loop_variable(region: Callable[..., Region], after: str, is_dead: bool) -> None:
    def read() -> Region:
        return region("int n, int A[n]", "for (i = 0; i < n; i++) A[i] = 1;", "int i;", after)

    if is_dead:
        assert read().function.sizes == ("n",)
    else:
        assert "i_2" in [array.name for array in read().function.arrays]


@pytest.mark.parametrize(
    ("around", "is_dead"),
    [
        ("for (int t = 0; t < 3; t++) {{ {} }}", True),
        ("for (int t = 0; t < 3; t++) {{ i = t; A[i] = 0; {} }}", True),
        ("for (int t = 0; t < 3; t++) {{ A[i] = 0; {} }}", False),
        ("for (int t = 0; t < 3; t++) {{ if (t) {{ {} }} else {{ A[0] = i; }} }}", True),
        ("for (i = 0; i < 3; i++) {{ {} }}", False),
        ("for (;;) {{ {} if (n) break; i = 3; A[i] = 0; }} i = 0; A[i] = 1;", True),
        ("for (;;) {{ {} if (n) break; i = 3; }} A[i] = 1;", False),
        ("while (n--) {{ {} if (n == 3) continue; i = 0; A[i] = 2; }}", True),
    ],
)
def test_loops_around_a_region(read: Callable[..., tuple[Region, ...]], around: str, is_dead: bool) -> None:
    body = "\n#pragma scop\nfor (i = 0; i < m; i++) A[i] = 1;\n#pragma endscop\n"
    text = f"void f(int n, int m, int A[m])\n{{\n    int i = 0;\n    {around.format(body)}\n}}\n"
    if is_dead:
        assert read(text)[0].function.sizes == ("m",)
    else:
        assert "i_2" in [array.name for array in read(text)[0].function.arrays]


# --- what a region assumes

ASSUMPTIONS = {
    "for (int i = 0; i < n; i++) q[i] = 0;": ("n >= 0",),
    "for (unsigned i = 0; i < u; i++) q[i] = 0;": (),
    "for (unsigned i = 0; i < u - 1; i++) q[i] = 0;": ("u >= 1",),
    "for (unsigned i = 0; i <= u; i++) q[i] = 0;": ("u <= 4294967294",),
    "for (unsigned i = 1; i < u; i++) q[i - 1] = q[u - 1 - i + 1];": (),  # what wraps on the way does no harm
    "for (unsigned i = 0; i < u; i++) q[n - i] = 0;": (
        "n >= 0",
        "(long long)n + 1 >= (long long)u",
    ),
    "for (size_t i = 0; i < z; i += 4) q[i] = 0;": ("z <= 72057594037927936",),  # z + 4 fits
    "for (int i = 0; i < u; i++) q[i] = 0;": (),  # or i would overflow, which is undefined
    "for (long i = 0; i < l; i++) q[i] = 0;": ("l >= 0", "l <= 72057594037927936"),
    "for (short i = 0; i < n; i++) q[i] = 0;": ("n >= 0", "n <= 32767"),
    "for (unsigned i = 0; i != n; i++) q[i] = 0;": ("n >= 0",),
    "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) q[i * k + j] = 0;": (
        "n >= 0",
        "m >= 0",
        "k >= 0",
        "((long long)k >= (long long)m || (long long)n == 0)",
    ),
    "for (unsigned i = 0; i < u; i++) for (unsigned j = 0; j < w; j++) q[i * w + j] = 0;": (
        "((long long)w == 0 || (long long)u <= 4294967295 / (long long)w)",
    ),
}


@pytest.mark.parametrize("body", ASSUMPTIONS)
def test_assumptions(region: Callable[..., Region], body: str) -> None:
    parameters = "int n, int m, int k, unsigned u, unsigned w, size_t z, long l, char *restrict q"
    assert region(parameters, body, head="#include <stddef.h>").assumptions == ASSUMPTIONS[body]


def test_extents_come_from_the_accesses(region: Callable[..., Region]) -> None:
    body = "for (int i = 1; i < n - 1; i++) { A[i + 1] = B[i - 1][2]; C[k[i]] = D[2 * i]; E[i] = E[m]; }"
    found = region("int n, int m, int *restrict k, int *A, int (*B)[9], int *restrict C, int *D, int *E", body)
    assert [show(found.function).partition(":\n")[0]] == [
        "def f(n: size, m: size, k: i32[max(n - 1, 0)], A: i32[n], B: i32[max(n - 2, 0), 9], C: i32[C_extent], "
        "D: i32[max(2 * n - 3, 0)], E: i32[max(m + 1, max(n - 1, 0))], C_extent: size)"
    ]
    assert found.expressions["C_extent"] == "1099511627776LL"


def test_where_strides_make_the_least_extent_long_a_larger_one_is_taken(region: Callable[..., Region]) -> None:
    inner = "for (int q = 0; q < (n < m ? n : m); q += 4) if (q % 3) s[0] += C[q + p];"
    found = region("int n, int m, long *restrict C, long *restrict s", f"for (int p = 3; p < n / 2; p++) {inner}")
    extent = found.function.arrays[0].shape[0]
    assert len(show(extent)) < 100
    for n, m in product(range(12), repeat=2):
        used = [q + p for p in range(3, n // 2) for q in range(0, min(n, m), 4) if q % 3]
        assert max(used, default=-1) < evaluate(extent, {"n": n, "m": m})
