"""Nests with faults that were put in on purpose: each must be refused for the right reason."""

from dataclasses import replace

import pytest
from by_hand import blur, stencil

from polysched import IllegalSchedule, Schedule
from polysched.deps.arrivals import told_apart
from polysched.deps.values import first_wrong_value, is_copy
from polysched.ir.nodes import Const
from polysched.model.tree.nodes import Filter, InOrder, Mark, Tree, children, with_children
from polysched.support import isl
from polysched.transform.edits.base.same_values import require_same_values

BEFORE = Schedule(blur).draft
AFTER = Schedule(blur).tile("i", sizes=(4,)).cache_read("a", at="i_o").draft
SAME = BEFORE.scop.domain.identity()


def with_statement(name, change):
    statements = tuple(change(s) if s.name == name else s for s in AFTER.scop.statements)
    return replace(AFTER.scop, statements=statements)


def everywhere(tree: Tree, change) -> Tree:
    return change(with_children(tree, tuple(everywhere(child, change) for child in children(tree))))


def refusal(scop, tree):
    with pytest.raises(IllegalSchedule) as raised:
        require_same_values(BEFORE, scop, tree, SAME, "edit")
    return str(raised.value).splitlines()[0]


def test_the_copy_is_right_as_it_is():
    draft = require_same_values(BEFORE, AFTER.scop, AFTER.tree, SAME, "edit")
    assert draft.tree == AFTER.tree
    assert draft.scop.tree != BEFORE.scop.tree, "later edits are held against the new order"
    assert [is_copy(s) for s in draft.scop.statements] == [False, False, True]


def test_a_copy_that_leaves_out_elements():
    first = isl.Set("{ load_a[i_o, a0] : a0 >= 1 }")
    scop = with_statement("load_a", lambda s: replace(s, domain=s.domain.intersect(first)))

    def without(node):
        keeps = isinstance(node, Filter)
        return replace(node, filter=node.filter.subtract(gone)) if keeps else node

    gone = isl.UnionSet("{ load_a[i_o, 0] }")
    tree = everywhere(AFTER.tree, without)
    tree = replace(tree, domain=tree.domain.subtract(gone))
    assert refusal(scop, tree) == (
        "edit: S0[i=1] would get from a_c: an element of a_c that nothing has written, not a[0] as it was before the "
        "nest (n = 3)"
    )


def test_a_copy_of_the_wrong_element():
    def shifted(s):
        (read,) = s.reads
        move = isl.Map("{ a[x] -> a[x - 1] : x >= 1; a[0] -> a[0] }")
        return replace(s, reads=(replace(read, relation=read.relation.apply_range(move)),))

    assert refusal(with_statement("load_a", shifted), AFTER.tree) == (
        "edit: S0[i=2] would get from a_c: a[0] as it was before the nest, not a[1] as it was before the nest (n = 4)"
    )


def test_a_copy_after_its_use():
    def turned(node):
        is_inner = isinstance(node, InOrder) and any(str(b.filter).count("load_a") for b in node.children)
        return InOrder(tuple(reversed(node.children))) if is_inner and len(node.children) == 2 else node

    def inner_only(node):
        return replace(node, child=turned(node.child)) if isinstance(node, Mark) else node

    assert refusal(AFTER.scop, everywhere(AFTER.tree, inner_only)) == (
        "edit: S0[i=1] would get from a_c: an element of a_c that nothing has written, not a[0] as it was before the "
        "nest (n = 3)"
    )


def test_an_array_that_is_too_small():
    *others, small = AFTER.scop.arrays
    scop = replace(AFTER.scop, arrays=(*others, replace(small, shape=(Const(5),))))
    assert refusal(scop, AFTER.tree) == "edit: an access leaves its array for n = 5"


def test_values_left_at_the_end():
    nest = Schedule(stencil).cache_write("a", at="i").draft
    start = Schedule(stencil).draft
    gone = isl.UnionSet("[N] -> { store_a[i, a0, a1] : i >= 1 and i = N - 1 }")

    def without(node):
        return replace(node, filter=node.filter.subtract(gone)) if isinstance(node, Filter) else node

    tree = everywhere(nest.tree, without)
    tree = replace(tree, domain=tree.domain.subtract(gone))
    left = {part.get_tuple_name(): part for part in isl.sets_of(tree.domain)}
    statements = tuple(replace(s, domain=left[s.name]) for s in nest.scop.statements)
    wrong = first_wrong_value(
        told_apart(start.scop, start.tree),
        told_apart(replace(nest.scop, statements=statements), tree),
        start.scop.domain.identity(),
    )
    assert wrong is not None
    assert str(wrong).splitlines()[0] == (
        "at the end, a[2, 1] would be a[2, 1] as it was before the nest, not what S[i=1, j=0] writes (N = 2)"
    )


def test_what_cannot_be_known_is_refused():
    unsure = with_statement("S1", lambda s: replace(s, writes=tuple(replace(w, must=False) for w in s.writes)))
    assert refusal(unsure, AFTER.tree) == (
        "edit: which values are the same is unknown: S1 may leave an element as it was, where S1 does not"
    )
