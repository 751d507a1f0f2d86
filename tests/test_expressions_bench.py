"""benchmarks/expressions: the naive texts and nests mean the same, and the tables on one small operator and kernel."""

from __future__ import annotations

import re
import shutil
import sys

import numpy as np
import pytest

import polysched as ps
from benchmarks.expressions.__main__ import main
from benchmarks.expressions.operators import OPERATORS, Operator, elements_of, naive_text, nest_of
from benchmarks.expressions.stage_time import stage_events
from benchmarks.expressions.threads import as_it_stands, grid_for, on_threads
from benchmarks.expressions.winograd import naive_transform, transform
from polysched.ir.interp import interpret
from polysched.ir.nodes import For
from polysched.prelude.structure.structure import structured
from polysched.runtime.emulated.emulate import emulate

needs_nvcc = pytest.mark.skipif(shutil.which("nvcc") is None, reason="there is no nvcc to compile CUDA texts with")
needs_valgrind = pytest.mark.skipif(shutil.which("valgrind") is None, reason="there is no valgrind to count with")


@pytest.mark.parametrize("name", OPERATORS)
def test_naive_texts_have_the_parameters_of_their_nests(name):
    signature = re.search(rf"void {name}\((.*?)\)\n", naive_text(name), re.DOTALL)
    assert signature is not None
    assert tuple(re.findall(r"(\w+)(?:,|$)", signature[1])) == nest_of(name).params


def test_elements_on_threads():
    nest = nest_of("batched_matmul")
    (blocks,) = on_threads(nest, 1).body
    (threads,) = blocks.body
    assert [(loop.kind, loop.step) for loop in (blocks, threads)] == [("block.x", 256), ("thread.x", 1)]
    assert grid_for(257) == (2, 256)


def test_several_loops_on_threads():
    kinds = []
    (loop,) = on_threads(structured(nest_of("conv2d_nchw")), 4).body
    while isinstance(loop, For):
        kinds.append(loop.kind)
        loop = loop.body[0]
    assert kinds == ["block.w", "block.z", "block.y", "block.x", "thread.y", "thread.x"]


def test_what_stands_as_it_is_computes_the_nest():
    nest, sizes = nest_of("upsampling"), {"n": 2, "c": 3, "h": 5, "w": 7, "k": 3}
    data = np.arange(2 * 3 * 5 * 7, dtype=np.float32).reshape(2, 3, 5, 7)
    expected, found = (np.zeros(data.size * 9, np.float32) for _ in range(2))
    interpret(nest, {**sizes, "data": data, "out": expected})
    emulate(as_it_stands(nest).source, nest)(**sizes, data=data, out=found)
    np.testing.assert_array_equal(found, expected)


def test_a_transform_is_one_text_for_both():
    nest, naive = transform("winograd_output_2d"), naive_transform("winograd_output_2d")
    assert nest.params == ("out", "data") and nest.sizes == ()
    assert "__global__ void winograd_output_2d(float *__restrict__ out, const float *__restrict__ data)\n" in naive
    assert "= blockIdx.x * blockDim.x + threadIdx.x;\n    if (p < CHANNELS * TILES * TILES * 4 * 4) {\n" in naive


def test_a_tile_stays_in_the_thread():
    kinds = []
    loops = on_threads(structured(transform("winograd_input_2d")), 5)
    (loop,) = loops.body
    while isinstance(loop, For):
        kinds.append(loop.kind)
        loop = loop.body[0]
    assert kinds == ["block.z", "block.y", "block.x", "thread.y", "thread.x", "serial", "serial"]


def test_elements_and_their_threads():
    total, (first, *_, last) = elements_of(OPERATORS["upsampling"], {"n": 2, "c": 3, "h": 4, "w": 5, "k": 2})
    assert total == 2 * 3 * 8 * 10
    assert first.place == (5, 5, 1 * 3 + 1) and first.number == ((1 * 3 + 1) * 8 + 5) * 10 + 5
    assert last.place == (6, 6, 4) and last.number == first.number + 11
    tile = Operator("x c h w", "x=2 c=3 h=2 w=2", tile="x")
    assert [it.number for it in elements_of(tile, {"x": 2, "c": 3, "h": 2, "w": 2})[1]] == [7, 19]


def test_the_stage_is_what_comes_between_linearize_and_emit():
    done = ps.optimize(nest_of("batched_matmul"), "cuda")
    names = [event.name for event in stage_events(done.events)]
    assert "licm" in names and not {"linearize", "emit", "schedule"} & set(names)


@pytest.mark.slow
@needs_nvcc
def test_an_operator_end_to_end(monkeypatch, capsys):
    titles, row, mean = run(monkeypatch, capsys, "operators", "--operator", "channel_shuffle").splitlines()[1:]
    figures = dict(zip(titles.split()[1:5], map(float, row.split()[1:5]), strict=True))
    assert figures["stage"] < figures["naive"] < figures["off"]
    assert row.startswith("channel_shuffle ") and mean.startswith("geometric mean ")


@pytest.mark.slow
@needs_nvcc
def test_the_hottest_loop_of_a_kernel(monkeypatch, capsys):
    table = run(monkeypatch, capsys, "polybench-cuda", "--kernel", "trisolv")
    assert table.splitlines()[2].startswith("trisolv ")


@pytest.mark.slow
@needs_valgrind
def test_instructions_and_times_of_c(monkeypatch, capsys):
    monkeypatch.setattr("benchmarks.expressions.polybench_c.SLOWER", 100)
    table = run(monkeypatch, capsys, "polybench-c", "--kernel", "atax")
    assert 10_000 < int(table.splitlines()[2].split()[1]) < 1_000_000


def test_an_unknown_table_is_refused(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["expressions", "operator"])
    with pytest.raises(SystemExit):
        main()
    assert "no table is called operator; there are operators, winograd, " in capsys.readouterr().err


def run(monkeypatch, capsys, *arguments: str) -> str:
    """What the command prints; it must succeed."""
    monkeypatch.setattr(sys, "argv", ["expressions", *arguments])
    with pytest.raises(SystemExit) as stop:
        main()
    table = capsys.readouterr().out.strip()
    assert stop.value.code == 0, table
    return table
