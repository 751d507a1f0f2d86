import pytest
from by_hand import blur
from edited import assert_holds, assert_same_results, on_random_nests
from nests import jacobi_1d, strided

from polysched import IllegalSchedule, InputError, Schedule

FUSED = """\
domain: { S0[i] : 0 < i <= -2 + n; S1[i] : 2 <= i <= -3 + n }
  context: { : n >= 0 }
    band:
      i: [S0[i] -> i; S1[i] -> 4 + i]
      sequence
        filter: S0
        filter: S1"""


def fused() -> Schedule:
    return Schedule(blur).fuse("i", "i_2")  # which shifts S1 by 1


def test_a_statement_runs_later_in_a_loop():
    assert str(fused().shift("S1", "i", 3)) == FUSED
    assert_same_results(blur.function, fused().shift("S1", "i", 3))


def test_what_it_needs_cannot_run_after_it():
    with pytest.raises(IllegalSchedule) as raised:
        fused().shift("S?", "i", -1).shift("S1", "i", -1)
    lines = str(raised.value).splitlines()
    assert lines[0] == "shift(S1, i, -1): flow dependence on b: S0[i=3] must run before S1[i=2] (n = 5)"
    assert [line.strip() for line in lines[2::3]] == ["b[i] = a[i - 1] + a[i] + a[i + 1]", "c[i] = b[i - 1] + b[i + 1]"]
    assert len(lines) == 7  # no smaller one is legal


def test_a_smaller_shift_is_the_hint():
    with pytest.raises(IllegalSchedule, match="\nhint: shift by -2"):
        fused().shift("S1", "i", 2).shift("S1", "i", -4)


def test_along_an_outer_loop_and_a_loop_with_a_stride():
    assert_holds(jacobi_1d(), lambda schedule: schedule.shift("*", "t", 5))
    assert_holds(strided(), lambda schedule: schedule.shift("S", "i", 1))


@pytest.mark.parametrize(
    ("statements", "by", "message"),
    [
        ("T*", 1, "no statement in loop 'i' fits 'T*'\nhint: there are: S0, S1"),
        ("S1", 0, "a shift by 0 changes nothing\nhint: give another distance"),
    ],
)
def test_what_is_no_shift(statements, by, message):
    with pytest.raises(InputError) as raised:
        fused().shift(statements, "i", by)
    assert str(raised.value) == message


def test_random_nests_stay_as_they_are():
    assert on_random_nests(range(6), lambda schedule, loop: schedule.shift("S1", loop, 1)) > 5
