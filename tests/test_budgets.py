"""Programs that isl, left alone, works on for minutes or without end: each stage gives up in time, and says so."""

from __future__ import annotations

import time

import pytest

import polysched as ps
from polysched.config.options import Options
from polysched.frontend.c.read import read_c
from polysched.ir.node import walk
from polysched.ir.nodes import Var
from polysched.plan import mapped
from polysched.support import isl

pytestmark = pytest.mark.skipif(isl._CONTEXT is None, reason="this system has no POSIX timers")


def region(tmp_path, body: str, parameters: str):
    path = tmp_path / "kernel.c"
    path.write_text(f"""\
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
void kernel({parameters})
{{
#pragma scop
{body}
#pragma endscop
}}
""")
    (found,) = read_c(path)
    return found


STRIDED = """
    for (int k = 2; k < MIN(n - 1, K); k += 7)
        if (k % 5 != 2)
            for (int l = MIN(n, K) - 1; l >= 2; l -= 1)
                B[k + l] += 1;
"""


def test_a_largest_subscript_that_isl_does_not_find_is_an_unknown_extent(tmp_path):
    array = region(tmp_path, STRIDED, "int n, int K, double *restrict B").function.arrays[0]
    assert array.shape == (Var("B_extent"),)


def test_a_pointer_of_unknown_extent_is_refused_by_its_place(tmp_path):
    with pytest.raises(ps.InputError, match=r"kernel.c:3:\d+: nothing shows how far 'B' reaches"):
        region(tmp_path, STRIDED.replace("+= 1", "+= A[k]"), "int n, int K, double *B, double A[n]")


def test_the_only_array_overlaps_no_other_whatever_its_extent(tmp_path):
    assert region(tmp_path, STRIDED, "int n, int K, double *B").function.arrays[0].shape == (Var("B_extent"),)


PIECEWISE = """
    for (int k = 2; k < n; k += 7)
        if (k % 5 != 2)
            B[k] += 1;
"""


def test_an_extent_of_many_pieces_is_a_larger_one_or_unknown(tmp_path):
    (extent,) = region(tmp_path, PIECEWISE, "int n, int K, double *B").function.arrays[0].shape
    assert sum(1 for _ in walk(extent)) < 60  # it was 163 nodes


COUPLED = """
    for (long i = 2; MIN(n - 2, K) > i; i += 3)
        for (long j = 1; j < n - 1; j += 3)
            for (long k = 2; k <= n + 1 - 1; k++) {
                for (long l = 0; l < MIN(n, K); l += 2) {
                    if (C[j + l][l + 4][l] < (C[j][k + 3][j] + 4))
                        C[j + l][l + 4][l] = (C[j][k + 3][j] + 4);
                    A[l + 2][l + K] = B[l][k + j] - B[i + K][k];
                }
                for (long p = 0; n - 2 > p; p++)
                    s[0] -= A[i][i] + A[(j * 3) / 2][k + 4];
                for (long q = i; q < n; ++q)
                    if (C[k][n + 3 - i][2] == i)
                        B[i][j]--;
            }
"""


@pytest.mark.slow
def test_a_schedule_that_is_not_found_in_time_is_source_order(tmp_path):
    parameters = "int n, int K, long A[96][96], long B[96][96], short (*restrict C)[96][96], long s[1]"
    function = region(tmp_path, COUPLED, parameters).function
    start = time.process_time()
    done = ps.optimize(function, options=Options(solve_seconds=1.0, compile_seconds=20.0))
    assert time.process_time() - start < 30  # without a clock, minutes
    assert done.fallbacks["schedule"].startswith("source order")


@pytest.mark.slow
def test_two_hundred_statements_that_use_each_others_elements_end_in_time(tmp_path):
    updates = "\n".join(f"A[i + {k}] = A[i + {7 * k % 300}] * 0.5;" for k in range(200))
    function = region(tmp_path, f"for (int i = 0; i < n; i++) {{ {updates} }}", "int n, double A[n + 300]").function
    start = time.process_time()
    done = ps.optimize(function)
    assert time.process_time() - start < done.options.compile_seconds + 2  # to print what is left as it was
    done.verify()


@ps.nest
def stencil(a: ps.f64[N + 1, N + 2], N: ps.size):  # noqa: F821
    for i in range(N):
        for j in range(N):
            a[i + 1, j + 1] = a[i, j + 2] + a[i, j + 1] + a[i, j]


