"""polysched/transform/vectorize.py: the innermost loop apart, and marked where its iterations are independent."""

from __future__ import annotations

import nests
import pytest
from scops import scop, stmt

from polysched.deps.coincidence import bands_reached
from polysched.deps.dataflow import dependences
from polysched.model.tree import Band, Vector, is_innermost, marks_in, walk, with_children
from polysched.model.tree_text import show_tree
from polysched.transform.vectorize import can_vectorize, vectorize
from tests.transform.scheduled import band, random_scheduled, scheduled

i, j, k = "S[i, j, k] -> i", "S[i, j, k] -> j", "S[i, j, k] -> k"
GEMM = scop(
    "[n] -> { : }",
    stmt("{ S[i, j, k] : 0 <= i, j, k < n }", writes="C[i, j]", reads=["C[i, j]", "A[i, k]", "B[k, j]"]),
)
DEPS = dependences(GEMM)


def marks(tree) -> int:
    return marks_in(tree).count(Vector())


def test_the_innermost_loop_of_a_matrix_product_is_split_off_and_marked():
    assert show_tree(vectorize(band(i, k, j, coincident=(0, 2)), DEPS)) == (
        "band: permutable\n"
        "  [S[i, j, k] -> i] coincident\n"
        "  [S[i, j, k] -> k]\n"
        "  mark: vector\n"
        "    band:\n"
        "      [S[i, j, k] -> j] coincident"
    )


def test_a_loop_that_carries_a_dependence_is_split_off_but_not_marked():
    assert vectorize(band(i, j, k), DEPS) == with_children(band(i, j), (band(k),))


def test_a_loop_that_is_parallel_inside_the_others_alone_is_marked_and_flagged():
    """i + j of the stencil carries dependences, but none at one i."""
    nest = scheduled(nests.stencil2(margin=1))
    assert not any(member.coincident for node in walk(nest.tree) if isinstance(node, Band) for member in node.members)
    done = vectorize(nest.tree, nest.deps)
    assert marks(done) == 1
    assert show_tree(done).endswith("[S[i, j] -> i + j] coincident")


def test_one_loop_alone_is_marked():
    copy = scop("[n] -> { : }", stmt("{ S[i, j, k] : 0 <= i, j, k < n }", writes="b[i, j, k]", reads="a[i, j, k]"))
    assert marks(vectorize(band(j), dependences(copy))) == 1


def test_a_loop_over_two_statements_that_depend_on_each_other_is_distributed():
    """Jacobi's sweeps, at one t: S1 reads what S0 writes at the next iteration."""
    nest = scheduled(nests.jacobi_1d())
    done = vectorize(nest.tree, nest.deps)
    assert marks(done) == 2
    nest.assert_holds(done)


def test_the_loops_that_it_is_distributed_to_run_in_the_order_of_what_they_compute():
    """LU divides a column before it updates others with it, which the source and the schedule have in between."""
    nest = scheduled(nests.lu())
    done = vectorize(nest.tree, nest.deps)
    filters = [line.strip() for line in show_tree(done).splitlines() if "filter" in line]
    assert filters == ["filter: S1", "filter: S0", "filter: S2"] and marks(done) == 3
    nest.assert_holds(done)


def test_it_is_not_distributed_where_that_is_illegal():
    """Each statement needs what the other has computed in the iteration before."""
    cycle = scop(
        "[n] -> { : }",
        stmt("{ S[i] : 0 <= i < n }", writes="a[i + 1]", reads="b[i]"),
        stmt("{ T[i] : 0 <= i < n }", writes="b[i + 1]", reads="a[i]"),
        order=[("i", "S", "T")],
    )
    assert vectorize(cycle.tree, dependences(cycle)) == cycle.tree


def test_it_is_not_distributed_where_no_part_becomes_parallel():
    chains = scop(
        "[n] -> { : }",
        stmt("{ S[i] : 0 <= i < n }", writes="a[i + 1]", reads="a[i]"),
        stmt("{ T[i] : 0 <= i < n }", writes="b[i + 1]", reads=["b[i]", "a[i]"]),
        order=[("i", "S", "T")],
    )
    assert vectorize(chains.tree, dependences(chains)) == chains.tree


def test_whether_a_band_will_get_a_mark_is_known_before():
    reaching = DEPS.coincidence
    assert can_vectorize(band(i, k, j), reaching)
    assert not can_vectorize(band(i, j, k), reaching)
    assert not can_vectorize(with_children(band(i, k), (band(j),)), reaching), "only an innermost band"


@pytest.mark.parametrize("seed", range(15))
def test_random_nests_stay_legal_and_the_independent_innermost_loops_are_marked(seed):
    nest = random_scheduled(seed)
    done = vectorize(nest.tree, nest.deps)
    nest.assert_holds(done)
    innermost = [node for node, _ in bands_reached(done, nest.deps.coincidence) if is_innermost(node)]
    assert all(len(node.members) == 1 for node in innermost)
    assert marks(done) == sum(node.members[0].coincident for node in innermost)
