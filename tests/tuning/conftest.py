"""Tests have a database of their own, and wait for nobody who times kernels on this machine."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("POLYSCHED_DATABASE", str(tmp_path / "tuned.sqlite"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path / "tuned.sqlite"
