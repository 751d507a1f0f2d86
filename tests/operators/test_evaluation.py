"""`python -m benchmarks.operators`: its table, and its exit status."""

from __future__ import annotations

import json
import sys

import pytest

from benchmarks.operators.__main__ import main

RIGHT = {"op": "dense", "args": {"batch": 2, "in_dim": 3, "out_dim": 4, "use_bias": True}}
REFUSED = {"op": "batch_matmul", "args": {"x_batch": 2, "y_batch": 3, "M": 1, "N": 1, "K": 1}}


def run(monkeypatch, tmp_path, cases, *options):
    path = tmp_path / "cases.json"
    path.write_text(json.dumps(cases))
    monkeypatch.setattr(sys, "argv", ["operators", "--cases", str(path), "--check", *options])
    main()


@pytest.mark.parametrize("options", [(), ("--quick",), ("--in-order",), ("--cuda",)])
def test_right_cases_are_counted(monkeypatch, tmp_path, capsys, options):
    run(monkeypatch, tmp_path, [RIGHT, RIGHT], *options)
    title, row, total = capsys.readouterr().out.splitlines()
    assert title.split()[:6] == ["operator", "cases", "right", "wrong", "refused", "late"]
    assert row.split()[:6] == ["dense", "2", "2", "0", "0", "0"]
    assert total.split()[:6] == ["all", "2", "2", "0", "0", "0"]


def test_a_refused_case_is_named_and_the_status_is_one(monkeypatch, tmp_path, capsys):
    with pytest.raises(SystemExit) as ended:
        run(monkeypatch, tmp_path, [REFUSED])
    assert ended.value.code == 1
    first, _, row, _ = capsys.readouterr().out.splitlines()
    assert first.startswith("refused: batch_matmul(x_batch=2, y_batch=3, M=1, N=1, K=1)")
    assert first.endswith("batch_matmul: batches of 2 and 3 do not match, and none of them is 1")
    assert row.split()[:6] == ["batch_matmul", "1", "0", "0", "1", "0"]


def test_a_late_case_is_not_right(monkeypatch, tmp_path, capsys):
    with pytest.raises(SystemExit):
        run(monkeypatch, tmp_path, [RIGHT], "--seconds", "0.001")
    assert capsys.readouterr().out.splitlines()[-1].split()[:6] == ["all", "1", "0", "0", "0", "1"]
