import pytest
from by_hand import matmul, stencil
from edited import assert_holds, assert_same_results
from nests import seidel_2d

from polysched import IllegalSchedule, InputError, Schedule, f64, nest, size


@nest
def askew(a: f64["n + 1", "n + 1", "n + 2"], n: size):
    for i in range(n):
        for j in range(n):
            for k in range(n):
                a[i + 1, j + 1, k] = a[i, j, k + 2]


FRONT = """\
domain: { S[i, j] : 0 <= i < N and 0 <= j < N }
  context: { : N >= 0 }
    band: permutable
      front: [S[i, j] -> floor((i)/4) + floor((i + j)/4)]
      j_o: [S[i, j] -> floor((i + j)/4)]
      band: permutable
        i: [S[i, j] -> i]
        j: [S[i, j] -> i + j]"""


def tiled() -> Schedule:
    return Schedule(stencil).skew("j", by="i").tile("i", "j", sizes=(4, 4))


def test_blocks_of_a_front_are_parallel():
    schedule = tiled().wavefront("i_o", "j_o", name="front")
    assert str(schedule) == FRONT
    assert_same_results(stencil.function, schedule.parallel("j_o"))
    with pytest.raises(IllegalSchedule):
        tiled().parallel("j_o")


def test_loops_that_are_not_permutable_have_no_front():
    with pytest.raises(IllegalSchedule) as raised:
        Schedule(stencil).wavefront("i", "j")
    lines = str(raised.value).splitlines()
    assert lines[0] == "wavefront(i, j): flow dependence on a: S[i=0, j=1] must run before S[i=1, j=0] (N = 2)"
    assert lines[-1] == "hint: skew(\"j\", by=\"i\") first"


def test_a_front_leaves_nothing_else_to_order():
    """The distance (1, 1, -2) is put in order by a loop inside, which then is not parallel."""
    with pytest.raises(IllegalSchedule) as raised:
        Schedule(askew).wavefront("i", "j", "k")
    assert str(raised.value).splitlines()[0] == (
        "wavefront(i, j, k): flow dependence on a: S[i=0, j=0, k=2] must run before S[i=1, j=1, k=0], "
        "but iterations of loop 'j' would run at the same time (n = 3)"
    )


def test_the_front_of_three_loops():
    by_hand = [("i", "t"), ("j", "t"), ("j", "i")]

    def edit(schedule: Schedule) -> Schedule:
        for inner, outer in by_hand:
            schedule = schedule.skew(inner, by=outer)
        return schedule.wavefront("t", "i", "j")

    schedule = assert_holds(seidel_2d(), edit)
    assert "t: [S[t, i, j] -> 4t + 2i + j]" in str(schedule)
    for loop in ("i", "j"):
        assert_same_results(seidel_2d(), schedule.parallel(loop))
    with pytest.raises(IllegalSchedule) as raised:
        Schedule(seidel_2d()).wavefront("t", "i", "j")
    assert raised.value.hint == 'skew("i", by="t").skew("j", by="t").skew("j", by="i") first'


def test_the_order_in_which_loops_are_named_does_not_matter():
    assert tiled().wavefront("j_o", "i_o").tree == tiled().wavefront("i_o", "j_o").tree


def test_one_loop_is_no_front():
    with pytest.raises(InputError) as raised:
        Schedule(matmul).wavefront("i")
    assert str(raised.value) == (
        "a wavefront goes through two loops or more\nhint: name one around it or inside, too"
    )
