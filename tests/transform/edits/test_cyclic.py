"""polysched/transform/edits/order/tile.py: a loop dealt to threads, some neighbouring iterations at a time."""

from __future__ import annotations

import pytest
from by_hand import matmul, stencil, vadd
from edited import assert_holds, on_random_nests

from polysched import IllegalSchedule, InputError, Schedule, optimize
from polysched.codegen.lower import lower
from polysched.ir.text import show


def test_threads_take_turns_some_iterations_at_a_time():
    dealt = Schedule(vadd).cyclic("i", 16, vector=4)
    assert str(dealt) == """\
domain: { S[i] : 0 <= i < n }
  context: { : n >= 0 }
    band: permutable
      i_t: [S[i] -> floor((i)/4) - 16*floor((i)/64)] coincident
      i_g: [S[i] -> floor((i)/64)] coincident
      band:
        i: [S[i] -> i] coincident"""
    optimize(vadd, schedule=dealt.parallel("i_t").unroll("i")).verify(n=130)


def test_one_iteration_at_a_time_needs_no_loop_over_vectors():
    dealt = Schedule(vadd).cyclic("i", 16, names=("thread",))
    assert dealt.loops == ("thread", "i")
    assert show(lower(dealt.tree, dealt.draft.scop)).strip().endswith("""\
    for c0 in 0..min(15, n - 1) + 1:
        for c1 in 0..truncdiv(n - c0 - 1, 16) + 1:
            C[c0 + 16 * c1] = A[c0 + 16 * c1] + B[c0 + 16 * c1]""")


def test_threads_of_a_gpu_with_neighbours_of_each():
    s = Schedule(vadd).tile("i", sizes=(256,), names=("block",)).cyclic("i", 32, 4, names=("thread", "turn"))
    s = s.bind("block", "blockIdx.x").bind("thread", "threadIdx.x").unroll("turn").unroll("i")
    optimize(vadd, "cuda", schedule=s).verify(n=300)


def test_a_loop_that_carries_a_dependence_is_refused():
    with pytest.raises(IllegalSchedule, match=r"^cyclic\(i, 4, vector=2\): flow dependence on a: S\[i=7, j=1\] must"):
        Schedule(stencil).cyclic("i", 4, 2)
    Schedule(stencil).cyclic("j", 4, 2)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda s: s.cyclic("i", 0), "a loop is dealt to 1 thread or more, not to 0, by 1 iterations"),
        (lambda s: s.cyclic("i", 4, -1), "a loop is dealt to 1 thread or more, not to 4, by -1 iterations"),
        (lambda s: s.cyclic("i", 4, 2, names=("t",)), "cyclic makes 2 loops more, and they cannot be called ('t',)"),
        (lambda s: s.cyclic("i", 4, names=("j",)), "the name 'j' is taken\nhint: the loops are: i, j, k"),
        (lambda s: s.parallel("i").cyclic("i", 4), "loop 'i' is marked parallel already\nhint: edit loops before they"),
    ],
)  # fmt: skip
def test_what_is_no_deal(edit, message):
    with pytest.raises(InputError) as raised:
        edit(Schedule(matmul))
    assert str(raised.value).startswith(message)


def test_every_loop_of_a_product():
    for loop in "ijk":
        if loop != "k":
            assert_holds(matmul.function, lambda s, loop=loop: s.cyclic(loop, 2, 2))


def test_random_nests():
    assert on_random_nests(range(12), lambda s, loop: s.cyclic(loop, 2)) > 10
    assert on_random_nests(range(12), lambda s, loop: s.cyclic(loop, 2, 2)) > 10
