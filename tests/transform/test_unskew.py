"""polysched/strategy/straight.py: simpler loops inside of loops that run serially."""

from __future__ import annotations

from dataclasses import replace

import nests
import pytest

from polysched.model.tree.nodes import Band, Domain, Tree, children, with_children
from polysched.model.tree.text import show_tree
from polysched.strategy.script import Script
from polysched.strategy.straight import in_order, straighten, unskew, upright
from polysched.transform.edits.base.loops import loop
from tests.transform.scheduled import band, in_source_order, random_scheduled, scheduled, script_of


def functions(loops: Band) -> list[str]:
    return [
        line.strip()[1:].removesuffix("]") for line in show_tree(loops).splitlines() if line.strip().startswith("[")
    ]


def test_what_an_outer_loop_adds_goes():
    time = band("S[t, i, j] -> t").members
    skewed = band("S[t, i, j] -> 2t + i", "S[t, i, j] -> j - 3t")
    assert functions(unskew(skewed, time)) == ["S[t, i, j] -> i", "S[t, i, j] -> j"]


def test_each_loop_is_simplified_by_all_outer_ones():
    outer = band("S[t, i, j] -> t", "S[t, i, j] -> i").members
    assert functions(unskew(band("S[t, i, j] -> 3t + i + j"), outer)) == ["S[t, i, j] -> j"]


def test_a_loop_that_outer_ones_determine_is_gone():
    """Inside of i + j, a loop over 2 (i + j) + 1 has one iteration."""
    outer = band("S[i, j] -> i + j").members
    assert functions(unskew(band("S[i, j] -> 2i + 2j + 1", "S[i, j] -> j"), outer)) == ["S[i, j] -> j"]
    assert functions(unskew(band("S[i, j] -> 7"), ())) == []


def test_a_loop_that_one_of_its_own_band_determines_is_gone():
    assert functions(unskew(band("S[i, j] -> i", "S[i, j] -> i + 4", "S[i, j] -> j"), ())) == [
        "S[i, j] -> i",
        "S[i, j] -> j",
    ]


def test_one_statement_counts_from_zero_and_several_keep_their_distance():
    assert functions(unskew(band("S[i] -> i + 5"), ())) == ["S[i] -> i"]
    both = band("S[i] -> i + 5; T[i] -> i + 6")
    assert functions(unskew(both, ())) == functions(both)


def test_several_statements_are_unskewed_together_or_not_at_all():
    time = band("S[t, i] -> t; T[t, i] -> t").members
    assert functions(unskew(band("S[t, i] -> 2t + i; T[t, i] -> 2t + i + 1"), time)) == [
        "S[t, i] -> i; T[t, i] -> 1 + i"
    ]
    mixed = band("S[t, i] -> t + i; T[t, i] -> i - t")
    assert functions(unskew(mixed, time)) == functions(mixed)


def test_loops_that_are_simple_stay():
    plain = band("S[t, i] -> i", "S[t, i] -> t", coincident=(0,))
    assert unskew(plain, ()) == plain


def test_loops_in_the_order_in_which_they_run():
    """A skewed sum: inside of a loop over c, and of one over 2c + r, the second counts r."""
    loops = in_order(band("S[c, r] -> c", "S[c, r] -> 2c + r"))
    assert functions(loops) == ["S[c, r] -> c", "S[c, r] -> r"] and not loops.permutable
    assert in_order(band("S[c, r] -> c")) == band("S[c, r] -> c")


ASKEW = [
    ("S[t, i] -> t", "S[t, i] -> 2t - i + 5"),
    ("S[t, i] -> t", "S[t, i] -> -3 - i - t"),
    ("S[t, i] -> 1 + i", "S[t, i] -> 2t + i"),
    ("S[t, i] -> t; T[t, i] -> t", "S[t, i] -> 2t - i; T[t, i] -> 2t - i + 1"),
]


@pytest.mark.parametrize("loops", ASKEW)
@pytest.mark.parametrize("outer", [0, 1])
def test_the_edits_make_the_loops_as_they_are(loops, outer):
    """Once the second is unskewed by so many loops, reversed where it falls, and unskewed by all."""
    text = "def f(a: f64['n', 'n'], n: size):\n    for t in range(n):\n        for i in range(n):\n"
    two = len(loops[0].split(";")) > 1
    made = in_source_order(text + "            a[t, i] = 1.0\n" * (1 + two))
    loops = tuple(each.replace("T[", "S1[").replace("S[", "S0[") if two else each for each in loops)
    first, second = (replace(member, name=name) for member, name in zip(band(*loops).members, "xy", strict=True))

    def straight(script: Script) -> None:
        (found,) = unskew(Band((second,)), (first,)[:outer]).members
        (again,) = unskew(Band((upright(found),)), (first,)).members
        assert not again.schedule.is_equal(second.schedule)
        straighten(script, (again,))
        place = loop(script.draft.nested, "y").member.schedule
        assert place.intersect_domain(made.scop.domain).is_equal(again.schedule.intersect_domain(made.scop.domain))

    script_of(made, straight, tree=Domain(made.scop.domain, Band((first, second))))


@pytest.mark.parametrize("make", [nests.jacobi_1d, nests.jacobi_2d, nests.seidel_2d, nests.lu])
def test_the_order_of_instances_stays(make):
    """Each band whose loops run serially one by one, as on the host of a GPU."""
    done = scheduled(make())
    done.assert_holds(one_by_one(done.tree))


@pytest.mark.parametrize("seed", range(30))
def test_random_nests_keep_their_order(seed):
    done = random_scheduled(seed)
    done.assert_holds(one_by_one(done.tree))


def one_by_one(tree: Tree, outer: tuple = ()) -> Tree:
    """Every member of each band in a band of its own, unskewed inside of those around it."""
    if isinstance(tree, Band):
        first = unskew(Band(tree.members[:1], False), outer)
        rest = Band(tree.members[1:], False, tree.child) if len(tree.members) > 1 else tree.child
        below = one_by_one(rest, (*outer, *tree.members[:1]))
        return Band(first.members, False, below) if first.members else below
    return with_children(tree, tuple(one_by_one(child, outer) for child in children(tree)))
