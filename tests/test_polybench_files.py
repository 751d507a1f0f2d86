"""benchmarks/polybench/files.py: files as PolyBench has them, against what `polysched opt` makes of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.polybench.contest import Wrong
from benchmarks.polybench.files import time_file

PROGRAM = """
#include <stdio.h>
#include <polybench.h>
#ifdef MINI_DATASET
#define N 40
#endif
static double A[N][N], y[N];

static void kernel_mvt(int n, double A[N][N], double y[N])
{
    double w;
#pragma scop
    for (int i = 0; i < n; i++) {
        w = 0.0;
        for (int j = 0; j < n; j++)
            w += A[i][j] * 2.0;
        y[i] = w;
    }
#pragma endscop
}

int main(void)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            A[i][j] = (double)(i * j) / N;
    kernel_mvt(N, A, y);
#ifdef POLYBENCH_TIME
    printf("%f\\n", SECONDS);
#endif
#ifdef POLYBENCH_DUMP_ARRAYS
    for (int i = 0; i < N; i++)
        fprintf(stderr, "%0.2lf ", y[i]);
    DUMPED
#endif
    return 0;
}
"""


def folder(place: Path, dumped: str = "") -> Path:
    for name, text in {
        "utilities/polybench.h": "#define SECONDS 0.25\n",
        "utilities/polybench.c": "",
        "linear-algebra/kernels/mvt/mvt.c": PROGRAM.replace("DUMPED", dumped),
    }.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    return place


@pytest.mark.slow
def test_a_file_is_rewritten_built_compared_and_timed(tmp_path):
    row = time_file(folder(tmp_path), ("MINI_DATASET",), 2, (1, 2), "mvt")
    assert row.gcc == [0.25, 0.25]
    assert row.ours == {1: [0.25, 0.25], 2: [0.25, 0.25]}
    assert row.compile > 0 and row.build > 0


@pytest.mark.slow
def test_dumps_that_differ_are_found(tmp_path):
    only_ours = '#ifdef _OPENMP\n    fprintf(stderr, "1");\n    #endif'
    with pytest.raises(Wrong, match="the dumps differ"):
        time_file(folder(tmp_path, only_ours), ("MINI_DATASET",), 1, (1,), "mvt")


@pytest.mark.slow
def test_a_region_that_stays_as_it_was_is_no_kernel(tmp_path):
    place = folder(tmp_path)
    source = place / "linear-algebra/kernels/mvt/mvt.c"
    source.write_text(source.read_text().replace("y[i] = w;", "y[i] = w; goto next; next:;"))
    with pytest.raises(Wrong, match="goto"):
        time_file(place, ("MINI_DATASET",), 1, (1,), "mvt")
