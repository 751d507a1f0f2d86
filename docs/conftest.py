"""Pages may write files, and measure: each runs in a folder of its own, and has a database there."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("POLYSCHED_DATABASE", str(tmp_path / "tuned.sqlite"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))  # where the lock is by which tuners take turns
