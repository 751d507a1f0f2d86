import pytest
from by_hand import matmul, stencil

from polysched import IllegalSchedule, InputError, Options, Schedule, f64, nest, optimize, size
from polysched.config.machine import Machine

FREE = Options(reorder_reductions=True)


@nest
def pair(c: f64["n"], b: f64["n"], a: f64["n"], n: size):
    for i in range(1, n):
        b[i] = a[i]
        c[i] = b[i - 1]


def test_an_innermost_loop_as_lanes():
    lanes = Schedule(stencil).vectorize("j")
    assert str(lanes) == """\
domain: { S[i, j] : 0 <= i < N and 0 <= j < N }
  context: { : N >= 0 }
    band:
      i: [S[i, j] -> i]
      mark: vector
        band:
          j: [S[i, j] -> j] coincident"""
    done = optimize(stencil, schedule=lanes)
    done.verify()
    assert "#pragma omp simd\n" in done.source.text


def test_lanes_that_depend_on_each_other_are_refused():
    with pytest.raises(IllegalSchedule) as raised:
        Schedule(matmul).vectorize("k")
    first, *_, hint = str(raised.value).splitlines()
    assert first == (
        "vectorize(k): flow dependence on C: S[i=0, j=0, k=0] must run before S[i=0, j=0, k=1], "
        "but iterations of loop 'k' would run at the same time (n = 2)"
    )
    assert hint == "hint: if sums may be in any order, schedule with Options(reorder_reductions=True)"


def test_lanes_add_up_where_sums_may_be_in_any_order():
    done = optimize(matmul, schedule=Schedule(matmul, options=FREE).vectorize("k"), options=FREE)
    done.verify()
    assert "#pragma omp simd reduction(+:C_0)" in done.source.text


def test_statements_that_wait_for_each_other_may_be_distributed():
    with pytest.raises(IllegalSchedule) as raised:
        Schedule(pair).vectorize("i")
    assert raised.value.hint == 'distribute("i") first'
    apart = Schedule(pair).distribute("i")
    optimize(pair, schedule=apart.vectorize("i").vectorize("i_2")).verify()


def test_only_unrolled_loops_may_be_inside():
    with pytest.raises(InputError) as raised:
        Schedule(matmul).vectorize("j")
    assert str(raised.value) == (
        "loop 'j' is not innermost: 'k' is inside of it\nhint: reorder it inside, as in reorder(\"k\", \"j\")"
    )
    assert "mark: vector" in str(Schedule(matmul).reorder("i", "k", "j").unroll_and_jam("i", factor=4).vectorize("j"))


def test_a_loop_inside_of_an_unrolled_one_is_inside_too():
    rows = Schedule(matmul).tile("i", sizes=(4,)).reorder("j", "i", "k").unroll("i")
    with pytest.raises(InputError, match="loop 'j' is not innermost: 'k' is inside of it"):
        rows.vectorize("j")


def test_gemm_by_hand_is_the_automatic_one():
    by_hand = (
        Schedule(matmul)
        .tile("i", "j", "k", sizes=(64, 240, 256))
        .reorder("i_o", "k_o", "j_o")
        .tile("i", "j", sizes=(8, 24), names=("i_r", "j_r"))
        .reorder("j_r", "i_r", "k", "i", "j")
        .unroll("i")
        .vectorize("j")
        .parallel("i_o")
    )
    machine = Machine(vector_bytes=64, vector_registers=32, l1=32 << 10, l2=1 << 20, l3=32 << 20, cores=2)
    automatic = optimize(matmul, options=Options(machine=machine))
    assert optimize(matmul, schedule=by_hand).source.text == automatic.source.text
