"""`python -m benchmarks.operators --pytorch`: its table; what it times only where PyTorch is installed."""

from __future__ import annotations

import json
import sys

import pytest

from benchmarks.operators import against_pytorch
from benchmarks.operators.__main__ import main
from benchmarks.operators.against_pytorch import HEADER, OFF, ON, OURS, Timed, row, summary, timed
from benchmarks.operators.cases import Case

DENSE = {"op": "dense", "args": {"batch": 2, "in_dim": 3, "out_dim": 4, "use_bias": True}}


def of(ours, off, on, **args):
    return Timed(Case("dense", args), {OURS: ours, OFF: off, ON: on})


def test_the_table_has_geometric_means_and_the_worst_case():
    cases = [of(1e-3, 2e-3, 1e-3, batch=1), of(2e-3, 1e-3, 4e-3, batch=2), Timed(Case("dense", {}), why="late")]
    table = """\
PyTorch's time / ours                                oneDNN off                  oneDNN on
operator                       cases     mean  in total    worst     mean  in total    worst
dense                              3     1.00      1.00     0.50     1.41      1.67     1.00
dense                              1        -         -        -        -         -        -"""
    assert "\n".join([HEADER, row("dense", cases), row("dense", cases[2:])]) == table
    assert summary(cases) == """\
at least as fast as PyTorch with oneDNN off: 1 of 3 cases
    0.50: dense(batch=2)
    2.00: dense(batch=1)
at least as fast as PyTorch with oneDNN on: 2 of 3 cases
    1.00: dense(batch=1)
    2.00: dense(batch=2)"""
    assert str(cases[0]) == "dense(batch=1): ours 1.000 ms, oneDNN off 2.000 ms, oneDNN on 1.000 ms: 2.00, 1.00"
    assert str(cases[2]) == "dense(): late"


def test_without_pytorch_it_says_how_to_install_it(monkeypatch):
    monkeypatch.setattr(against_pytorch, "pytorch", lambda: None)
    monkeypatch.setattr(sys, "argv", ["operators", "--pytorch"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == (
        "--pytorch needs PyTorch, which is not installed: "
        "pip install torch --index-url https://download.pytorch.org/whl/cpu"
    )


def test_a_case_is_timed_in_all_three_ways(monkeypatch, tmp_path, capsys):
    torch = pytest.importorskip("torch")
    (tmp_path / "cases.json").write_text(json.dumps([DENSE]))
    options = ["--cases", str(tmp_path / "cases.json"), "--json", str(tmp_path / "found.json"), "--verbose", "--check"]
    monkeypatch.setattr(sys, "argv", ["operators", "--pytorch", *options])
    main()
    title, *_, total = capsys.readouterr().out.partition("\nat least")[0].splitlines()
    options = "reorder_reductions, fast_math, contract_floats"
    assert title == f"PyTorch {torch.__version__} on the CPU; 2 threads; ours with {options}"
    assert total.startswith("all                                1 ")
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["case"] == DENSE
    assert set(found["seconds"]) == {OURS, OFF, ON}
    assert min(found["seconds"].values()) > 0


def test_a_case_that_takes_too_long_is_not_timed():
    found = timed(Case(DENSE["op"], DENSE["args"]), 1e-3)
    assert (found.seconds, found.why) == ({}, "not done within the time limit")
