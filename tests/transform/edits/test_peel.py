import pytest
from by_hand import blur, stencil
from edited import assert_holds, on_random_nests
from nests import jacobi_1d, lu, reversed_sweep, strided, triangular

from polysched import InputError, Schedule

PEELED = """\
domain: { S0[i] : 0 < i <= -2 + n; S1[i] : 2 <= i <= -3 + n }
  context: { : n >= 0 }
    sequence
      filter: S0[i = 1]
        band:
          i_3: [S0[i] -> 1] coincident
      filter: S0[i] : 2 <= i <= -3 + n
        band:
          i: [S0[i] -> i] coincident
      filter: S0[i = -2 + n] : n >= 4
        band:
          i_4: [S0[i] -> -2 + n] coincident
      filter: S1
        band:
          i_2: [S1[i] -> i] coincident"""


def test_the_first_and_last_iterations_stand_before_and_after_the_rest():
    assert str(Schedule(blur).peel("i", first=1, last=1)) == PEELED


def test_what_is_left_can_be_fused_without_a_guard():
    schedule = Schedule(blur).peel("i", first=1, last=1).fuse("i", "i_2", shift=2)
    assert sorted(schedule.loops) == ["i", "i_3", "i_4"]


def test_iterations_are_those_that_run_whatever_the_stride():
    schedule = Schedule(strided()).peel("i", first=2)
    assert "filter: S[i] : i <= 2\n" in str(schedule) and "filter: S[i] : i >= 4\n" in str(schedule)


@pytest.mark.parametrize(
    ("fn", "loop"),
    [(stencil.function, "j"), (jacobi_1d(), "t"), (lu(), "j"), (triangular(), "j"), (reversed_sweep(), "i")],
)
def test_loops_of_all_shapes(fn, loop):
    assert_holds(fn, lambda schedule: schedule.peel(loop, first=1))
    assert_holds(fn, lambda schedule: schedule.peel(loop, first=1, last=2))


def test_the_first_iteration_of_each_arrival():
    """Of the loop over j the first iteration is that of S0 or S1, whichever is there."""
    assert "filter: S1[i, j = 0]\n" in str(Schedule(lu()).peel("j", first=1))


def test_both_parts_of_a_marked_loop_are_marked():
    schedule = Schedule(stencil).parallel("j").peel("j", last=1)
    assert str(schedule).count("mark: parallel") == 2


@pytest.mark.parametrize(
    ("first", "last", "message"),
    [
        (0, 0, "peel needs from 1 to 64 iterations, first or last, not first=0, last=0"),
        (-1, 2, "peel needs from 1 to 64 iterations, first or last, not first=-1, last=2"),
        (4, 1, "loop '{}' never has more than 5 iterations: nothing would be left of it"),
        (2, 1, "loop '{}' never has more than 3 iterations: nothing would be left of it"),
    ],
)
def test_what_cannot_be_peeled(first, last, message):
    schedule = Schedule(blur).assume("n <= 5")
    with pytest.raises(InputError) as raised:
        schedule.peel("i", first=first, last=last)
    assert str(raised.value) == message.format("i")


def test_random_nests_stay_as_they_are():
    assert on_random_nests(range(4), lambda schedule, loop: schedule.peel(loop, first=1, last=2)) > 5
