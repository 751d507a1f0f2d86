"""The README's example prints what it says; the table of options holds every one with its default."""

from __future__ import annotations

import doctest
import re
from dataclasses import MISSING, fields
from pathlib import Path

import numpy as np
import pytest

import polysched as ps
from polysched.config.options import Options

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def test_the_example_prints_the_output_below_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, output = re.findall(r"^```(?:python)?\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)[1:3]
    file = tmp_path / "smooth.py"
    file.write_text(code)
    exec(compile(code, str(file), "exec"), {})
    printed = capsys.readouterr().out
    assert doctest.OutputChecker().check_output(output, printed, doctest.ELLIPSIS), printed


def test_the_operator_computes_what_numpy_does(tmp_path: Path) -> None:
    code = re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)[1]
    file = tmp_path / "distances.py"
    file.write_text(code)
    names = {"np": np, "ps": ps}
    exec(compile(code, str(file), "exec"), names)
    assert np.allclose(names["out"], names["distances"](names["x"], names["y"]))


def test_the_table_of_options_is_complete() -> None:
    table = (ROOT / "docs" / "options.md").read_text()
    rows = dict(re.findall(r"^\| `(\w+)` \| `?(.+?)`? \|", table, re.MULTILINE))
    defaults = {f.name: repr(f.default).replace("'", '"') for f in fields(Options) if f.default is not MISSING}
    assert rows == defaults | {"machine": "this machine", "gpu": "a large one"}


def test_the_readme_is_short() -> None:
    assert len(README.splitlines()) <= 150
