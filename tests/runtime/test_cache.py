import os
import subprocess
import sys
from pathlib import Path

import pytest

from polysched.errors import ToolchainError
from polysched.runtime.cache import cached


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("POLYSCHED_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


class Builder:
    """Writes `content`, and counts how often."""

    def __init__(self, content=b"program"):
        self.content, self.runs = content, 0

    def __call__(self, path):
        self.runs += 1
        path.write_bytes(self.content)


def test_a_program_is_built_once_per_content(folder):
    build = Builder()
    first = cached(["text", "command"], ".so", build)
    assert cached(["text", "command"], ".so", build) == first
    assert (build.runs, first.read_bytes(), first.parent) == (1, b"program", folder)
    assert cached(["text", "other command"], ".so", build) != first
    assert cached(["textcommand", ""], ".so", build) != cached(["text", "command"], ".so", build)


@pytest.mark.parametrize("damage", [b"", b"progra", b"progrbm", b"program and more"])
def test_a_damaged_program_is_built_again(damage):
    build = Builder()
    path = cached(["text"], ".so", build)
    path.write_bytes(damage)
    assert cached(["text"], ".so", build).read_bytes() == b"program"
    assert build.runs == 2


def test_a_build_that_fails_leaves_nothing(folder):
    def fail(path):
        path.write_bytes(b"half")
        raise ToolchainError("no")

    with pytest.raises(ToolchainError):
        cached(["text"], ".so", fail)
    assert list(folder.iterdir()) == []


def test_two_processes_build_the_same_at_once(folder):
    """Each starts while the other is still building; both find a whole file, and no litter stays."""
    program = f"""
import sys, time
from pathlib import Path
from polysched.runtime.cache import cached
mine, other = Path({str(folder.parent)!r}, sys.argv[1]), Path({str(folder.parent)!r}, sys.argv[2])
def build(path):
    mine.touch()
    while not other.exists():
        time.sleep(0.01)
    path.write_bytes(b"program" * 1000)
assert cached(["text"], ".so", build).read_bytes() == b"program" * 1000
"""
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    runs = [
        subprocess.Popen([sys.executable, "-c", program, *names], env=environment)
        for names in (("one", "two"), ("two", "one"))
    ]
    assert [run.wait(timeout=60) for run in runs] == [0, 0]
    assert len(list(folder.iterdir())) == 1


def test_a_folder_that_cannot_be_made_names_the_way_out(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("POLYSCHED_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(ToolchainError, match="set POLYSCHED_CACHE to a writable directory"):
        cached(["text"], ".so", Builder())
