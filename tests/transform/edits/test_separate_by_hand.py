"""polysched/transform/edits/order/distribute.py: statements apart in the tiles where nothing ties them."""

from __future__ import annotations

import random

import nests
import pytest
from by_hand import matmul, stencil

from benchmarks.polybench import KERNELS
from polysched import Edit, InputError, Options, PolyschedError, Schedule, f64, nest, optimize, size
from tests.edits import check_results

LU = KERNELS["lu"].nest


def lu_in_tiles() -> Schedule:
    return Schedule(LU, "ilp").tile("k", "i", "j", sizes=(4, 4, 4))


@nest
def twice(c: f64["n"], b: f64["n"], a: f64["n"], n: size):
    for i in range(n):
        b[i] = a[i] * 2.0
        c[i] = a[i] + 1.0


@nest
def chain(c: f64["n"], b: f64["n"], a: f64["n"], n: size):
    for i in range(1, n):
        b[i] = a[i] + c[i - 1]
        c[i] = b[i] + 1.0


def test_statements_that_nothing_ties_are_apart_in_all_tiles():
    assert str(Schedule(twice).tile("i", sizes=(8,)).separate("i_o")) == """\
domain: { S0[i] : 0 <= i < n; S1[i] : 0 <= i < n }
  context: { : n >= 0 }
    band:
      i_o: [S0[i] -> floor((i)/8); S1[i] -> floor((i)/8)] coincident
      sequence
        filter: S0
          band:
            i: [S0[i] -> i] coincident
        filter: S1
          band:
            i_2: [S1[i] -> i] coincident"""


def test_the_loops_of_one_statement_may_be_reordered_for_it_alone():
    apart = lu_in_tiles().separate("k_o", "S0", "S2")
    assert apart.loops == ("k_o", "i_o", "j_o", "k", "i", "j", "k_2", "i_2", "j_2", "k_3", "i_3", "j_3")
    reordered = apart.reorder("i_2", "j_2", "k_2").vectorize("j_3")
    optimize(LU, schedule=reordered).verify(n=13)


def test_a_statement_that_is_not_named_stays_with_the_others():
    assert lu_in_tiles().separate("k_o", "S0").loops == ("k_o", "i_o", "j_o", "k", "i", "j", "k_2", "i_2", "j_2")


def test_the_automatic_way_does_so_for_a_factorisation():
    edits = [
        Edit.of("tile", "k", "i", "j", sizes=(64, 64, 64)),
        Edit.of("separate", "k_o", "S0", "S2"),
    ]
    options = Options(wavefront=False, register_tiles=False, vector=False, parallel=False, tile_sizes=(64, 64, 64))
    by_hand = Schedule(LU, "ilp", options=options).apply(edits)
    assert optimize(LU, schedule=by_hand).source.text == optimize(LU, options=options).source.text


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda: Schedule(matmul).tile("i", sizes=(4,)).separate("i_o"),
         "loop 'i_o' runs S alone: what is to separate?"),
        (lambda: lu_in_tiles().separate("k_o", "T*"),
         "no statement in loop 'k_o' fits T*\nhint: there are: S0, S1, S2"),
        (lambda: Schedule(twice).separate("i"),
         "loop 'i' is not over tiles around the loops inside of them\nhint: tile(\"i\", sizes=(32,))"),
        (lambda: Schedule(chain).tile("i", sizes=(4,)).separate("i_o"),
         "in every tile of loop 'i_o' something ties S0, S1 to other statements"),
        (lambda: Schedule(stencil).separate("k"), "there is no loop 'k'\nhint: the loops are: i, j"),
    ],
)  # fmt: skip
def test_what_cannot_be_separated(edit, message):
    with pytest.raises(InputError) as raised:
        edit()
    assert str(raised.value) == message


def test_random_nests_in_tiles():
    separated = 0
    for seed in range(40):
        rng = random.Random(seed)
        fn = nests.random_nest(rng, statements=3, depth=2)
        for start in ("source", "ilp"):
            schedule = Schedule(fn, start)
            for loop in schedule.loops:
                try:
                    tiled = schedule.tile(loop, sizes=(3,))
                    done = tiled.separate(tiled.loops[schedule.loops.index(loop)])
                except PolyschedError:
                    continue
                separated += 1
                assert len(set(done.loops)) == len(done.loops)
                check_results(fn, done, rng)
    assert separated > 20
