"""polysched/plot/timed.py: the times of instances are those of `flatten`; steps and tiles are parts of them."""

from __future__ import annotations

import random

import pytest
from nests import random_nest, stencil2

import polysched as ps
from polysched.model.tree.nodes import Extension, Leaf
from polysched.model.tree.order import flatten
from polysched.plot.small import at_sizes, drawn, points_of
from polysched.plot.timed import timed
from polysched.support import isl


def runs(schedule, **sizes):
    scop = schedule.draft.scop
    points = drawn(scop, scop.statements, sizes).points
    return {run.point: run for run in timed(schedule.tree, points, schedule.draft.dependences.coincidence)}


def test_instances_on_a_skewed_diagonal_have_one_time_in_the_outer_loop():
    found = runs(ps.Schedule(stencil2(margin=1)).skew("j", by="i"), N=3)
    assert found[1, 0].time == (1, 1) and found[0, 1].time == (0, 1)


def test_a_step_leaves_out_parallel_loops():
    found = runs(ps.Schedule(stencil2(margin=1)), N=3)
    assert [found[1, j].time for j in range(3)] == [(1, 0), (1, 1), (1, 2)]
    assert {found[1, j].step for j in range(3)} == {(1,)}


def test_a_loop_that_is_parallel_inside_of_another_one_of_its_band_is_left_out_too():
    s = ps.Schedule(stencil2(margin=1)).skew("j", by="i").tile("i", "j", sizes=(2, 2)).wavefront("i_o", "j_o")
    found = runs(s, N=4)
    assert found[1, 3].tile == (2, 2) and found[2, 0].tile == (2, 1)
    assert found[1, 3].tile_step == found[2, 0].tile_step == (2,)


def test_instances_of_one_step_do_not_depend_on_each_other_on_random_nests():
    for seed in range(6):
        s = ps.Schedule(random_nest(random.Random(seed)), start="ilp")
        scop, ends = s.draft.scop, s.draft.dependences.coincidence
        small = drawn(scop, scop.statements, None)
        step = {(run.statement, run.point): run.step for run in timed(s.tree, small.points, ends)}
        for d in s.draft.dependences.of("flow", "anti", "output"):
            for point in points_of(at_sizes(d.relation.wrap().flatten(), small.sizes)):
                numbers, depth = isl.coordinates(point), scop.statement(d.source).depth
                source, sink = (d.source, numbers[:depth]), (d.sink, numbers[depth:])
                if source in step and sink in step:
                    assert step[source] < step[sink]


def test_a_tile_is_what_its_tile_loops_have_in_common():
    s = ps.Schedule(stencil2(margin=1)).skew("j", by="i").tile("i", "j", sizes=(2, 2))
    found = runs(s, N=4)
    assert found[1, 2].tile == (0, 1) and found[0, 2].tile == (0, 1) and found[2, 0].tile == (1, 1)
    assert found[0, 0].tile_step == found[0, 0].tile  # none of the tile loops is parallel


def test_of_tiles_in_tiles_the_outer_ones_count():
    s = ps.Schedule(stencil2(margin=1)).skew("j", by="i").tile("i", "j", sizes=(4, 4), names=("I", "J"))
    found = runs(s.tile("i", "j", sizes=(2, 2)), N=8)
    assert found[0, 0].tile == (0, 0) == found[3, 0].tile


def test_without_tile_loops_there_is_no_tile():
    assert {run.tile for run in runs(ps.Schedule(stencil2(margin=1)), N=3).values()} == {()}


def test_added_instances_have_no_place():
    tree = Extension(isl.UnionMap("{ [] -> copy[] }"), Leaf())
    with pytest.raises(ValueError, match=r"^instances that a node Extension adds have no place among the nest's$"):
        timed(tree, {}, isl.UnionMap("{ }"))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("stage", ["source", "found", "mapped"])
def test_times_are_those_of_flatten_on_random_nests(seed, stage):
    done = ps.optimize(random_nest(random.Random(seed)), options=ps.Options(tile_sizes=(2, 3)))
    tree = {"source": done.scop.tree, "found": done.scheduled.tree, "mapped": done.tree}[stage]
    points = drawn(done.scop, done.scop.statements, None)
    expected = {}
    for times in isl.maps_of(flatten(tree)):
        name, depth = times.get_tuple_name(isl.dim_type.in_), times.dim(isl.dim_type.in_)
        inside = times.intersect_domain(points.domains[name])
        for point in points_of(at_sizes(inside.wrap().flatten(), points.sizes)):
            numbers = isl.coordinates(point)
            expected[name, numbers[:depth]] = numbers[depth:]
    found = timed(tree, points.points, done.dependences.coincidence)
    assert {(run.statement, run.point) for run in found} == set(expected)
    longest = len(next(iter(expected.values())))
    for run in found:
        assert (*run.time, *[0] * (longest - len(run.time))) == expected[run.statement, run.point]
