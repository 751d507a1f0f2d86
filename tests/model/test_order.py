from __future__ import annotations

import pytest

from polysched.model.tree.nodes import Band, Domain, Extension, Filter, InOrder, Kernel, Leaf, Mark, Member, Set
from polysched.model.tree.order import flatten
from polysched.support import isl


def test_a_loop_over_a_statement_and_another_loop():
    inner = Band((member("{ T[i, j] -> [j] }"),))
    body = InOrder((Filter(S), Filter(T, inner)))
    tree = Domain(S.union(T), Band((member("{ S[i] -> [i]; T[i, j] -> [i] }"),), child=body))
    assert_times(tree, "{ S[i] -> [i, 0, 0] : 0 <= i < n; T[i, j] -> [i, 1, j] : 0 <= i < n and 0 <= j < n }")


def test_a_band_of_several_members_and_a_mark():
    band = Band((member("{ T[i, j] -> [i + j] }"), member("{ T[i, j] -> [-j] }")), permutable=True)
    assert_times(Domain(T, Mark(Kernel("k"), band)), "{ T[i, j] -> [i + j, -j] : 0 <= i < n and 0 <= j < n }")


def test_the_children_of_a_set_run_as_listed():
    assert_times(
        Domain(S.union(T), Set((Filter(T), Filter(S)))),
        "{ S[i] -> [1] : 0 <= i < n; T[i, j] -> [0] : 0 <= i < n and 0 <= j < n }",
    )


def test_a_filter_leaves_out_what_does_not_pass():
    assert_times(Domain(S, Filter(isl.UnionSet("{ S[0] }"), Leaf())), "{ S[0] -> [] : 0 < n }")


def test_no_instances_have_no_times():
    assert flatten(Domain(isl.UnionSet("{ }"))).is_empty()


def test_a_tree_without_a_domain_is_refused():
    with pytest.raises(ValueError, match="starts with a Domain, not with a Leaf"):
        flatten(Leaf())


def test_extensions_are_refused():
    with pytest.raises(ValueError, match="extensions add instances"):
        flatten(Domain(S, Extension(isl.UnionMap("{ [] -> copy[] }"))))


S = isl.UnionSet("[n] -> { S[i] : 0 <= i < n }")
T = isl.UnionSet("[n] -> { T[i, j] : 0 <= i < n and 0 <= j < n }")


def member(schedule: str) -> Member:
    return Member(isl.UnionMap(schedule))


def assert_times(tree: Domain, expected: str) -> None:
    assert flatten(tree).is_equal(isl.UnionMap(f"[n] -> {expected}"))
