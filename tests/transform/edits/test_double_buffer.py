import pytest
from by_hand import matmul, stencil
from edited import assert_same_results

import polysched as ps
from polysched import IllegalSchedule, InputError, Schedule
from polysched.ir.nodes import Const

TILED = Schedule(matmul).tile("i", "j", "k", sizes=(4, 8, 2))


def test_the_next_block_is_copied_ahead():
    ahead = TILED.cache_read("A", at="k_o").double_buffer("A_c")
    assert "\n".join(str(ahead).splitlines()[5:]) == """\
      mark: storage:A_c
        sequence
          filter: load_A[i_o, j_o, k_o = 0, A0, A1]
            band: permutable
              A0: [load_A[i_o, j_o, k_o, A0, A1] -> A0] coincident
              A1: [load_A[i_o, j_o, k_o, A0, A1] -> A1] coincident
          filter: S; load_A[i_o, j_o, k_o, A0, A1] : k_o > 0
            band:
              k_o: [S[i, j, k] -> floor((k)/2); load_A[i_o, j_o, k_o, A0, A1] -> -1 + k_o]
              sequence
                filter: load_A
                  band: permutable
                    A0_2: [load_A[i_o, j_o, k_o, A0, A1] -> A0] coincident
                    A1_2: [load_A[i_o, j_o, k_o, A0, A1] -> A1] coincident
                filter: S
                  band: permutable
                    i: [S[i, j, k] -> i] coincident
                    j: [S[i, j, k] -> j] coincident
                    k: [S[i, j, k] -> k]"""
    assert ahead.draft.scop.arrays[-1].shape == (Const(2), Const(4), Const(2))
    assert_same_results(matmul.function, ahead)


def test_two_arrays_of_one_loop_below_a_parallel_one():
    cached = TILED.cache_read("A", at="k_o").cache_read("B", at="k_o").parallel("i_o")
    both = cached.double_buffer("A_c").double_buffer("B_c")
    ps.optimize(matmul, schedule=both).verify()


def test_what_the_iteration_before_writes_cannot_be_copied_ahead():
    with pytest.raises(IllegalSchedule) as raised:
        Schedule(stencil).cache_read("a", at="i").double_buffer("a_c")
    assert str(raised.value).splitlines()[0] == (
        "double_buffer(a_c): load_a[i=1, a0=1, a1=1] would get from a: a[1, 1] as it was before the nest, not what "
        "S[i=0, j=0] writes (N = 2)"
    )


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (
            lambda s: s.double_buffer("A"),
            "'A' is a parameter: where it lives, and its shape, is up to the caller\n"
            "hint: cache_read('A', at=loop) makes an array of the loop's",
        ),
        (
            lambda s: s.cache_write("C", at="j_o").double_buffer("C_c"),
            "'C_c' is not filled before it is used: S writes and reads it\nhint: cache what it reads by cache_read",
        ),
        (
            lambda s: s.cache_read("A", at=None).double_buffer("A_c"),
            "'A_c' belongs to no loop, or to several\nhint: cache it at one that is not distributed",
        ),
    ],
)
def test_what_cannot_be_buffered(edit, message):
    with pytest.raises(InputError) as raised:
        edit(TILED)
    assert str(raised.value) == message
