"""The default strategy for CPUs as a script, and `Schedule.auto`, which gives it."""

from __future__ import annotations

import json
import pickle
import random
from dataclasses import replace

import numpy as np
import pytest
from scripts import check_changed, check_script

import polysched as ps
from benchmarks.polybench import KERNELS
from polysched.model.tree.nodes import Tree
from polysched.operators import conv2d_nchw, depthwise_conv2d

MACHINE = ps.Machine(vector_bytes=64, vector_registers=32, l1=32 << 10, l2=1 << 20, l3=32 << 20, cores=2)
OPTIONS = ps.Options(machine=MACHINE)


def test_the_script_of_a_triangular_product():
    script = str(ps.Schedule.auto(KERNELS["trmm"].nest, options=OPTIONS).history)
    assert script.split("\n    .")[1:] == [
        'reorder("k", "i", "j")',
        'tile("k", "i", "j", sizes=(256, 64, 240), names=("k_o", "i_o", "j_o"))',
        'tile("j", sizes=(24,), names=("j_r",))',
        'tile("i", sizes=(8,), names=("i_r",))',
        'reorder("j_r", "i_r", "k", "i", "j")',
        'unroll("i")',
        'vectorize("j")',
        'vectorize("j_2")',
        'reorder("j_o", "k_o", "i_o", "j_r", "i_r")',
        'parallel("j_o")',
        'parallel("i_2")\n)',
    ]


@pytest.mark.parametrize(
    ("kernel", "target"),
    [
        *((each, "c") for each in ("gemm", "jacobi-2d", "lu", "seidel-2d", "gesummv")),
        pytest.param("deriche", "c", marks=pytest.mark.slow),
        pytest.param("deriche", "cuda", marks=pytest.mark.slow),
        ("jacobi-2d", "cuda"),
    ],
)
def test_the_schedule_that_is_found_gives_the_same_text_again(kernel, target):
    nest = KERNELS[kernel].nest
    found = ps.optimize(nest, target, options=OPTIONS)
    schedule = found.schedule
    assert not isinstance(schedule.history.start, Tree)
    assert ps.Schedule.auto(nest, target, options=OPTIONS).history == schedule.history
    assert ps.Schedule(nest, "ilp", options=OPTIONS).map(target).history == schedule.history
    for again in (schedule, ps.Schedule.from_json(nest, schedule.to_json())):
        assert ps.optimize(nest, target, schedule=again).source.text == found.source.text


@pytest.mark.parametrize("target", ["c", "cuda"])
def test_json_keeps_decisions_and_answers(target):
    nest = KERNELS["gemm"].nest
    auto = ps.Schedule.auto(nest, target)
    answered = auto.without(next(each.key for each in auto.decisions if not each.candidates[0]))
    by_hand = ps.Schedule(nest).distribute("i").map(target)
    for schedule in (auto, answered, by_hand):
        again = ps.Schedule.from_json(nest, schedule.to_json())
        assert again.decisions == schedule.decisions != () and again.history == schedule.history
    last = next(each.key for each in reversed(auto.decisions) if not each.candidates[0])
    assert ps.Schedule.from_json(nest, answered.to_json()).without(last).history == answered.without(last).history


def test_edits_that_the_strategy_would_not_write_have_no_decisions():
    nest = KERNELS["gemm"].nest
    data = json.loads(ps.Schedule.auto(nest).to_json())
    del data["edits"][-1]
    fewer = ps.Schedule.from_json(nest, json.dumps(data))
    assert fewer.decisions == () and len(fewer.history.edits) == len(data["edits"])


def test_what_was_done_to_the_nest_before_is_part_of_it():
    conv = conv2d_nchw(batch=1, in_channel=16, in_size=14, num_filter=16, kernel=3, padding=1)
    schedule = ps.optimize(conv).schedule
    assert 'ps.NestEdit.of("zeros", "data", how="padded copy")' in schedule.script
    assert ps.optimize(conv, schedule=schedule).source.text == ps.optimize(conv).source.text


