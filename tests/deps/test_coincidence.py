from __future__ import annotations

from polysched.deps.coincidence import carried, left_below, mark_coincident
from polysched.deps.dataflow import dependences
from polysched.model.tree.nodes import Band, Domain, Leaf, Member, walk
from polysched.support import isl
from tests.scops import bands_reached, scop, stmt


def flags(tree) -> list[tuple[bool, ...]]:
    return [tuple(m.coincident for m in node.members) for node in walk(tree) if isinstance(node, Band)]


def rows_sum():
    """Each row is summed up: rows are independent."""
    inside = "{ S[i, j] : 0 <= i < N and 0 <= j < N }"
    return scop("[N] -> { : N >= 2 }", stmt(inside, writes="s[i]", reads=["s[i]", "a[i, j]"], reduction="+"))


def test_the_outer_loop_is_parallel_and_the_sum_is_not():
    model = rows_sum()
    assert flags(mark_coincident(model.tree, dependences(model))) == [(True,), (False,)]


def test_reductions_that_may_be_reordered_are_still_not_parallel():
    model = rows_sum()
    assert flags(mark_coincident(model.tree, dependences(model, reorder_reductions=True))) == [(True,), (False,)]


def test_a_loop_inside_of_the_one_that_carries():
    model = scop(
        "[N] -> { : N >= 2 }", stmt("{ S[t, i] : 0 <= t < N and 0 <= i < N }", writes="a[i]", reads=["a[i]"])
    )
    assert flags(mark_coincident(model.tree, dependences(model))) == [(False,), (True,)]


def test_members_of_one_band_are_judged_by_what_reaches_the_band():
    i, j = (Member(isl.UnionMap(f"{{ S[i, j] -> [{x}] }}")) for x in ("i", "i + j"))
    diagonal = isl.UnionMap("[N] -> { S[i, j] -> S[i + 1, j - 1] : 0 <= i < N - 1 and 0 < j < N }")
    assert carried(i, diagonal).is_equal(diagonal)
    assert carried(j, diagonal).is_empty()
    assert left_below(Band((j,)), diagonal).is_equal(diagonal)
    assert left_below(Band((j, i)), diagonal).is_empty()


def test_statements_in_sequence_are_ordered_apart():
    """T reads what S wrote one step earlier; the loops around each are parallel, the one around both is not."""
    model = scop(
        "[N] -> { : N >= 2 }",
        stmt("{ S[t, i] : 0 <= t < N and 0 <= i < N }", writes="a[i]", reads="b[i]"),
        stmt("{ T[t, i] : 0 <= t < N and 0 <= i < N }", writes="b[i]", reads=["a[i]", "a[N - 1 - i]"]),
        order=[("t", ("i", "S"), ("i", "T"))],
    )
    assert flags(mark_coincident(model.tree, dependences(model))) == [(False,), (True,), (True,)]


def test_bands_with_the_dependences_that_reach_them():
    model = rows_sum()
    deps = dependences(model)
    outer, inner = bands_reached(model.tree, deps.coincidence)
    assert outer[1].is_equal(deps.coincidence) and inner[1].is_equal(deps.coincidence)


def test_nothing_else_changes():
    tree = Domain(isl.UnionSet("{ S[] }"), Leaf())
    assert mark_coincident(tree, dependences(scop("{ : }", stmt("{ S[] }", writes="a[]")))) == tree
