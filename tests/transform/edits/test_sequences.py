from polysched.model.tree.nodes import Band, Domain, Filter, InOrder, Leaf, Member
from polysched.model.tree.text import show_tree
from polysched.support import isl
from polysched.transform.edits.base.parts import flat, with_parts

S, T, U = (isl.UnionSet(f"{{ {name}[i] : 0 <= i < 9 }}") for name in "STU")
LOOP = Band((Member(isl.UnionMap("{ S[i] -> [i] }")),))


def test_a_sequence_in_a_sequence_is_one():
    inner = InOrder((Filter(T, Leaf()), Filter(U, Leaf())))
    assert show_tree(flat((Filter(S, LOOP), Filter(T.union(U), inner)))) == """\
sequence
  filter: S
    band:
      [S[i] -> i]
  filter: T
  filter: U"""


def test_only_what_the_outer_branch_passes_stays():
    first = isl.UnionSet("{ T[i] : i < 5 }")
    inner = InOrder((Filter(T, Leaf()), Filter(U, Leaf())))
    (branch, _) = flat((Filter(first, inner),)).children
    assert branch.filter.is_equal(T.intersect(first))


def test_parts_take_a_branch_or_the_root():
    parts = InOrder((Filter(S, LOOP), Filter(T, Leaf())))
    alone = Domain(S.union(T), LOOP)
    assert with_parts(alone, (0,), parts) == Domain(S.union(T), parts)
    beside = Domain(S.union(T).union(U), InOrder((Filter(U, Leaf()), Filter(S.union(T), LOOP))))
    (node,) = [with_parts(beside, (0, 1, 0), parts).child]
    assert [branch.filter for branch in node.children] == [U, S, T]
