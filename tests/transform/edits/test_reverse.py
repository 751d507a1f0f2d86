import pytest
from by_hand import stencil
from edited import assert_holds, on_random_nests
from nests import lu, reversed_sweep, strided

from polysched import IllegalSchedule, Schedule, f64, nest, size

REVERSED = """\
domain: { S[i, j] : 0 <= i < N and 0 <= j < N }
  context: { : N >= 0 }
    band:
      i: [S[i, j] -> i]
      band:
        j: [S[i, j] -> -j] coincident"""


@nest
def diagonal(a: f64["n + 1", "n + 1"], n: size):
    for i in range(n):
        for j in range(n):
            a[i + 1, j + 1] = a[i, j] + 1.0


def test_a_loop_runs_backwards():
    assert str(Schedule(stencil).reverse("j")) == REVERSED


def test_a_loop_that_carries_a_dependence_cannot():
    with pytest.raises(IllegalSchedule) as raised:
        Schedule(stencil).reverse("i")
    lines = str(raised.value).splitlines()
    assert lines[0] == "reverse(i): flow dependence on a: S[i=0, j=1] must run before S[i=1, j=0] (N = 2)"
    assert lines[2].strip() == "a[i + 1, j + 1] = a[i, j + 2] + a[i, j + 1] + a[i, j]"
    assert len(lines) == 4


def test_it_may_inside_of_a_loop_that_carries_the_dependence():
    with pytest.raises(IllegalSchedule, match="\nhint: interchange i and j first"):
        Schedule(diagonal).reverse("i")
    assert_holds(diagonal.function, lambda schedule: schedule.interchange("i", "j").reverse("i"))


def test_twice_is_not_at_all():
    once = Schedule(stencil).reverse("j")
    assert once.reverse("j").tree == Schedule(stencil).tree


@pytest.mark.parametrize(("fn", "loop"), [(strided(), "i"), (lu(), "j_2"), (lu(), "k_2")])
def test_loops_of_other_shapes(fn, loop):
    try:
        assert_holds(fn, lambda schedule: schedule.reverse(loop))
    except IllegalSchedule:
        assert loop == "k_2"


def test_a_loop_that_counts_down_cannot_count_up_if_it_carries_a_dependence():
    with pytest.raises(IllegalSchedule, match=r"reverse\(i\): .* S\[i=1\] must run before S\[i=0\] \(n = 3\)"):
        Schedule(reversed_sweep()).reverse("i")


def test_random_nests_stay_as_they_are():
    assert on_random_nests(range(12), lambda schedule, loop: schedule.reverse(loop)) > 5
