"""`python -m benchmarks.operators`: its tables, and its exit status."""

from __future__ import annotations

import json
import sys

import pytest

from benchmarks.operators.__main__ import main
from benchmarks.operators.cases import Case
from benchmarks.operators.expressions import Counted, good, row, summary

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


def test_operations_are_counted_without_the_stage_and_with_it(monkeypatch, tmp_path, capsys):
    run(monkeypatch, tmp_path, [RIGHT], "--expressions", "--verbose")
    table = """\
                                                 mean of cases     worst      in total
operator                      cases  same  unknown  off/all  licm/all  off/all  off/all  licm/all
dense(batch=2, in_dim=3, out_dim=4, use_bias=True): off 227, licm 134, all 132
dense                             1     0        0    1.720     1.015    1.720    1.720     1.015
all                               1     0        0    1.720     1.015    1.720    1.720     1.015
fewer operations: 1 of 1 operators; more: none
"""
    assert capsys.readouterr().out == table


def test_a_case_that_cannot_be_counted_is_unknown_and_the_status_is_one(monkeypatch, tmp_path, capsys):
    with pytest.raises(SystemExit) as ended:
        run(monkeypatch, tmp_path, [REFUSED], "--expressions")
    assert ended.value.code == 1
    case, table = capsys.readouterr().out.splitlines()[2:4]
    assert case == (
        "batch_matmul(x_batch=2, y_batch=3, M=1, N=1, K=1): "
        "unknown: batch_matmul: batches of 2 and 3 do not match, and none of them is 1"
    )
    assert table.split() == ["batch_matmul", "1", "0", "1", *"-----"]


def test_means_leave_out_what_is_unchanged_and_an_operator_can_lose():
    def of(off, licm, every, unchanged=False):
        return Counted(Case("relu", {}), {"off": off, "licm": licm, "all": every}, unchanged)

    better, worse, same = of(300, 100, 100), of(100, 110, 200), of(100, 100, 100, unchanged=True)
    assert row("relu", [better, worse, same]).split()[1:] == [
        "3",
        "1",
        "0",
        "1.750",
        "0.775",
        "0.500",
        "1.250",
        "0.775",
    ]
    assert row("relu", [same]).split()[1:] == ["1", "1", "0", "-", "-", "-", "1.000", "1.000"]
    found = {"relu": [better, same], "clip": [worse], "dense": [same]}
    assert summary(found) == "fewer operations: 1 of 3 operators; more: clip"
    assert not good(found)
    assert good({"relu": [better, worse, same]})
