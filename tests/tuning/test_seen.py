"""polysched/opt/tuning/seen and the page of `polysched tune --report`: what a search has measured, looked at."""

from __future__ import annotations

import re
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest
from scipy import stats

import polysched as ps
from polysched.cli import main
from polysched.cli.report_page.tuned import write_report
from polysched.opt.tuning.seen.history import History, spearman
from polysched.opt.tuning.seen.importance import importances
from polysched.results.tuned.database import Measurement
from polysched.results.tuned.task import Task

TASK = Task(nest="1", name="f", target="c", options="Options()", machine="m", compiler="cc", version="0", sizes="n = 1")

SCALE = (
    "void scale(int n, double a[restrict n][n])\n{\n#pragma scop\nfor (int i = 0; i < n; i++)\n"
    "for (int j = 0; j < n; j++) a[i][j] *= 2.0;\n#pragma endscop\n}\n"
)


def measured(ratio: float, state: str = "measured", **values: object) -> Measurement:
    known = {"low": 0.99 * ratio, "high": 1.01 * ratio, "milliseconds": 1 / ratio, "predicted_ratio": ratio / 2}
    return Measurement(answers=(("tile.i_2", 8),), state=state, ratio=ratio, **{**known, **values})


# How large a tile is decides all, which loop is parallel nothing.
OF_TILES = [
    measured(0.5 + 0.1 * (k % 5), decisions=(("tile.i_2", 8 << (k % 5)), ("parallel.i", "ij"[k % 2])), build_seconds=k)
    for k in range(40)
]


def test_the_best_so_far_is_of_what_is_told_apart_from_noise():
    every = (measured(0.9), measured(1.1), measured(1.3, "noisy"), measured(1.2, low=0.9), measured(1.4))
    assert History(TASK, every).best == (1.0, 1.1, 1.1, 1.1, 1.4)


def test_ranks_are_correlated_as_scipy_does():
    one, other = [3.0, 1.0, 2.0, 2.0, 5.0], [1.0, 1.0, 4.0, 3.0, 9.0]
    assert spearman(one, other) == pytest.approx(stats.spearmanr(one, other).statistic)
    assert spearman([1.0, 1.0], [1.0, 2.0]) is None
    assert History(TASK, (measured(1.0), measured(2.0), measured(3.0))).rank == pytest.approx(1.0)
    assert History(TASK, (measured(1.0),)).rank is None


def test_no_other_is_both_faster_and_built_faster_than_one_of_the_front():
    every = tuple(measured(r, build_seconds=s) for r, s in ((1.0, 1.0), (0.5, 2.0), (2.0, 3.0), (1.5, 4.0), (3.0, 3.5)))
    assert [each.ratio for each in History(TASK, every).front] == [1.0, 2.0, 3.0]


@pytest.mark.skipif(not find_spec("lightgbm"), reason="LightGBM is not there")
def test_the_decision_that_mattered_is_found():
    found = importances(OF_TILES)
    assert found[0].key == "tile.i_2" and found[0].factor > 1.05
    assert all(each.factor < 1.01 for each in found[1:])
    assert importances(OF_TILES[:5]) == []


def test_the_page_needs_nothing_else_and_the_pictures_are_beside_it(tmp_path: Path):
    pytest.importorskip("matplotlib")
    page, image = write_report(tmp_path / "tuned.html", "f.c", [History(TASK, tuple(OF_TILES))])
    text = page.read_text()
    assert image.name == "tuned-f.png" and image.read_bytes().startswith(b"\x89PNG")
    assert "40 kernels at n = 1; m" in text and "tile.i_2 = 8" in text
    assert set(re.findall(r'(?:src|href)="(\w+:?)', text)) == {"data:"}


def test_a_file_that_is_no_report_stays(tmp_path: Path):
    target = tmp_path / "tuned.html"
    target.write_text("mine")
    with pytest.raises(ps.InputError, match="is no report"):
        write_report(target, "f.c", [])


def test_a_report_that_cannot_be_written_is_refused_before_anything_is_measured(tmp_path: Path, database: Path):
    target = tmp_path / "tuned.html"
    target.write_text("mine")
    (tmp_path / "scale.c").write_text(SCALE)
    assert main(["tune", str(tmp_path / "scale.c"), "--report", str(target)]) == 2
    assert target.read_text() == "mine" and not database.exists()


def test_few_measurements_are_no_reason_to_fail(tmp_path: Path):
    pytest.importorskip("matplotlib")
    none, one = History(TASK, ()), History(TASK, (measured(1.1, predicted_ratio=None, build_seconds=None),))
    failed = History(TASK, (Measurement(answers=(), state="failed"),))
    write_report(tmp_path / "tuned.html", "f.c", [none, one, failed])
    assert "Too few kernels" in (tmp_path / "tuned.html").read_text()


@pytest.mark.slow
def test_the_command_writes_a_report_of_what_is_known(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = tmp_path / "scale.c"
    file.write_text(SCALE)
    command = ["tune", str(file), "--sizes", "n=40", "--report", str(tmp_path / "out.html")]
    assert main([*command, "--trials", "1"]) == 0 == main([*command, "--trials", "0"])
    assert capsys.readouterr().out.endswith("out.html, " + str(tmp_path / "out-scale.png") + "\n")
    assert "1 kernels at n = 40" in (tmp_path / "out.html").read_text()


def test_a_confirmed_one_is_shown_as_such(tmp_path: Path):
    pytest.importorskip("matplotlib")
    history = History(TASK, (replace(measured(1.2), state="confirmed"),))
    write_report(tmp_path / "tuned.html", "f.c", [history])
    assert "<td>confirmed</td>" in (tmp_path / "tuned.html").read_text()
