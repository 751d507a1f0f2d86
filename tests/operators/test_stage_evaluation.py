"""`python -m benchmarks.operators --evaluate`: its columns, its table, what it must reach, and its file."""

from __future__ import annotations

import json
import shutil
import sys

import pytest

import polysched as ps
from benchmarks.operators import evaluation
from benchmarks.operators.__main__ import main
from benchmarks.operators.cases import Case
from benchmarks.operators.columns import COLUMNS, UNCHANGED, Found
from benchmarks.operators.evaluation_table import HEADER, good, lines, losing, row, speed_up, unclear
from tests import fake_cuda

DENSE = {"op": "dense", "args": {"batch": 2, "in_dim": 30, "out_dim": 40, "use_bias": True}}
REFUSED = {"op": "batch_matmul", "args": {"x_batch": 2, "y_batch": 3, "M": 1, "N": 1, "K": 1}}


@pytest.fixture
def run(monkeypatch, tmp_path):
    def evaluated(cases, *options):
        path = tmp_path / "cases.json"
        path.write_text(json.dumps(cases))
        monkeypatch.setattr(sys, "argv", ["operators", "--cases", str(path), "--evaluate", "--check", *options])
        main()

    return evaluated


def test_a_case_in_the_columns_that_are_counted(run, tmp_path, capsys):
    found = tmp_path / "found.json"
    run([DENSE], "--columns", "integers", "instructions", "--json", str(found))
    table = capsys.readouterr()
    assert table.out.startswith(HEADER)
    assert [line.partition(" ")[0] for line in table.out.splitlines()[2:4]] == ["dense", "all"]
    assert table.err == "1/1 dense(batch=2, in_dim=30, out_dim=40, use_bias=True)\n"
    assert "integer operations: 1 of 1 operators gain; lose: none\n" in table.out
    integers, instructions = map(json.loads, found.read_text().splitlines())
    assert (integers["column"], instructions["column"]) == ("integers", "instructions")
    assert integers["values"]["off"] > integers["values"]["all"]
    assert all(2 * 30 * 40 / 16 < count < 2 * 30 * 40 * 4 for [count] in instructions["values"].values())


def test_what_the_file_has_is_not_found_again(run, tmp_path, capsys, monkeypatch):
    found = tmp_path / "found.json"
    run([DENSE], "--columns", "integers", "--json", str(found))
    first = capsys.readouterr().out
    monkeypatch.setitem(COLUMNS, "integers", lambda *arguments: pytest.fail("found again"))
    run([DENSE], "--columns", "integers", "--json", str(found))
    assert capsys.readouterr().out == first
    assert len(found.read_text().splitlines()) == 1


def test_equal_cases_are_measured_once_and_count_each(run, tmp_path, capsys):
    found = tmp_path / "found.json"
    run([DENSE, DENSE], "--columns", "integers", "--json", str(found))
    assert [line.split()[:2] for line in capsys.readouterr().out.splitlines()[2:4]] == [["dense", "2"], ["all", "2"]]
    assert len(found.read_text().splitlines()) == 1


def test_what_is_not_found_is_named_and_the_status_is_one(run, capsys):
    with pytest.raises(SystemExit) as ended:
        run([REFUSED], "--columns", "integers")
    assert ended.value.code == 1
    why = "batch_matmul: batches of 2 and 3 do not match, and none of them is 1"
    assert capsys.readouterr().out.splitlines()[-1] == f"integers: 1 cases unknown, the first since {why}"
    with pytest.raises(SystemExit):
        run([DENSE], "--columns", "time", "--seconds", "0", "--rounds", "0.001")
    assert capsys.readouterr().out.endswith("time: 1 cases unknown, the first since not done within the time limit\n")


def test_what_seems_to_lose_is_measured_again_and_longer(run, tmp_path, monkeypatch):
    found = tmp_path / "found.json"
    monkeypatch.setitem(COLUMNS, "time", lambda case, options, rounds: timed(0.9, rounds=3 * int(rounds)))
    with pytest.raises(SystemExit):
        run([DENSE], "--columns", "time", "--json", str(found), "--rounds", "1")
    samples = [len(json.loads(line)["values"]["all"]) for line in found.read_text().splitlines()]
    assert samples == [3, 12, 48]
    pooled = evaluation.Findings(found, ps.Options(), 1.0).of([Case("dense", DENSE["args"])])
    [(_, columns)] = pooled
    assert len(columns["time"].values["off"]) == 63