def test_an_edit_that_is_not_decided_in_time_is_refused_and_nothing_changes():
    schedule = (
        ps.Schedule(stencil, "ilp", options=Options(edit_seconds=2.0))
        .wavefront("i", "i+j")
        .tile("i+j", sizes=(5,))
        .diamond("i+j_o", "i+j", 4)
        .tile("i+j_o", "i+j", sizes=(3, 3))
    )
    before = schedule.tree
    with pytest.raises(ps.IllegalSchedule, match="whether that is legal was not decided in time: isl ran out of time"):
        schedule.cache_read("a", "i+j_o_3", scope="shared")
    assert schedule.tree == before


def test_nothing_gives_way_where_there_is_time():
    assert ps.optimize(stencil).fallbacks == {}


def test_without_time_to_compile_at_all_it_is_refused():
    with pytest.raises(ps.PolyschedError, match="ran out of time"):
        ps.optimize(stencil, options=Options(compile_seconds=0.0))


@ps.nest
def reversed_rows(a: ps.f32[4, 64], b: ps.f32[4, 64], c: ps.f32[4, 64]):
    for r in range(4):
        for i in range(64):
            b[r, i] = a[r, i]
        for j in range(64):
            c[r, j] = b[r, 63 - j]


def test_a_grid_by_hand_has_its_barriers_or_is_refused(monkeypatch):
    schedule = ps.Schedule(reversed_rows).bind("r", "blockIdx.x").bind("i", "threadIdx.x").bind("j", "threadIdx.x")
    assert ps.optimize(reversed_rows, "cuda", schedule=schedule).source.text.count("__syncthreads()") == 1

    def late(*_):
        raise ps.BudgetExceeded("isl ran out of time")

    monkeypatch.setattr(mapped, "place_barriers", late)
    with pytest.raises(ps.BudgetExceeded, match="no loops for the schedule by hand were found, since isl ran out"):
        ps.optimize(reversed_rows, "cuda", schedule=schedule)
    done = ps.optimize(reversed_rows, "cuda", schedule=schedule.tree)
    assert done.rungs["mapping"] == "source order, since isl ran out of time"
    done.verify()


MANY_DIVISIONS = """
    for (int i = 0; i < n; i++) {
        for (int j = i + 1 - 1; j >= 0; j -= 4)
            if (j < 6 - 1)
                if (!(B[(j) * 96 + j] > (j / 2.0)))
                    for (int k = 3; k < n - 1; k += 3) {
                        B[(k) * 96 + j + 1] += A[j + i][i + 2];
                        B[(k) * 96 + k + 4] *= B[(k + 3) * 96 + j];
                    }
        B[(i) * 96 + i % 4] = ((A[i + 3][2 * i + 2] * A[2 * i + 2][i + 2]) + A[i + 4][i + 3]);
    }
    for (int l = 3; l < n - 1; l += 4) {
        for (int p = l + 1; p < n + 2; ++p)
            for (int q = l; q < n; q += 7)
                B[(l + 4) * 96 + 2 * q + 2] *= A[p][q / 2];
        B[(l + 2) * 96 + l + 2] = ((n / 0.75) * (B[(l + 4) * 96 + l + 1] / 7.0f));
    }
"""
MANY_BOUNDS = """
    for (long i = 2; i < m; i += 3) {
        for (long j = MAX(1, i - 4); j < MIN(m + 1, i + 1); ++j) {
            if (i % 5 == 1) {
                A[n] += ((~B[j]) - ((unsigned char)i));
            } else {
                for (long k = 1; k < m + 1; k++)
                    for (long l = k; l <= m + 1 - 1; l += 7)
                        B[i] = A[n + 1];
                B[i] += ((short)((char)255));
            }
        }
        for (long p = 0; p < n; p += 1)
            for (long q = 0; q < p + 1; q++)
                for (long a = MIN(n - 1, p + 3) - 1; a >= MAX(0, p - 1); --a) {
                    A[q - a + n + 3] += B[i];
                    A[q] = (a ^ a);
                    A[(p * 3) / 2] = (-(B[a] + B[q]) >> 5);
                }
    }
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "parameters", "sizes"),
    [
        (MANY_DIVISIONS, "int n, double A[96][96], double *B", {"n": 9}),
        (MANY_BOUNDS, "long n, long m, unsigned short *A, unsigned char B[96]", {"n": 7, "m": 9}),
    ],
    ids=["divisions", "bounds"],
)
def test_what_took_minutes_is_compiled_right_within_the_budget(tmp_path, body, parameters, sizes):
    function = region(tmp_path, body, parameters).function
    start = time.process_time()
    done = ps.optimize(function)
    assert time.process_time() - start < 20
    assert done.verify(**sizes)
