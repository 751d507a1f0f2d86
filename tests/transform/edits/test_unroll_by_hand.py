import random

import nests
import pytest
from by_hand import matmul, stencil

from polysched import IllegalSchedule, InputError, Schedule, f64, nest, optimize, size
from tests.edits import check_results, check_witness


@nest
def short(b: f64["n"], a: f64["n"], n: size):
    for i in range(1, n - 1):
        for k in range(3):
            b[i] += a[i + k - 1]


@nest
def gemm(C: f64["n", "n"], A: f64["n", "n"], B: f64["n", "n"], n: size):
    for i in range(n):
        for j in range(n):
            C[i, j] = 0.0
            for k in range(n):
                C[i, j] += A[i, k] * B[k, j]


@nest
def lower(y: f64["n"], A: f64["n", "n"], x: f64["n"], n: size):
    for i in range(n):
        for j in range(i + 1):
            y[i] += A[i, j] * x[j]


@nest
def downwards(a: f64["n", "n"], n: size):
    for i in range(n - 3, -1, -1):
        for j in range(n):
            a[i, j] += a[i + 2, n - 1 - j]


def test_a_short_loop_is_unrolled_whole():
    unrolled = Schedule(short).unroll("k")
    assert str(unrolled) == """\
domain: { S[i, k] : 0 < i <= -2 + n and 0 <= k <= 2 }
  context: { : n >= 0 }
    band:
      i: [S[i, k] -> i] coincident
      mark: unroll
        band:
          k: [S[i, k] -> k]"""
    done = optimize(short, schedule=unrolled)
    done.verify()
    assert "#pragma GCC unroll" in done.source.text


def test_a_long_loop_is_unrolled_in_blocks():
    unrolled = Schedule(matmul).unroll("k", factor=4)
    assert str(unrolled).partition("band: permutable")[2] == """
      i: [S[i, j, k] -> i] coincident
      j: [S[i, j, k] -> j] coincident
      band:
        k_o: [S[i, j, k] -> floor((k)/4)]
        mark: unroll
          band:
            k: [S[i, j, k] -> k]"""
    done = optimize(matmul, schedule=unrolled)
    done.verify()
    assert "for (int64_t r6 = 0; r6 < 4; r6++) {\n                        C_0 += " in done.source.text


def test_rows_are_jammed_into_the_innermost_loop():
    jammed = Schedule(matmul).unroll_and_jam("i", factor=4)
    assert str(jammed).partition("n >= 0 }")[2] == """
    band:
      i_o: [S[i, j, k] -> floor((i)/4)] coincident
      band: permutable
        j: [S[i, j, k] -> j] coincident
        k: [S[i, j, k] -> k]
        mark: unroll
          band:
            i: [S[i, j, k] -> i] coincident"""
    done = optimize(matmul, schedule=jammed)
    done.verify()
    assert "double C_0[4];" in done.source.text, "a block of C is in registers"


def test_each_inner_loop_and_statement_gets_the_rows():
    jammed = Schedule(gemm).unroll_and_jam("i", factor=2)
    assert jammed.loops == ("i_o", "j", "i", "k", "i_2")
    assert str(jammed).partition("sequence")[2] == """
          filter: S0
            mark: unroll
              band:
                i: [S0[i, j] -> i] coincident
          filter: S1
            band:
              k: [S1[i, j, k] -> k]
              mark: unroll
                band:
                  i_2: [S1[i, j, k] -> i] coincident"""
    optimize(gemm, schedule=jammed).verify()


def test_lanes_run_several_rows_each():
    rows = Schedule(matmul).reorder("i", "k", "j").vectorize("j").unroll_and_jam("i", factor=4).parallel("i_o")
    done = optimize(matmul, schedule=rows)
    done.verify()
    assert "#pragma omp simd\n" in done.source.text
    assert "#pragma GCC unroll" in done.source.text


@pytest.mark.parametrize("nest", [lower, downwards])
def test_triangles_and_loops_that_count_down(nest):
    name, *_ = Schedule(nest).loops
    jammed = Schedule(nest).unroll_and_jam(name, factor=2)
    assert jammed.loops == (f"{name}_o", "j", name)
    optimize(nest, schedule=jammed).verify()


def test_jamming_that_breaks_a_dependence_is_refused():
    with pytest.raises(IllegalSchedule) as raised:
        Schedule(stencil).unroll_and_jam("i", factor=4)
    message = "unroll_and_jam(i, factor=4): flow dependence on a: S[i=0, j=1] must run before S[i=1, j=0] (N = 2)"
    assert str(raised.value).splitlines()[0] == message
    assert not raised.value.hint


def test_fewer_rows_may_be_legal():
    with pytest.raises(IllegalSchedule) as raised:
        Schedule(downwards).unroll_and_jam("i", factor=8)
    assert raised.value.hint == "jam 2 iterations"


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (
            lambda s: s.unroll("k"),
            "loop 'k' runs as often as the sizes say, which is too often to unroll all of it\n"
            "hint: unroll it by a factor, as in unroll('k', factor=4)",
        ),
        (
            lambda s: s.tile("k", sizes=(256,)).unroll("k"),
            "loop 'k' runs 256 times, which is too often to unroll all of it\n"
            "hint: unroll it by a factor, as in unroll('k', factor=4)",
        ),
        (lambda s: s.unroll("k", factor=1), "unroll needs a factor from 2 to 64, not 1"),
        (lambda s: s.unroll_and_jam("i", factor=65), "unroll_and_jam needs a factor from 2 to 64, not 65"),
        (lambda s: s.unroll_and_jam("k", factor=4), "loop 'k' has no loop inside to jam into\nhint: unroll it"),
        (
            lambda s: s.unroll("k", factor=4).unroll("k"),
            "loop 'k' is marked unroll already\nhint: edit loops before they are marked",
        ),
    ],
)
def test_what_cannot_be_unrolled(edit, message):
    with pytest.raises(InputError) as raised:
        edit(Schedule(matmul))
    assert str(raised.value) == message


def test_sizes_that_are_assumed_bound_a_loop():
    assert "mark: unroll" in str(Schedule(matmul).assume("n <= 8").unroll("k"))


@pytest.mark.parametrize("seed", range(30))
def test_random_loops(seed):
    rng = random.Random(seed)
    fn = nests.random_nest(rng, statements=3, depth=3)
    schedule = Schedule(fn)
    for name in schedule.loops:
        for edit in (schedule.unroll, schedule.unroll_and_jam):
            try:
                check_results(fn, edit(name, factor=rng.choice([2, 3])), rng)
            except IllegalSchedule as error:
                check_witness(schedule, error)
            except InputError:
                continue