@pytest.mark.slow
def test_a_case_is_timed_in_turns():
    case = Case("dense", {"batch": 32, "in_dim": 1024, "out_dim": 1024, "use_bias": True})
    found = COLUMNS["time"](case, ps.Options(reorder_reductions=True), 0.01)
    assert found.values.keys() == {"off", "licm", "all"}
    assert len(found.values["off"]) == len(found.values["all"]) >= 1
    short = COLUMNS["time"](Case("relu", {"m": 2, "n": 3}), ps.Options(), 0.01)
    assert (short.values, short.note, short.is_left_out) == ({}, "under 50 us", True)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="there is no nvcc to compile CUDA texts with")
def test_integers_of_the_hottest_loop():
    found = COLUMNS["sass"](Case("relu", {"m": 64, "n": 64}), ps.Options(), 0.0)
    assert found.values["off"][0] >= found.values["all"][0] > 0


@pytest.mark.slow
def test_cuda_is_timed_where_there_is_a_device(monkeypatch):
    if fake_cuda.device(monkeypatch).fake is None:
        pytest.skip("this machine has a GPU: python -m benchmarks.operators --evaluate")
    found = COLUMNS["gpu"](Case("dense", DENSE["args"]), ps.Options(reorder_reductions=True), 0.0)
    assert set(found.values["all"]) == {0.25e-3}  # the stand-in's clock


# --- the table


def timed(ratio, rounds=9, spread=0.0, seconds=1e-3):
    """A time with and without the stage, the rounds' ratios from ratio - spread to ratio + spread."""
    ratios = [ratio + spread * (2 * k / (rounds - 1) - 1) for k in range(rounds)]
    return Found({"off": [each * seconds for each in ratios], "licm": [seconds] * rounds, "all": [seconds] * rounds})


def counted(off, licm, every):
    return Found({"off": [off], "licm": [licm], "all": [every]})


def test_means_leave_out_what_is_unchanged_and_short_and_take_small_changes_as_none():
    results = {
        "a": {"integers": counted(300, 100, 100), "time": timed(1.5)},
        "b": {"integers": counted(100, 100, 100), "time": timed(1.005, seconds=2e-3)},
        "c": {"integers": UNCHANGED, "time": UNCHANGED, "sass": counted(0, 0, 0)},
        "d": {"time": Found(note="under 50 us", is_left_out=True)},
    }
    expected = ["relu", "4", "2.000", "1.000", "1.000", "1.000", "-", "-"]
    expected += ["2", "1.250", "0.000", "1.000", "1.170", *"----"]
    assert row("relu", list(results.items())).split() == expected
    assert speed_up([("c", results["c"])]) is None


def test_a_loss_counts_where_the_samples_are_clear():
    clear, noisy, small = ([("case", {"time": found})] for found in (timed(0.9), timed(0.95, spread=0.2), timed(0.985)))
    operators = {"clip": clear, "relu": noisy, "dense": small}
    assert (losing(operators), unclear(operators)) == (["clip"], ["relu"])
    assert not good(operators, ["time"])
    assert not losing({"clip": [("case", {"time": timed(0.9, rounds=3)})]})  # which are too few to tell
    assert good({"relu": noisy, "dense": small}, ["time"])
    *_, time, slower = lines(operators)
    assert time.startswith("C time: 0 of 3 operators gain; lose: clip, dense; published, on a GPU: 10 of 21 ")
    assert slower == "C time, slower by over 2%: clip; unclear: relu"


def test_half_of_the_operators_must_gain_in_integer_operations():
    better, same = ([("case", {"integers": found})] for found in (counted(3, 2, 1), counted(2, 2, 2)))
    assert good({"clip": better, "relu": same}, ["integers"])
    assert not good({"clip": better, "relu": same, "dense": same}, ["integers"])
