"""transform/trees/distribute.py: a loop over several statements becomes a loop for each, or for each cycle."""

from __future__ import annotations

import random

import nests
import pytest
from scops import scop, stmt

from polysched.deps.coincidence import left_below
from polysched.deps.dataflow import dependences
from polysched.deps.legality import first_violation
from polysched.model.extract import extract
from polysched.model.tree.nodes import Band, InOrder, Tree, children, with_children
from polysched.model.tree.text import show_tree
from polysched.support import isl
from polysched.transform.trees.distribute import distribute
from tests.transform.scheduled import band

S, T = "{ S[i] : 0 <= i < n }", "{ T[i] : 0 <= i < n }"


def pair(t_writes: str, t_reads: str):
    """`for i: S: a[i] = 1; T: ...` as a loop, and its dependences."""
    later = stmt(T, writes=t_writes, reads=t_reads)
    nest = scop("[n] -> { : }", stmt(S, writes="a[i]"), later, order=[("i", "S", "T")])
    return nest.tree.child, dependences(nest).coincidence


def test_a_loop_over_two_statements_becomes_two_loops():
    loop, reaching = pair("b[i]", "a[i - 1]")
    assert show_tree(distribute(loop, reaching)) == (
        "sequence\n"
        "  filter: S\n"
        "    band:\n"
        "      [S[i0] -> i0]\n"
        "  filter: T\n"
        "    band:\n"
        "      [T[i0] -> i0]"
    )


def test_what_the_later_statement_writes_for_the_earlier_one_turns_them_around():
    """T overwrites the element that S writes in the next iteration."""
    assert filters(distribute(*pair("a[i + 1]", "b[i]"))) == ["T", "S"]


def test_a_cycle_of_dependences_stays_in_one_loop():
    """T reads what S wrote in the iteration before, and S what T wrote."""
    cycle = stmt(S, writes="a[i + 1]", reads="b[i]"), stmt(T, writes="b[i + 1]", reads="a[i]")
    nest = scop("[n] -> { : }", *cycle, order=[("i", "S", "T")])
    assert distribute(nest.tree.child, dependences(nest).coincidence) is None


def test_a_statement_beside_a_cycle_gets_a_loop_of_its_own_before_or_after_it():
    """U is between S and T in the source; it needs what S computes later, and overwrites nothing."""
    between = stmt("{ U[i] : 0 <= i < n }", writes="c[i]", reads="a[i]")
    cycle = stmt(S, writes="a[i + 1]", reads="b[i]"), stmt(T, writes="b[i + 1]", reads="a[i]")
    nest = scop("[n] -> { : }", cycle[0], between, cycle[1], order=[("i", "S", "U", "T")])
    deps = dependences(nest)
    parts = distribute(nest.tree.child, deps.coincidence)
    assert show_tree(parts) == (
        "sequence\n"
        "  filter: S, T\n"
        "    band:\n"
        "      [S[i0] -> i0; T[i0] -> i0]\n"
        "      sequence\n"
        "        filter: S\n"
        "        filter: T\n"
        "  filter: U\n"
        "    band:\n"
        "      [U[i0] -> i0]"
    )
    assert first_violation(with_children(nest.tree, (parts,)), deps, nest, check_flags=False) is None


def test_what_outer_loops_order_does_not_matter():
    loop, _ = pair("a[i + 1]", "b[i]")
    assert filters(distribute(loop, isl.UnionMap("{ }"))) == ["S", "T"]


def filters(parts: InOrder) -> list[str]:
    return [show_tree(part).splitlines()[0].removeprefix("filter: ") for part in parts.children]


def test_a_loop_around_one_statement_or_another_loop_has_nothing_to_distribute():
    assert distribute(band("S[i] -> i"), isl.UnionMap("{ }")) is None
    assert distribute(with_children(band("S[i, j] -> i"), (band("S[i, j] -> j"),)), isl.UnionMap("{ }")) is None


def test_flags_and_order_stay():
    loop, reaching = pair("b[i]", "a[i]")
    flagged = with_children(band("S[i] -> i; T[i] -> i", permutable=True, coincident=(0,)), (loop.child,))
    parts = distribute(flagged, reaching).children
    assert [part.child for part in parts] == [band(f"{name}[i] -> i", coincident=(0,)) for name in "ST"]


@pytest.mark.parametrize("seed", range(40))
def test_random_loops_are_distributed_exactly_where_that_is_legal(seed):
    scop_ = extract(nests.random_nest(random.Random(seed)))
    deps = dependences(scop_)
    for changed, was_legal in distributions(scop_.tree, deps.coincidence):
        assert (first_violation(changed, deps, scop_, check_flags=False) is None) == was_legal


def distributions(tree: Tree, reaching: isl.UnionMap) -> list[tuple[Tree, bool]]:
    """`tree` with one of its loops distributed, as by `distribute` or else by force, and whether it did."""
    found = []
    if isinstance(tree, Band) and isinstance(tree.child, InOrder):
        parts = distribute(tree, reaching)
        found.append((parts or distribute(tree, isl.UnionMap("{ }")), parts is not None))
    below = children(tree)
    for k, child in enumerate(below):
        for changed, was_legal in distributions(child, left_below(tree, reaching)):
            found.append((with_children(tree, (*below[:k], changed, *below[k + 1 :])), was_legal))
    return found


def test_the_random_loops_are_of_both_kinds():
    verdicts = set()
    for seed in range(40):
        nest = extract(nests.random_nest(random.Random(seed)))
        verdicts |= {was_legal for _, was_legal in distributions(nest.tree, dependences(nest).coincidence)}
    assert verdicts == {True, False}
