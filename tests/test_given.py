"""Schedules, trees, edits and machines that are given: what fits is followed, all else is refused in a line."""

from __future__ import annotations

import re

import pytest

import polysched as ps
from polysched.model.tree.nodes import Mark, Parallel
from polysched.operators import conv2d_nchw
from polysched.schedule.history import history_from_json

ONE = ps.NestEdit.of


@ps.nest
def scale(b: ps.f64["n"], a: ps.f64["n"], n: ps.size):
    for i in range(n):
        b[i] = a[i] * 2.0


@ps.nest
def product(C: ps.f32[64, 64], A: ps.f32[64, 64], B: ps.f32[64, 64]):
    for i in range(64):
        for j in range(64):
            for k in range(64):
                C[i, j] += A[i, k] * B[k, j]


def refused(message: str):
    return pytest.raises((ps.InputError, ps.IllegalSchedule), match=re.escape(message))


TREE = """\
domain: "[n] -> { S[i] : 0 <= i < n }"
child:
  mark: "%s"
  child:
    schedule: "[n] -> [{ S[i] -> [(i)] }]"
"""


@pytest.mark.parametrize(
    ("marks", "message"),
    [
        ("parallel:a", "a loop is marked to reduce 'a', but it reduces nothing"),
        ("parallel:zzz", "a loop is marked to reduce 'zzz', but it reduces nothing"),
    ],
)
def test_a_loop_reduces_what_its_mark_says(marks, message):
    with refused(message):
        ps.optimize(scale, schedule=ps.from_yaml(TREE % marks))
    with refused(message):
        ps.Schedule(scale, ps.from_yaml(TREE % marks))


def test_one_mark_of_a_loop_says_how_it_runs():
    domain, child, mark, below, loop = TREE.splitlines()
    lines = [domain, child, mark % "map:thread.x", below, f"  {mark % 'serial'}", f"  {below}", f"  {loop}"]
    with refused("a loop has the marks map and serial\nhint: one says how it runs"):
        ps.optimize(scale, "cuda", schedule=ps.from_yaml("\n".join(lines)))


def test_a_mark_of_a_loop_is_no_node():
    tree = ps.Schedule(scale).tree
    with refused("the mark parallel is a node\nhint: a loop has it in its member's `marks`"):
        ps.optimize(scale, schedule=type(tree)(tree.domain, Mark(Parallel(), tree.child)))


@pytest.mark.parametrize("cut", [("peel", "i", 1), ("split_set", "i", "i < 32")])
def test_a_product_is_all_of_its_statement(cut):
    name, *arguments = cut
    with refused("the band below runs a part of S, and a product is all of it"):
        getattr(ps.Schedule(product).product("S"), name)(*arguments)


def test_products_are_of_two_kinds():
    with refused("there is no product of kind 'foo'\nhint: one of packed, dots"):
        ps.Schedule(product).product("S", kind="foo")


def test_what_rounds_otherwise_is_allowed_by_the_options():
    cut = [ONE("zeros", "data", how="domain cut", fast_math=True)]
    conv = conv2d_nchw(batch=1, in_channel=4, in_size=8, num_filter=4, kernel=3, padding=1)
    with refused("is not exact\nhint: allow it with Options(fast_math=True)"):
        ps.Schedule(conv, prelude=cut)
    found = ps.Schedule(conv, options=ps.Options(fast_math=True), prelude=cut)
    with refused("is not exact\nhint: allow it with Options(fast_math=True)"):
        ps.optimize(conv, schedule=found, options=ps.Options())


@pytest.mark.parametrize("edit", [ONE("zeros", "data", "guard"), ONE("zeros", data="data", how="guard")])
def test_an_edit_of_a_nest_is_called_in_any_way(edit):
    conv = conv2d_nchw(batch=1, in_channel=4, in_size=8, num_filter=4, kernel=3, padding=1)
    schedule = ps.Schedule(conv, prelude=[edit]).reverse("n")
    assert ps.optimize(conv, schedule=schedule).rungs["padding"] == "data: guard"


def test_tiles_that_a_constraint_asks_for_are_in_the_script():
    options = ps.Options(constraints=(ps.tile_sizes("S", (16, 16, 16)),))
    text = ps.optimize(product, options=options).source.text
    auto = ps.Schedule.auto(product, options=options)
    assert ps.optimize(product, schedule=auto).source.text == text
    assert ps.optimize(product, schedule=auto, options=options).source.text == text
    with pytest.raises(ps.InputError, match="a schedule with marks is followed as it is"):
        ps.optimize(product, schedule=auto.decide("tile.i", 8), options=options)


@pytest.mark.parametrize(
    ("prelude", "message"),
    [
        (5, "the prelude is 5, but is a list of polysched.NestEdit"),
        ([1], "the prelude is [1], but is a list of polysched.NestEdit"),
        ([ONE("nothing")], "there is no edit 'nothing' of a nest"),
        ([ONE("without_dead"), ONE("units")], "without_dead() is the last edit of a nest, after units()"),
    ],
)
def test_a_prelude_is_a_list_of_edits(prelude, message):
    with refused(message):
        ps.Schedule(scale, prelude=prelude)


@pytest.mark.parametrize("edits", ["abc", [("tile",)], None])
def test_edits_at_once_are_a_list_of_edits(edits):
    with refused("but are a list of polysched.Edit\nhint: as in [ps.Edit.of("):
        ps.Schedule(scale).apply(edits)


def test_a_target_is_a_name():
    with refused("there is no target '['c']'"):
        ps.Schedule.auto(scale, ["c"])


@pytest.mark.parametrize("value", ["q", -1, 1.5, True])
def test_a_machine_is_of_integers(value):
    with refused(f"l1 of a machine is {value!r}, but is an integer of zero or more"):
        ps.Machine(l1=value)


def test_a_machine_is_written_as_json_and_read():
    schedule = ps.Schedule(scale, options=ps.Options(machine=ps.Machine(l1=1 << 14)))
    assert history_from_json(schedule.to_json()) == (schedule.history, None)
    with refused("is no machine: "):
        history_from_json(schedule.to_json().replace('"l1"', '"l9"'))
