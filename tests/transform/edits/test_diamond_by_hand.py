import pytest
from by_hand import matmul
from edited import assert_same_results
from nests import jacobi_1d, lu, seidel_2d

from polysched import IllegalSchedule, InputError, Schedule, f64, nest, size


@nest
def heat(a: f64["T + 1", "n"], T: size, n: size):
    for t in range(T):
        for i in range(1, n - 1):
            a[t + 1, i] = a[t, i - 1] + a[t, i] + a[t, i + 1]


DIAMONDS = """\
domain: { S[t, i] : 0 <= t < T and 0 < i <= -2 + n }
  context: { : T >= 0 and n >= 0 }
    band: permutable
      t_o: [S[t, i] -> floor((t - i)/16)]
      i_o: [S[t, i] -> floor((t + i)/16)]
      band: permutable
        t: [S[t, i] -> t]
        i: [S[t, i] -> t + i]"""


def test_time_and_space_in_diamonds():
    schedule = Schedule(heat).skew("i", by="t").diamond("t", "i", size=16)
    assert str(schedule) == DIAMONDS


def test_the_loops_have_to_be_skewed():
    with pytest.raises(IllegalSchedule) as raised:
        Schedule(heat).diamond("t", "i", size=16)
    lines = str(raised.value).splitlines()
    assert lines[0] == (
        "diamond(t, i, size=16): flow dependence on a: S[t=0, i=16] must run before S[t=1, i=15] (T = 2, n = 18)"
    )
    assert lines[-1] == 'hint: skew("i", by="t") first'


def test_diamonds_of_a_front_are_parallel():
    schedule = Schedule(heat).skew("i", by="t").diamond("t", "i", 3, names=("up", "down"))
    fronts = schedule.wavefront("up", "down").parallel("down")
    assert fronts.loops == ("up", "down", "t", "i")
    assert_same_results(heat.function, fronts)


def test_a_steeper_side_and_a_constant_for_each_statement():
    """2t - i, as i is skewed by 2t, with S1, which runs later, shifted by 1."""
    start = Schedule(jacobi_1d(), "ilp")
    schedule = start.diamond(*start.loops, size=4)
    assert "t_o: [S0[t, i] -> floor((2t - i)/4); S1[t, i] -> floor((1 + 2t - i)/4)]" in str(schedule)
    assert_same_results(jacobi_1d(), schedule)


def test_no_diamonds_where_one_loop_carries_a_dependence_alone():
    with pytest.raises(IllegalSchedule, match=r"flow dependence on A: S\[t=0, i=4, j=1\] must run before"):
        Schedule(seidel_2d()).diamond("t", "i", size=4)


@pytest.mark.parametrize(
    ("fn", "args", "message"),
    [
        (matmul, ("i", "j", 0), "diamonds need a positive size, not 0"),
        (matmul, ("i", "k", 4), "other loops are between i, k\nhint: reorder them first"),
        (matmul, ("i", "j", 4, ("a",)), "diamonds have two loops, and they cannot be called ('a',)"),
        (lu(), ("i", "j", 4), "a sequence of S0, S1 and S2 is between the loops 'i' and 'j'"),
    ],
)
def test_what_cannot_be_in_diamonds(fn, args, message):
    with pytest.raises(InputError) as raised:
        Schedule(fn).diamond(*args)
    assert str(raised.value) == message