def test_a_schedule_by_hand_is_that_of_its_result():
    nest = KERNELS["gemm"].nest
    by_hand = ps.Schedule(nest).distribute("i").tile("i", "j", sizes=(16, 32))
    done = ps.optimize(nest, schedule=by_hand)
    for result in (done, pickle.loads(pickle.dumps(done))):
        assert result.schedule.history == by_hand.history
        assert ps.optimize(nest, schedule=result.schedule).source == done.source


def test_what_edits_left_open_is_mapped_by_further_edits():
    nest = KERNELS["gemm"].nest
    by_hand = ps.Schedule(nest, options=OPTIONS).distribute("i").tile("i", "j", sizes=(16, 32))
    mapped = by_hand.map()
    assert mapped.history.edits[:2] == by_hand.history.edits and 'parallel("' in mapped.script
    assert mapped.map() is mapped
    assert ps.optimize(nest, schedule=mapped).source == ps.optimize(nest, schedule=by_hand).source


def test_registers_fill_the_tiles_that_are_decided():
    auto = ps.Schedule.auto(KERNELS["gemm"].nest, options=OPTIONS)
    columns = [auto.decide("tile.j_2", size).decision("columns.j_2").value for size in (128, 240)]
    assert columns == [16, 24]


def test_a_decision_is_changed_and_what_follows_is_made_anew():
    schedule = ps.Schedule.auto(KERNELS["trmm"].nest, options=OPTIONS)
    assert [str(each) for each in schedule.decisions if "_" not in each.key][:3] == [
        "innermost.j = 'j'  of 'j', 'k', 'i': its iterations touch neighbors in memory",
        "tile.k = 256  of 0, 8, 16, 32, 64, 128, 256, 512: what a tile touches stays in the caches",
        "tile.i = 64  of 0, 8, 16, 32, 64, 128, 256, 512: what a tile touches stays in the caches",
    ]
    decided = schedule.decide("tile.k", 0).decide("rows.i", 4)
    assert [str(edit) for edit in decided.history.edits][1:5] == [
        '.tile("i", "j", sizes=(64, 240), names=("i_o", "j_o"))',
        '.reorder("i_o", "j_o", "k", "i", "j")',
        '.tile("j", sizes=(24,), names=("j_r",))',
        '.tile("i", sizes=(4,), names=("i_r",))',
    ]
    assert not [edit for edit in decided.without("columns.j").history.edits if "j_r" in str(edit)]
    done = ps.optimize(KERNELS["trmm"].nest, schedule=decided)
    assert done.schedule is decided
    done.verify()


def test_answers_that_are_none_are_refused():
    schedule = ps.Schedule.auto(KERNELS["gemm"].nest, options=OPTIONS)
    with pytest.raises(ps.InputError, match=r"there is no decision 'tile.q'\nhint: the decisions are innermost.i, "):
        schedule.decide("tile.q", 3)
    may_be = "(an integer of zero or more, such as|one of)"
    for key, value in {"tile.k": -1, "rows.i_2": True, "innermost.i": "k", "vectorize.j": 1}.items():
        with pytest.raises(ps.InputError, match=rf"{key} cannot be {value!r}\nhint: {may_be} "):
            schedule.decide(key, value)
    with pytest.raises(ps.InputError, match="no decisions: no strategy has written it"):
        ps.Schedule(KERNELS["gemm"].nest).decide("tile.k", 8)
    with pytest.raises(ps.InputError, match="no decisions: its last edits were read or made by hand"):
        ps.Schedule(KERNELS["gemm"].nest).tile("i", sizes=(8,)).decide("tile.k", 8)


def test_a_script_without_parallel_loops_says_so_that_it_is_not_mapped_anew():
    nest = KERNELS["seidel-2d"].nest
    schedule = ps.Schedule.auto(nest, options=OPTIONS).without("wavefront.t_o")
    assert [str(edit) for edit in schedule.history.edits[1:]] == ['.serial("t_o")']
    assert "omp" not in ps.optimize(nest, schedule=schedule).source.text
    assert schedule.decide("wavefront.t_o", True).history.edits[-1].name == "parallel"


