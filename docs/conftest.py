"""Pages may write files, measure, and define instructions: each runs in a folder of its own, has a database there, and
knows only its own."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from polysched.model.instructions import own

collect_ignore = [] if find_spec("onnx") else ["graph.md", "reference/networks.md"]


@pytest.fixture(autouse=True)
def _instructions_of_its_own() -> Iterator[None]:
    yield
    own.INSTRUCTIONS.clear()


@pytest.fixture(autouse=True)
def _folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("POLYSCHED_DATABASE", str(tmp_path / "tuned.sqlite"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))  # where the lock is by which tuners take turns
