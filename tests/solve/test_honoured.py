from __future__ import annotations

import pytest

from polysched.config.constraints import innermost, max_skew, order, outer_parallel, separate, tile_sizes, together
from polysched.config.options import Options
from polysched.deps.dataflow import dependences
from polysched.errors import IllegalSchedule, InputError
from polysched.model.extract import extract
from polysched.model.tree.nodes import Band, Context, Domain, Filter, InOrder, Leaf, Member
from polysched.model.tree.text import show_tree
from polysched.solve.constraints.honoured import require_met, unmet
from polysched.solve.scheduler import find_schedule
from polysched.support import isl
from tests import nests
from tests.transform.scheduled import scheduled, tiled


def stencil_and_its_schedule():
    model = extract(nests.stencil2(margin=1))
    deps = dependences(model)
    return model, deps, find_schedule(model, deps, Options()).tree


def jacobi_and_its_schedule():
    model = extract(nests.jacobi_1d())
    deps = dependences(model)
    return model, deps, find_schedule(model, deps, Options()).tree


def test_what_the_skewed_stencil_meets():
    model, deps, tree = stencil_and_its_schedule()
    met = (order("S", "i"), order("S", "_", "i + j"), order("S", "i", "_*i + j"), innermost("S", "j"), max_skew(1))
    missed = (order("S", "j"), order("S", "i", "j"), innermost("S", "i"), max_skew(0), outer_parallel())
    assert unmet(tree, model, deps, (*met, *missed, tile_sizes("S", (8, 8)))) == missed


def test_what_source_order_meets():
    model, deps, _ = stencil_and_its_schedule()
    assert unmet(model.tree, model, deps, (order("S", "i", "j"), innermost("S", "j"), max_skew(0))) == ()


def test_loops_in_common():
    model, deps, tree = jacobi_and_its_schedule()
    met = (together("S0", "S1"), together("S*", depth=1), separate("S*", depth=2))
    missed = (separate("S0", "S1"), separate("S*", depth=1))
    assert unmet(tree, model, deps, (*met, *missed)) == missed
    in_source = (together("S0", "S1"), separate("S0", "S1"))
    assert unmet(model.tree, model, deps, (*in_source, together("S*", depth=1))) == in_source


def test_tiles_leave_what_is_said_about_rows():
    nest = scheduled(nests.jacobi_1d())
    tree = tiled(nest, 16, 16)
    met = (order("*", "t", "2t + i"), max_skew(2), together("*"), separate("*", depth=2))
    missed = (order("*", "t", "i"), max_skew(1), separate("*", depth=1))
    assert "floor" in show_tree(tree) and unmet(tree, nest.scop, nest.deps, (*met, *missed)) == missed


def test_lanes_inside_of_the_loops_around():
    model, deps, tree = jacobi_and_its_schedule()
    assert unmet(tree, model, deps, (innermost("S0", "i"),)) == (innermost("S0", "i"),), "S1 waits for S0 along i"


def test_lanes_may_sum_up_where_sums_may_be_reordered():
    model = extract(nests.gemm())
    for free in (False, True):
        deps = dependences(model, reorder_reductions=free)
        assert (unmet(model.tree, model, deps, (innermost("S1", "k"),)) == ()) is free
        assert unmet(model.tree, model, deps, (outer_parallel("S1"),)) == ()


def refusal(nest, rows, *constraints) -> str:
    """Of the nest's statements in one band of these rows."""
    model = extract(nest)
    sizes, heads = ", ".join(model.function.sizes), [(s.name, ", ".join(s.iterators)) for s in model.statements]
    maps = ("; ".join(f"{name}[{its}] -> [{row[name]}]" for name, its in heads) for row in rows)
    members = tuple(Member(isl.UnionMap(f"[{sizes}] -> {{ {text} }}")) for text in maps)
    names = [isl.UnionSet.from_set(s.domain) for s in model.statements]
    child = InOrder(tuple(Filter(name, Leaf()) for name in names)) if len(names) > 1 else Leaf()
    tree = Domain(model.domain, Context(model.context, Band(members, False, child)))
    with pytest.raises(IllegalSchedule) as raised:
        require_met(tree, model, dependences(model), constraints)
    return str(raised.value)


@pytest.mark.parametrize(
    ("loops", "reason"),
    [
        (("t", "i + j", "i"), "i is in the loop i + j, too"),
        (("t", "i", "i + j"), "i is in the loop i, too"),
        (("t", "i", "j"), "the last loop is j"),
        (("t", "j", "2i + j"), "the last loop is 2i + j"),
        (("t", "j", "i"), "iterations of the loop i depend on each other"),
    ],
)
def test_why_a_loop_does_not_run_last(loops, reason):
    asked = innermost("S", "i")
    text = refusal(nests.seidel_2d(), [{"S": loop} for loop in loops], asked)
    assert text == f'the schedule given does not meet innermost("S", "i"): {reason}'


@pytest.mark.parametrize("late", ["ni + k", "ni - 1 + k", "1000 + ni + k"])
def test_loops_that_run_one_after_the_other_are_not_together(late):
    """The second shares one value, however large the sizes are."""
    rows = [{"S0": "i", "S1": late}, {"S0": "j", "S1": "i"}, {"S0": "0", "S1": "j"}]
    text = refusal(nests.gemm(), rows, together("S0", "S1"))
    assert text.startswith('the schedule given does not meet together("S0", "S1"): loop i of S0 and loop ')
    assert text.endswith(" of S1 run one after the other")


@pytest.mark.parametrize(("one", "other"), [("i", "i + 5"), ("2i", "2i + 1"), ("i + ni", "i + ni"), ("i", "i + nj")])
def test_loops_with_a_range_in_common(one, other):
    rows = [{"S0": one, "S1": other}, {"S0": "j", "S1": "j"}, {"S0": "0", "S1": "k"}]
    text = refusal(nests.gemm(), rows, together("S0", "S1"), order("S0", "j"))
    assert text == 'the schedule given does not meet order("S0", "j")'


def test_a_tree_that_must_meet_them():
    model, deps, tree = stencil_and_its_schedule()
    assert require_met(tree, model, deps, (order("S", "i"),)) is tree
    with pytest.raises(IllegalSchedule) as raised:
        require_met(tree, model, deps, (order("S", "j"), max_skew(0), max_skew(1)))
    assert str(raised.value) == 'the schedule given does not meet order("S", "j") and max_skew(0)'
    with pytest.raises(InputError) as raised:
        require_met(tree, model, deps, (order("T", "j"),))
    assert str(raised.value) == ('order("T", "j"): there is no statement \'T\'\nhint: the statements are: S[i, j]')