@pytest.mark.parametrize(
    ("kernel", "edit"),
    {
        "floyd-warshall": '.split_set("k", "j // 64 == k_o or i // 64 == k_o")',  # parts that are parallel, in turn
        "trisolv": '.vectorize("j")',  # a sum on lanes
        "depthwise": '.skew("2r+s", by="r", factor=-2)',  # a window in a register tile
    }.items(),
)
def test_special_schedules_are_scripts_too(kernel, edit):
    nest = _DEPTHWISE if kernel == "depthwise" else KERNELS[kernel].nest
    found = ps.optimize(nest, options=replace(OPTIONS, reorder_reductions=kernel == "trisolv"))
    assert edit in map(str, found.schedule.history.edits)
    assert ps.optimize(nest, schedule=found.schedule).source.text == found.source.text


_DEPTHWISE = depthwise_conv2d(batch=1, in_channel=32, in_height=112, channel_multiplier=1, filter_height=3, padding=1)


def test_a_tree_that_is_given_comes_back():
    done = ps.optimize(KERNELS["atax"].nest)
    again = ps.optimize(KERNELS["atax"].nest, schedule=done.tree)
    assert again.schedule.history.start == done.tree
    with pytest.raises(ps.InputError, match=r"from another one\nhint: edit that one, or give its .tree"):
        ps.Schedule(KERNELS["atax"].nest, done.schedule)


def test_a_history_is_the_python_that_makes_the_schedule():
    conv = conv2d_nchw(batch=1, in_channel=16, in_size=14, num_filter=16, kernel=3, padding=1)
    for nest in (KERNELS["gemm"].nest, conv):
        schedule = ps.Schedule.auto(nest, options=OPTIONS)
        names = {"ps": ps, schedule.history.nest: nest}
        exec(schedule.script, names)
        assert names["schedule"].tree == schedule.tree


def test_a_nest_in_which_nothing_runs_in_parallel_is_a_schedule_too():
    @ps.nest
    def chain(a: ps.f64["n"], n: ps.size):
        for i in range(1, n):
            a[i] = a[i - 1] * a[i] + 1.0

    schedule = ps.Schedule.auto(chain)
    assert ps.optimize(chain, schedule=schedule).source.text == ps.optimize(chain).source.text


def test_unknown_targets_are_refused():
    with pytest.raises(ps.InputError, match="there is no target 'ptx'\nhint: the targets are c, cuda, opencl, hip"):
        ps.Schedule.auto(KERNELS["gemm"].nest, "ptx")


@pytest.mark.parametrize("kernel", ["gemm", "jacobi-1d", "lu", "atax"])
def test_one_line_less_is_legal_or_refused_by_name(kernel):
    rng = random.Random(kernel)
    for _ in range(3):
        assert check_changed(KERNELS[kernel].nest.function, rng) is not None


def test_random_nests_one_line_less():
    assert {True, False} <= {check_script(seed) for seed in range(12)}


def test_answers_that_nothing_asks_for_are_refused():
    schedule = ps.Schedule.auto(KERNELS["gemm"].nest, options=OPTIONS)
    with pytest.raises(ps.InputError, match=r"parallel\.i_2_o = '' would be without effect: it is not asked for"):
        schedule.without("parallel.i_2_o").without("tile.i_2")
    text = schedule.to_json().replace('"answers": {}', '"answers": {"tile.zz": 3}')
    again = ps.Schedule.from_json(KERNELS["gemm"].nest, text)
    assert again.decisions == () and "tile.zz = 3 would be without effect" in again.unwritten


def test_numbers_of_numpy_are_answers():
    schedule = ps.Schedule.auto(KERNELS["gemm"].nest, options=OPTIONS)
    assert schedule.decide("tile.k", np.int64(32)).to_json() == schedule.decide("tile.k", 32).to_json()
    with pytest.raises(ps.InputError, match=r"tile\.k cannot be array"):
        schedule.decide("tile.k", np.array([1, 2]))


@pytest.mark.parametrize("after", [-1, 99])
def test_a_strategy_wrote_edits_that_there_are(after):
    nest = KERNELS["gemm"].nest
    text = ps.Schedule.auto(nest, options=OPTIONS).to_json()
    assert '"after": 0' in text
    with pytest.raises(ps.InputError, match=f"a strategy wrote the edits from {after} on, and there are "):
        ps.Schedule.from_json(nest, text.replace('"after": 0', f'"after": {after}'))
