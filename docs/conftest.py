"""Pages may write files, and define instructions: each runs in a folder of its own, and knows only its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from polysched.instructions import own


@pytest.fixture(autouse=True)
def _instructions_of_its_own() -> Iterator[None]:
    yield
    own.INSTRUCTIONS.clear()


@pytest.fixture(autouse=True)
def _folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
