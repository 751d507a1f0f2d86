import pytest
from by_hand import matmul, stencil
from edited import assert_holds, on_random_nests
from nests import lu, reversed_sweep, strided

from polysched import IllegalSchedule, InputError, Schedule, optimize

IN_HALVES = """\
domain: { S[i, j] : 0 <= i < N and 0 <= j < N }
  context: { : N >= 0 }
    sequence
      filter: S[i, j] : 2i <= -2 + N
        band:
          i: [S[i, j] -> i]
          band:
            j: [S[i, j] -> j] coincident
      filter: S[i, j] : 2i >= -1 + N
        band:
          i_2: [S[i, j] -> i]
          band:
            j_2: [S[i, j] -> j] coincident"""


def test_the_iterations_before_a_value_and_the_others():
    assert str(Schedule(stencil).split_set("i", "N // 2")) == IN_HALVES


def test_a_condition_on_inner_iterators_must_leave_the_order_legal():
    with pytest.raises(IllegalSchedule) as raised:
        Schedule(stencil).split_set("i", "j < i")
    lines = str(raised.value).splitlines()
    assert lines[0] == "split_set(i, j < i): flow dependence on a: S[i=0, j=1] must run before S[i=1, j=0] (N = 2)"
    assert lines[-1] == "hint: split it at 'not (j < i)', the others first"
    assert_holds(stencil.function, lambda schedule: schedule.split_set("i", "not (j < i)"))


@pytest.mark.parametrize(
    ("fn", "loop", "at"),
    [
        (matmul.function, "k", "k % 2 == 0 or k > 5"),
        (matmul.function, "i", "2 <= i < min(n, 7)"),
        (strided(), "i", "n // 2"),
        (reversed_sweep(), "i", "i > n // 2"),
        (lu(), "j_2", "2 * j < n + i"),
    ],
)
def test_conditions_and_loops_of_all_shapes(fn, loop, at):
    try:
        assert_holds(fn, lambda schedule: schedule.split_set(loop, at))
    except IllegalSchedule:
        assert loop == "k"


def test_loops_of_the_tree_are_names_too():
    tiled = Schedule(matmul).tile("i", "j", sizes=(4, 4))
    full = tiled.split_set("i_o", "4 * i_o + 3 < n")
    assert "filter: S[i, j, k] : 4*floor((i)/4) <= -4 + n\n" in str(full)
    assert full.loops[:5] == ("i_o", "j_o", "i", "j", "k")


@pytest.mark.parametrize(
    ("at", "message"),
    [
        ("j < i * i", "'j < i * i' is not affine in the loops: i * i\n"
         "hint: use sums, multiples by constants, and // and % by constants"),
        ("j < x", "formula:1:5: 'x' is not known here\n  j < x\n      ^\nhint: the names are: i, j, N"),
        ("j <", "formula:1:1: this is not Python: invalid syntax\n  j <\n  ^"),
        ("j < 0", "'j < 0' holds for none of the iterations of loop 'i'"),
        ("j >= 0", "'j >= 0' holds for all of the iterations of loop 'i'"),
        ("0.5 * i", "formula:1:1: it must be an integer, and '0.5 * i' is an f64\n  0.5 * i\n  ^\n"
         "hint: divide with //, or truncate with int(x)"),
    ],
)  # fmt: skip
def test_what_is_no_condition(at, message):
    with pytest.raises(InputError) as raised:
        Schedule(stencil).split_set("i", at)
    assert str(raised.value) == message


def test_random_nests_stay_as_they_are():
    assert on_random_nests(range(4), lambda schedule, loop: schedule.split_set(loop, "n // 2")) > 5


def test_versions_for_some_sizes_and_for_the_others():
    special = Schedule(matmul).specialize("n % 4 == 0")
    assert special.loops == ("i", "j", "k", "i_2", "j_2", "k_2")
    assert_holds(matmul.function, lambda schedule: schedule.specialize("n % 4 == 0").tile("k", sizes=(4,)).unroll("k"))
    text = optimize(matmul, schedule=special.tile("k", sizes=(4,)).unroll("k")).source.text
    assert "if ((n & 3) == 0)" in text or "== 0" in text
    assert_holds(lu(), lambda schedule: schedule.specialize("n >= 3"))


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("n >= 0", "'n >= 0' holds for all sizes at which the nest runs"),
        ("n < 0", "'n < 0' holds for no sizes at which the nest runs"),
        ("n * n > 4", "'n * n > 4' is no affine condition: n * n"),
        ("m > 4", "'m' is not known here"),
    ],
)
def test_conditions_that_tell_no_sizes_apart(condition, message):
    with pytest.raises(InputError) as raised:
        Schedule(matmul).specialize(condition)
    assert message in str(raised.value)
