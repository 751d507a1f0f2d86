import pytest
from by_hand import blur, stencil
from nests import jacobi_1d

from polysched import InputError, Schedule, optimize


def test_a_skewed_stencil_is_what_the_ilp_finds():
    """Acceptance B, by hand."""
    by_hand = Schedule(stencil).skew("j", by="i")
    assert str(by_hand) == """\
domain: { S[i, j] : 0 <= i < N and 0 <= j < N }
  context: { : N >= 0 }
    band: permutable
      i: [S[i, j] -> i]
      j: [S[i, j] -> i + j]"""
    assert by_hand.tree == optimize(stencil).scheduled.tree


def test_by_a_factor():
    assert "[S[i, j] -> 2i + j]" in str(Schedule(stencil).skew("j", "i", 2))
    assert Schedule(stencil).skew("j", "i", 2).skew("j", "i", -2).tree == Schedule(stencil).tree


@pytest.mark.parametrize(
    ("name", "by", "factor", "message"),
    [
        ("i", "j", 1, 'loop \'j\' is inside of loop \'i\'\nhint: skew("j", by="i")'),
        ("j", "i", 0, "skew by 0 times a loop changes nothing\nhint: give another factor"),
        ("j", "j", 1, "a loop is not around itself: 'j'\nhint: skew it by a loop around it"),
    ],
)
def test_what_cannot_be_skewed(name, by, factor, message):
    with pytest.raises(InputError) as raised:
        Schedule(stencil).skew(name, by, factor)
    assert str(raised.value) == message


def test_loops_that_follow_each_other_cannot_be_skewed():
    with pytest.raises(InputError, match="loop 'i' is not around loop 'i_2'"):
        Schedule(blur).skew("i_2", "i")


def test_a_sequence_may_be_between_them():
    skewed = Schedule(jacobi_1d()).skew("i", by="t").skew("i_2", by="t")
    assert str(skewed).endswith("""\
      sequence
        filter: S0
          band:
            i: [S0[t, i] -> t + i] coincident
        filter: S1
          band:
            i_2: [S1[t, i] -> t + i] coincident""")
    assert optimize(jacobi_1d(), schedule=skewed.parallel("i_2").skew("i_2", by="t", factor=2)).verify()


def test_factors_that_no_loop_can_count_with():
    once = Schedule(stencil).skew("j", by="i", factor=2**31 - 1)
    with pytest.raises(InputError) as raised:
        once.skew("j", by="i", factor=2)
    message = "skew(j, by=i, factor=2): a loop would have the factor 2147483649, which is too large to count with"
    assert str(raised.value) == message
