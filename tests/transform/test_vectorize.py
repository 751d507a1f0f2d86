"""polysched/transform/analysis/vectorize.py: innermost loops on lanes where their iterations are independent."""

from __future__ import annotations

import nests
import pytest
from scops import bands_reached, scop, stmt

from polysched.config.options import Options
from polysched.deps.coincidence import carried, left_below
from polysched.deps.dataflow import dependences
from polysched.model.tree.nodes import Band, Vector, is_innermost, mark_of, marks_in, walk, with_children
from polysched.model.tree.text import show_tree
from polysched.strategy.cpu import lanes
from polysched.transform.analysis.vectorize import can_vectorize
from tests.transform.scheduled import band, on_loops, random_scheduled, scheduled, script_of, written

i, j, k = "S[i, j, k] -> i", "S[i, j, k] -> j", "S[i, j, k] -> k"
GEMM = scop(
    "[n] -> { : }",
    stmt("{ S[i, j, k] : 0 <= i, j, k < n }", writes="C[i, j]", reads=["C[i, j]", "A[i, k]", "B[k, j]"]),
)
DEPS = dependences(GEMM)
ALONE = Options(parallel=False)  # without threads, which a loop that stands alone has


def marks(tree) -> int:
    return marks_in(tree).count(Vector())


def test_the_innermost_loop_of_a_matrix_product_is_marked():
    assert show_tree(written(on_loops(GEMM, band(i, k, j)), lanes, []).child) == (
        "band: permutable\n"
        "  [S[i, j, k] -> i] coincident\n"
        "  [S[i, j, k] -> k]\n"
        "  mark: vector\n"
        "    band:\n"
        "      [S[i, j, k] -> j] coincident"
    )


def test_a_loop_that_carries_a_dependence_is_not_marked():
    assert script_of(on_loops(GEMM, band(i, j, k)), lanes, []).edits == []


def test_a_loop_that_is_parallel_inside_the_others_alone_is_marked_and_flagged():
    """i + j of the stencil carries dependences, but none at one i."""
    nest = scheduled(nests.stencil2(margin=1))
    assert not any(member.coincident for node in walk(nest.tree) if isinstance(node, Band) for member in node.members)
    done = written(nest, lanes, [])
    assert marks(done) == 1
    assert show_tree(done).endswith("[S[i, j] -> i + j] coincident")


def test_one_loop_alone_is_marked():
    copy = scop("[n] -> { : }", stmt("{ S[i, j, k] : 0 <= i, j, k < n }", writes="b[i, j, k]", reads="a[i, j, k]"))
    assert [marks(written(on_loops(copy, band(j)), lanes, [], options=each)) for each in (ALONE, None)] == [1, 0]


def test_a_loop_over_two_statements_that_depend_on_each_other_is_distributed():
    """Jacobi's sweeps, at one t: S1 reads what S0 writes at the next iteration."""
    nest = scheduled(nests.jacobi_1d())
    done = written(nest, lanes, [])
    assert marks(done) == 2
    nest.assert_holds(done)


def test_the_loops_that_it_is_distributed_to_run_in_the_order_of_what_they_compute():
    """LU divides a column before it updates others with it, which the source and the schedule have in between."""
    nest = scheduled(nests.lu())
    done = written(nest, lanes, [])
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
    assert script_of(on_loops(cycle, cycle.tree.child), lanes, [], options=ALONE).edits == []


def test_it_is_not_distributed_where_no_part_becomes_parallel():
    chains = scop(
        "[n] -> { : }",
        stmt("{ S[i] : 0 <= i < n }", writes="a[i + 1]", reads="a[i]"),
        stmt("{ T[i] : 0 <= i < n }", writes="b[i + 1]", reads=["b[i]", "a[i]"]),
        order=[("i", "S", "T")],
    )
    assert script_of(on_loops(chains, chains.tree.child), lanes, [], options=ALONE).edits == []


def test_whether_a_band_will_get_a_mark_is_known_before():
    reaching = DEPS.coincidence
    assert can_vectorize(band(i, k, j), reaching)
    assert not can_vectorize(band(i, j, k), reaching)
    assert not can_vectorize(with_children(band(i, k), (band(j),)), reaching), "only an innermost band"


@pytest.mark.parametrize("seed", range(15))
def test_random_nests_stay_legal_and_the_independent_innermost_loops_are_marked(seed):
    nest = random_scheduled(seed)
    done = written(nest, lanes, [], options=ALONE)
    nest.assert_holds(done)
    for node, reaching in bands_reached(done, nest.deps.coincidence):
        if is_innermost(node):
            *outer, last = node.members
            is_independent = carried(last, left_below(Band(tuple(outer)), reaching)).is_empty()
            assert is_independent == (mark_of(node, Vector) is not None)
