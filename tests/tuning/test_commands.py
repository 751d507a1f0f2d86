"""`polysched tune` and `polysched db`."""

from __future__ import annotations

from pathlib import Path

import pytest

from polysched.cli import main
from polysched.results.tuned.database import Database, Measurement
from polysched.results.tuned.task import Task

SCALE = """\
void scale(int n, double a[restrict n][n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            a[i][j] *= 2.0;
#pragma endscop
}
"""
TASK = Task(
    nest="1", name="f", target="c", options="Options()", machine="m", compiler="cc", version="0.0", sizes="n = 1"
)
FASTER = Measurement(answers=(("tile.i", 64),), state="confirmed", ratio=1.2, low=1.1, high=1.3, pairs=15)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "scale.c"
    path.write_text(SCALE)
    return path


def test_a_c_file_is_tuned_and_listed(file: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["tune", str(file), "--trials", "2", "--sizes", "n=40"]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("scale at n = 40: 2 kernels measured") and "schedule = " in shown.out
    assert [line.split()[0] for line in shown.err.splitlines()] == ["1/2", "2/2"]
    assert main(["db", "list"]) == 0
    assert capsys.readouterr().out.startswith("scale at n = 40: 2 kernels, ")
    assert main(["opt", str(file), "--tuned", "use"]) == 0


def test_what_is_wrong_is_said(file: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["tune", str(file), "--target", "opencl"]) == 2
    assert "timed on the CPU alone" in capsys.readouterr().err
    assert main(["tune", str(file), "--pin", "tile.z=3"]) == 2
    assert "there is no decision 'tile.z'" in capsys.readouterr().err
    assert main(["tune", str(file), "--sizes", "m=3"]) == 2
    assert "has a size m" in capsys.readouterr().err
    for wrong in (["--pin", "tile"], ["--trials", "many"], ["--trials", "-1"]):
        with pytest.raises(SystemExit):
            main(["tune", str(file), *wrong])


def test_a_database_goes_to_another_machine(database: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    with Database() as made:
        made.keep(TASK, FASTER)
    assert main(["db", "export", "-o", str(tmp_path / "all.json")]) == 0
    assert main(["db", "prune"]) == 0
    assert capsys.readouterr().out == "1 measurements are forgotten\n"
    assert main(["db", "list"]) == 0
    assert capsys.readouterr().out == f"nothing is in '{database}'\n"
    assert main(["db", "merge", str(tmp_path / "all.json")]) == 0
    assert capsys.readouterr().out == "1 measurements are new or newer\n"
    assert main(["db", "list"]) == 0
    assert capsys.readouterr().out.startswith("f at n = 1: 1 kernels, 1.20 times as fast by tile.i = 64\n")
    assert main(["db", "export"]) == 0
    assert capsys.readouterr().out == (tmp_path / "all.json").read_text()
    assert main(["db", "prune", "--nest", "g"]) == 0
    assert capsys.readouterr().out == "0 measurements are forgotten\n"
    assert main(["db", "merge", str(tmp_path / "none")]) == 2
