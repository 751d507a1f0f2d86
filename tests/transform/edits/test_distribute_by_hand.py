import random

import nests
import pytest
from by_hand import matmul

from polysched import IllegalSchedule, InputError, Schedule, f64, nest, optimize, size
from tests.edits import check_results, check_witness


@nest
def gemm(C: f64["n", "n"], A: f64["n", "n"], B: f64["n", "n"], n: size):
    for i in range(n):
        for j in range(n):
            C[i, j] = 0.0
            for k in range(n):
                C[i, j] += A[i, k] * B[k, j]


@nest
def cycle(c: f64["n"], b: f64["n"], a: f64["n"], n: size):
    for i in range(1, n):
        a[i] = b[i - 1]
        b[i] = a[i] + 1.0
        c[i] = a[i] + b[i]


@nest
def turned(b: f64["n"], a: f64["n + 1"], x: f64["n"], n: size):
    for i in range(n):
        b[i] = a[i]
        a[i + 1] = x[i]


@nest
def doubled(a: f64["n"], b: f64["n"], n: size):
    for i in range(n):
        a[i] = a[i] * 2.0
        b[i] = b[i] * 2.0
    for i in range(n):
        a[i] += b[i]


def loop_names(schedule: Schedule) -> list[str]:
    lines = str(schedule).splitlines()
    return [line.split(":")[0].strip() for line in lines if " -> " in line and "domain" not in line]


def test_other_loops_keep_their_names():
    assert loop_names(Schedule(doubled)) == ["i", "i_2"]
    assert loop_names(Schedule(doubled).distribute("i")) == ["i", "i_3", "i_2"]


def test_an_imperfect_nest_becomes_two_perfect_ones():
    assert str(Schedule(gemm)) == """\
domain: { S0[i, j] : 0 <= i < n and 0 <= j < n; S1[i, j, k] : 0 <= i < n and 0 <= j < n and 0 <= k < n }
  context: { : n >= 0 }
    band: permutable
      i: [S0[i, j] -> i; S1[i, j, k] -> i] coincident
      j: [S0[i, j] -> j; S1[i, j, k] -> j] coincident
      sequence
        filter: S0
        filter: S1
          band:
            k: [S1[i, j, k] -> k]"""
    assert str(Schedule(gemm).distribute("i")) == """\
domain: { S0[i, j] : 0 <= i < n and 0 <= j < n; S1[i, j, k] : 0 <= i < n and 0 <= j < n and 0 <= k < n }
  context: { : n >= 0 }
    sequence
      filter: S0
        band: permutable
          i: [S0[i, j] -> i] coincident
          j: [S0[i, j] -> j] coincident
      filter: S1
        band: permutable
          i_2: [S1[i, j, k] -> i] coincident
          j_2: [S1[i, j, k] -> j] coincident
          k: [S1[i, j, k] -> k]"""


def test_an_inner_loop_alone_and_then_the_one_around():
    inner = Schedule(gemm).distribute("j")
    assert inner.loops == ("i", "j", "j_2", "k")
    assert inner.distribute("i").tree == Schedule(gemm).distribute("i").tree
    optimize(gemm, schedule=inner.vectorize("j")).verify()


def test_a_cycle_of_dependences_is_refused_with_a_pair_of_it():
    with pytest.raises(IllegalSchedule) as raised:
        Schedule(cycle).distribute("i", before="S1")
    first, *_, hint = str(raised.value).splitlines()
    assert first == "distribute(i, before=S1): flow dependence on b: S1[i=1] must run before S0[i=2] (n = 3)"
    assert hint == "hint: cut it before S2"


def test_it_is_cut_where_it_can_be():
    cut = Schedule(cycle).distribute("i")
    assert cut.tree == Schedule(cycle).distribute("i", before="S2").tree
    assert cut.loops == ("i", "i_2")
    with pytest.raises(IllegalSchedule) as raised:
        cut.distribute("i")
    message = "distribute(i): flow dependence on b: S1[i=1] must run before S0[i=2] (n = 3)"
    assert str(raised.value).splitlines()[0] == message


def test_parts_change_places_where_dependences_ask_for_it():
    """What the second statement writes, the first one reads in the next iteration."""
    with pytest.raises(IllegalSchedule) as raised:
        Schedule(turned).distribute("i", before="S1")
    first, *_, hint = str(raised.value).splitlines()
    assert first == "distribute(i, before=S1): flow dependence on a: S1[i=0] must run before S0[i=1] (n = 2)"
    assert hint == "hint: do not say where: its parts run in another order"
    assert str(Schedule(turned).distribute("i")).partition("sequence")[2] == """
      filter: S1
        band:
          i: [S1[i] -> i] coincident
      filter: S0
        band:
          i_2: [S0[i] -> i] coincident"""


def test_fusion_undoes_it():
    assert Schedule(gemm).distribute("i").fuse("i", "i_2").fuse("j", "j_2").tree == Schedule(gemm).tree


@pytest.mark.parametrize(
    ("nest", "name", "before", "message"),
    [
        (matmul, "i", "", "loop 'i' has nothing to distribute: it runs S alone"),
        (cycle, "i", "S7", "loop 'i' does not run 'S7'\nhint: it can be cut before: S1, S2"),
        (cycle, "i", "S0", "loop 'i' runs nothing before 'S0'\nhint: it can be cut before: S1, S2"),
        (gemm, "x", "", "there is no loop 'x'\nhint: the loops are: i, j, k"),
    ],
)
def test_what_cannot_be_distributed(nest, name, before, message):
    with pytest.raises(InputError) as raised:
        Schedule(nest).distribute(name, before)
    assert str(raised.value) == message


def test_loops_are_distributed_before_they_are_marked():
    with pytest.raises(InputError, match="a loop inside of 'i' is marked parallel\nhint: edit loops before they are"):
        Schedule(gemm).parallel("j").distribute("i")


@pytest.mark.parametrize("seed", range(30))
def test_random_loops_are_distributed_where_that_is_legal(seed):
    rng = random.Random(seed)
    fn = nests.random_nest(rng, statements=4, depth=3)
    schedule = Schedule(fn)
    for name in schedule.loops:
        for before in ("", *(s.name for s in schedule.draft.scop.statements)):
            try:
                check_results(fn, schedule.distribute(name, before), rng)
            except IllegalSchedule as error:
                check_witness(schedule, error)
            except InputError:
                continue
