"""transform/trees/profitability.py: the source's loops stay where a schedule changes them for nothing."""

from __future__ import annotations

import pytest

import polysched as ps
from polysched.frontend.c.read import from_c
from polysched.ir.node import walk
from polysched.ir.nodes import For

LEFT = "in source order, since the schedule found changes loops for nothing"


def compiled(tmp_path, declared: str, loops: str, **options) -> ps.Compiled:
    path = tmp_path / "f.c"
    path.write_text(f"{declared}\nvoid f(void)\n{{\n#pragma scop\n{loops}\n#pragma endscop\n}}\n")
    (nest,) = from_c(path)
    return ps.optimize(nest, options=ps.Options(**options))


def loops_of(done: ps.Compiled) -> list[str]:
    return [node.kind for node in walk(done.kernel.body) if isinstance(node, For)]


UNROLLED = """\
    for (int i = 0; i < 3000000; i += 3) {
        a[i] += b[i]; a[i + 1] += b[i + 1]; a[i + 2] += b[i + 2];
    }"""


def test_a_parallel_loop_is_not_taken_apart(tmp_path):
    done = compiled(tmp_path, "float a[3000000], b[3000000];", UNROLLED)
    assert loops_of(done) == ["parallel"] and done.rungs["mapping"] == LEFT and not done.fallbacks
    done.verify()


def test_a_loop_is_taken_apart_where_part_of_it_becomes_parallel(tmp_path):
    loops = "for (int i = 1; i < 2000000; i++) { a[i] = a[i - 1] + c[i]; b[i] = c[i] * 2; }"
    done = compiled(tmp_path, "float a[2000000], b[2000000], c[2000000];", loops)
    assert loops_of(done) == ["serial", "parallel"]


SUMS = "a[i] = b[i] + c[i]; s += a[i]; d[i] = b[i] * c[i]; s += d[i];"
MORE = "a[i] = b[i] * c[i] + d[i] * b[i] - b[i] * b[i] / c[i] + c[i] * c[i] * (d[i] - b[i]); s += a[i];"


@pytest.mark.parametrize(
    ("size", "work", "left"),
    [(9000, SUMS, True), (9000, MORE, False), (9000, "a[i] = b[i] + c[i]; k = k + 1 + k % 3;", False),
     (9000, "a[i + 1] = d[i] + c[i]; b[i + 1] = b[i + 2] - c[i] * c[i];", False), (2000000, SUMS, False)],
    ids=["little beside sums", "much beside a sum", "beside integers", "no recurrence", "worth threads"],
)  # fmt: skip
def test_what_a_recurrence_hides_is_not_taken_apart(tmp_path, size, work, left):
    declared = f"enum {{ N = {size} }};\nfloat a[N + 2], b[N + 2], c[N], d[N], s;\nint k;"
    done = compiled(tmp_path, declared, f"    for (int i = 0; i < N; i++) {{ {work} }}")
    assert (done.rungs["mapping"] == LEFT, len(loops_of(done)) == 1) == (left, left)
    done.verify()


def test_who_asks_for_loops_apart_gets_them(tmp_path):
    done = compiled(tmp_path, "float a[3000000], b[3000000];", UNROLLED, fusion="none")
    assert loops_of(done) == ["parallel"] * 3


TRIANGLE = "for (int j = 0; j < {n}; j++) for (int i = j + 1; i < {n}; i++) a[i] -= A[j][i] * a[j];"


def test_a_simd_loop_is_not_skewed(tmp_path):
    done = compiled(tmp_path, "float a[256], A[256][256];", TRIANGLE.format(n=256))
    assert loops_of(done) == ["serial", "vector"]


def test_a_serial_nest_is_skewed(tmp_path):
    loops = "for (int i = 1; i < 4000; i++) for (int j = 1; j < 4000; j++) A[i][j] = A[i - 1][j] + A[i][j - 1];"
    done = compiled(tmp_path, "float A[4000][4000];", loops)
    assert done.rungs["mapping"] == "mapped" and "parallel" in loops_of(done)


@pytest.mark.parametrize(("n", "left"), [(256, True), (4096, False)])
def test_data_beyond_the_cache_is_worth_skewed_tiles(tmp_path, n, left):
    loops = f"for (int i = 1; i < {n}; i++) for (int j = 1; j < {n}; j++) A[i][j] = A[i - 1][j - 1] + B[i][j];"
    machine = ps.Machine(l2=1 << 20)
    done = compiled(tmp_path, f"float A[{n}][{n}], B[{n}][{n}];", loops, machine=machine)
    assert done.rungs["mapping"] == (LEFT if left else "mapped")


def test_a_tile_right_around_its_iterations_is_no_gain(tmp_path):
    """Columns are one tile, rows stand as they stood: skewing is for nothing where a recurrence hides the rest."""
    loops = """\
    for (int i = 0; i < 256; i++)
        for (int j = 1; j < 256; j++) { a[j] = 1 - a[j - 1]; b[j][i] = a[j] + c[j][i] * d[j]; }"""
    declared = "float a[32000], b[256][256], c[256][256], d[32000];"
    done = compiled(tmp_path, declared, loops, machine=ps.Machine(l2=512 << 10))
    assert done.rungs["mapping"] == LEFT and loops_of(done) == ["serial", "serial"]
    done.verify()
