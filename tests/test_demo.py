"""polysched/cli/demo.py: the stages of the stencil in order, and the table of timed nests."""

from __future__ import annotations

import re

import numpy as np
import pytest

from polysched.cli import demo
from polysched.operators.examples import gemm, jacobi_2d, seidel_2d
from polysched.pipeline import Compiled

TINY = ((gemm, {"n": 5}), (jacobi_2d, {"tsteps": 2, "n": 9}), (seidel_2d, {"tsteps": 2, "n": 7}))


@pytest.fixture(scope="module")
def walk_through() -> str:
    with pytest.MonkeyPatch.context() as patch:
        lines: list[str] = []
        patch.setattr("builtins.print", lambda *values: lines.append(" ".join(map(str, values))))
        demo.walk_through()
    return "\n".join(lines)


STAGES = {
    "the nest": ["for i in 0..N:"],
    "model: domain, accesses, source order": [
        "domain  [N] -> { S[i, j] : 0 <= i < N and 0 <= j < N }",
        "read    [N] -> { S[i, j] -> a[i, 2 + j] }",
        "read    [N] -> { S[i, j] -> a[i, j] }",
        "write   [N] -> { S[i, j] -> a[1 + i, 1 + j] }",
    ],
    "dependences": [
        "S[i' = 1 + i, j' = -1 + j]",
        "S[i' = 1 + i, j' = j]",
        "S[i' = 1 + i, j' = 1 + j]",
    ],
    "hyperplane 1: the ILP's rows": [
        "C1 - C2 >= 0", "C1 + C2 >= 1", "u*N + w >= C1 + C2", "lexmin  (u, w, C1, C2, c0) = (0, 1, 1, 0, 0)",
        "flow S -> S on a: delta 1 <= 1",
    ],
    "hyperplane 2: the ILP's rows": ["C2 >= 1", "= (0, 2, 1, 1, 0)", "flow S -> S on a: delta 2 <= 2"],
    "schedule": ["band: permutable", "[S[i, j] -> i + j]", "no loop is parallel here, but tiles are, along wavefronts"],
    "schedule, tiled in diamonds, with wavefronts of tiles on threads": [
        "mark: parallel", "-> floor((i - j)/", "+ floor((i + j)/",
    ],
    "C": ["#pragma omp parallel for", "verified: legal for all sizes (3 dependences)"],
    "CUDA": ["__global__", "<<<", "verified on the CPU: legal for all sizes (3 dependences)"],
}  # fmt: skip


def test_the_stages_come_in_the_order_of_the_compiler(walk_through):
    assert re.findall(r"^=== (.*)$", walk_through, re.MULTILINE) == list(STAGES)


@pytest.mark.parametrize("stage", STAGES)
def test_each_stage_shows_its_key_lines(walk_through, stage):
    section = walk_through.partition(f"=== {stage}\n")[2].partition("\n=== ")[0]
    if "not verified on the CPU: no C++ compiler found" in section:
        pytest.skip("no C++ compiler found: the CUDA text cannot run on the CPU")
    assert [line for line in STAGES[stage] if line not in section] == []


def test_only_flow_dependences_are_listed(walk_through):
    section = walk_through.partition("=== dependences\n")[2].partition("\n=== ")[0]
    assert [line.split(":")[0] for line in section.split("\n") if line] == ["flow on a"] * 3


def test_the_table_has_a_row_for_every_nest(monkeypatch, capsys):
    monkeypatch.setattr(demo, "walk_through", lambda: None)
    monkeypatch.setattr(demo, "TIMED", TINY)
    monkeypatch.setattr(demo, "RUNS", 1)
    demo.demo()
    title, head, *rows = capsys.readouterr().out.strip().replace("\n\n", "\n").split("\n")
    assert title == "=== real nests: ours against source order, same compiler and flags"
    assert head.split() == ["nest", "sizes", "compile", "source", "order", "ours", "speed-up", "result"]
    pattern = r"(\w+) +((?:\w+=\d+(?:, )?)+) +\d+ ms +\d+\.\d{3} s +\d+\.\d{3} s +\d+\.\d\dx   bit-equal"
    found = [re.fullmatch(pattern, row) for row in rows]
    assert [(m[1], m[2].strip()) for m in found if m] == [
        ("gemm", "n=5"),
        ("jacobi_2d", "tsteps=2, n=9"),
        ("seidel_2d", "tsteps=2, n=7"),
    ]


def test_a_result_that_differs_stops_the_demo(monkeypatch):
    """Source order is made to give something else than ours."""
    right = Compiled.__call__

    def wrong(program, **arguments):
        right(program, **arguments)
        if program.options == demo.SOURCE_ORDER:
            arguments["C"][0, 0] = np.inf

    monkeypatch.setattr(Compiled, "__call__", wrong)
    with pytest.raises(AssertionError, match="gemm: results differ from source order"):
        demo._row(gemm, {"n": 3})
