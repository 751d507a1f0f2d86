import random

import nests
import pytest
from by_hand import blur, matmul

from polysched import IllegalSchedule, InputError, Options, Schedule, f64, nest, optimize, size
from tests.edits import check_results, check_witness


@nest
def mirror(c: f64["n"], b: f64["n"], a: f64["n"], n: size):
    for i in range(n):
        b[i] = a[i]
    for i in range(n):
        c[i] = b[n - 1 - i]


@nest
def rows(c: f64["n", "n"], b: f64["n", "n"], a: f64["n", "n"], n: size):
    for i in range(1, n - 1):
        for j in range(n):
            b[i, j] = a[i - 1, j] + a[i + 1, j]
    for i in range(1, n - 1):
        for j in range(1, n - 1):
            c[i, j] = b[i, j - 1] + b[i, j + 1]


@nest
def three(d: f64["n"], c: f64["n"], b: f64["n"], a: f64["n"], n: size):
    for i in range(n):
        b[i] = a[i]
    for i in range(n):
        d[i] = d[i] + b[n - 1 - i]
    for i in range(n):
        c[i] = b[i]


@nest
def blocked(d: f64["n"], c: f64["n"], b: f64["n"], a: f64["n"], n: size):
    for i in range(n):
        b[i] = a[i]
    for i in range(n):
        d[i] = b[n - 1 - i]
    for i in range(n):
        c[i] = d[i] + b[i]


@nest
def downwards(c: f64["n"], b: f64["n"], a: f64["n"], n: size):
    for i in range(n - 1, -1, -1):
        b[i] = a[i]
    for i in range(n - 2, -1, -1):
        c[i] = b[i] - b[i + 1]


@nest
def corner(b: f64["n", "n"], r: f64["n"], a: f64["n", "n"], n: size):
    for i in range(n):
        for j in range(i + 1):
            b[i, j] = a[i, j]
    for i in range(n):
        for j in range(i):
            r[i] += b[i - 1, j]


def test_the_later_loop_is_shifted_by_what_its_reads_ask_for():
    before, fused = Schedule(blur), Schedule(blur).fuse("i", "i_2")
    assert str(before) == """\
domain: { S0[i] : 0 < i <= -2 + n; S1[i] : 2 <= i <= -3 + n }
  context: { : n >= 0 }
    sequence
      filter: S0
        band:
          i: [S0[i] -> i] coincident
      filter: S1
        band:
          i_2: [S1[i] -> i] coincident"""
    assert str(fused) == """\
domain: { S0[i] : 0 < i <= -2 + n; S1[i] : 2 <= i <= -3 + n }
  context: { : n >= 0 }
    band:
      i: [S0[i] -> i; S1[i] -> 1 + i]
      sequence
        filter: S0
        filter: S1"""
    optimize(blur, schedule=fused, options=Options(vector=False)).verify()


def test_it_may_be_asked_to_come_later_but_not_sooner():
    assert "S1[i] -> 3 + i" in str(Schedule(blur).fuse("i", "i_2", shift=3))
    with pytest.raises(IllegalSchedule) as raised:
        Schedule(blur).fuse("i", "i_2", shift=0)
    first, *_, hint = str(raised.value).splitlines()
    assert first == "fuse(i, i_2, shift=0): flow dependence on b: S0[i=3] must run before S1[i=2] (n = 5)"
    assert hint == "hint: shift by 1"


def test_no_constant_is_enough_for_a_distance_that_grows_with_the_size():
    with pytest.raises(IllegalSchedule) as raised:
        Schedule(mirror).fuse("i", "i_2")
    message = "fuse(i, i_2), whatever the shift: flow dependence on b: S0[i=1] must run before S1[i=0] (n = 2)"
    assert str(raised.value).splitlines()[0] == message
    assert not raised.value.hint


