import pytest
from scops import scop, stmt

from polysched import IllegalSchedule
from polysched.deps.arrivals import scoped_arrays, told_apart
from polysched.model.tree.nodes import Band, Domain, Filter, InOrder, Mark, Storage, Tree
from polysched.support import isl

NEST = scop("[n] -> { : n >= 0 }", stmt("{ S[i, j] : 0 <= i, j < n }", writes="t[j]", reads="a[j]"))


def in_loop(tree: Domain) -> Tree:
    """The tree with the array t in each iteration of its outermost loop."""
    assert isinstance(tree.child, Band)
    return Domain(tree.domain, Band(tree.child.members, False, Mark(Storage(("t",)), tree.child.child)))


def test_each_iteration_has_elements_of_its_own():
    tree = in_loop(NEST.tree)
    assert scoped_arrays(tree) == {"t"}
    (write,) = told_apart(NEST, tree).statements[0].writes
    assert write.relation.is_equal(isl.Map("[n] -> { S[i, j] -> t[0, i, j] : 0 <= i, j < n }"))
    assert told_apart(NEST, tree).statements[0].reads == NEST.statements[0].reads


def test_nodes_at_different_depths_are_told_apart_too():
    low, high = isl.UnionSet("[n] -> { S[i, j] : i < 3 }"), isl.UnionSet("[n] -> { S[i, j] : i >= 3 }")
    loops = NEST.tree.child
    inner = Band(loops.members, False, Mark(Storage(("t",)), loops.child))
    tree = Domain(NEST.tree.domain, InOrder((Filter(low, inner), Filter(high, Mark(Storage(("t",)), loops)))))
    (write,) = told_apart(NEST, tree).statements[0].writes
    first, second = "S[i, j] -> t[0, i, j] : 0 <= i < 3 and i < n", "S[i, j] -> t[1, 0, j] : 3 <= i < n"
    assert write.relation.is_equal(isl.Map(f"[n] -> {{ {first} and 0 <= j < n; {second} and 0 <= j < n }}"))


def test_an_array_used_outside_of_its_loop_is_refused():
    half = isl.UnionSet("[n] -> { S[i, j] : i < 3 }")
    rest = NEST.tree.domain.subtract(half)
    one, other = Filter(half, in_loop(NEST.tree).child), Filter(rest, NEST.tree.child)
    with pytest.raises(IllegalSchedule) as raised:
        told_apart(NEST, Domain(NEST.tree.domain, InOrder((one, other))))
    assert str(raised.value) == "S uses 't' outside of the loop that it belongs to"