def test_loops_inside_are_fused_in_turn():
    both = Schedule(rows).fuse("i", "i_2").fuse("j", "j_2")
    assert both.loops == ("i", "j")
    assert """\
    band: permutable
      i: [S0[i, j] -> i; S1[i, j] -> i] coincident
      j: [S0[i, j] -> j; S1[i, j] -> 1 + j]
      sequence
        filter: S0
        filter: S1""" in str(both)


def test_what_is_between_runs_after_if_it_needs_the_first_loop():
    fused = str(Schedule(three).fuse("i", "i_3"))
    assert fused.partition("sequence")[2] == """
      filter: S0, S2
        band:
          i: [S0[i] -> i; S2[i] -> i] coincident
          sequence
            filter: S0
            filter: S2
      filter: S1
        band:
          i_2: [S1[i] -> i] coincident"""


def test_what_is_between_must_not_be_needed_by_the_second_one_then():
    with pytest.raises(IllegalSchedule) as raised:
        Schedule(blocked).fuse("i", "i_3")
    message = "fuse(i, i_3): flow dependence on d: S1[i=0] must run before S2[i=0] (n = 1)"
    assert str(raised.value).splitlines()[0] == message


def test_a_pattern_names_several():
    assert Schedule(rows).fuse("i*").loops == ("i", "j", "j_2")
    whole = Schedule(downwards).fuse("i*")
    assert "[S0[i] -> -i; S1[i] -> -i]" in str(whole), "b[i + 1] comes first when both count down"


def test_triangular_loops():
    fused = Schedule(corner).fuse("i*").fuse("j*")
    assert fused.loops == ("i", "j")
    optimize(corner, schedule=fused).verify()


def test_loops_over_tiles():
    fused = Schedule(blur).tile("i", sizes=(4,)).tile("i_2", sizes=(4,)).fuse("i_o", "i_2_o")
    assert "i_o: [S0[i] -> floor((i)/4); S1[i] -> 1 + floor((i)/4)]" in str(fused)
    optimize(blur, schedule=fused, options=Options(vector=False)).verify()


@pytest.mark.parametrize(
    ("nest", "loops", "shift", "message"),
    [
        (blur, ("i",), None, "fuse needs two loops or more, not i"),
        (blur, (), None, "fuse needs two loops or more, not none"),
        (blur, ("i", "k"), None, "no loop fits 'k'\nhint: the loops are: i, i_2"),
        (matmul, ("i", "j"), None, "loop 'j' is inside of loop 'i'"),
        (three, ("i*",), 1, "a shift is for two loops\nhint: fuse two at a time"),
        (
            rows,
            ("j", "j_2"),
            None,
            "the loops 'j' and 'j_2' do not follow one another in a sequence\n"
            "hint: fuse the loops around them first: i, i_2",
        ),
    ],
)
def test_what_cannot_be_fused(nest, loops, shift, message):
    with pytest.raises(InputError) as raised:
        Schedule(nest).fuse(*loops, shift=shift)
    assert str(raised.value) == message


def test_marked_loops_stay():
    with pytest.raises(InputError, match="loop 'i_2' is marked parallel already\nhint: edit loops before"):
        Schedule(blur).parallel("i_2").fuse("i*")


@pytest.mark.parametrize("seed", range(30))
def test_random_loops_are_fused_by_the_least_shift_there_is(seed):
    rng = random.Random(seed)
    fn = nests.random_nest(rng, statements=4, depth=2)
    schedule = Schedule(fn)
    for one, other in [(a, b) for a in schedule.loops for b in schedule.loops if a < b]:
        try:
            fused = schedule.fuse(one, other)
        except InputError:
            continue
        except IllegalSchedule as error:
            check_witness(schedule, error)
            assert not is_legal(schedule, one, other, 20)
        else:
            check_results(fn, fused, rng)
            shifts = [k for k in range(12) if is_legal(schedule, one, other, k)]
            assert schedule.fuse(one, other, shift=shifts[0]).tree == fused.tree


def is_legal(schedule, one, other, shift):
    try:
        schedule.fuse(one, other, shift=shift)
    except IllegalSchedule:
        return False
    return True
