import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from polysched.errors import ToolchainError
from polysched.runtime import cache
from polysched.runtime.cache import cached, remember, remembered

ROOT = Path(__file__).parents[2]


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


def started(program, *arguments, **options):
    """A process of Python that runs the program."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen([sys.executable, "-c", program, *arguments], env=environment, text=True, **options)


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
    runs = [started(program, *names) for names in (("one", "two"), ("two", "one"))]
    assert [run.wait(timeout=60) for run in runs] == [0, 0]
    assert len(list(folder.iterdir())) == 1


def test_a_folder_that_cannot_be_made_names_the_way_out(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("POLYSCHED_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(ToolchainError, match="set POLYSCHED_CACHE to a writable directory"):
        cached(["text"], ".so", Builder())


# --- whose it is


def test_what_others_could_have_written_is_built_again():
    """It would be run with the rights of the user."""
    build = Builder()
    path = cached(["text"], ".so", build)
    assert path.stat().st_mode & 0o777 == 0o600 and path.parent.stat().st_mode & 0o777 == 0o700
    for mode in (0o620, 0o602):
        path.chmod(mode)
        assert cached(["text"], ".so", build).stat().st_mode & 0o777 == 0o600
    assert build.runs == 3


def test_what_another_user_owns_is_built_again(monkeypatch):
    build = Builder()
    path = cached(["text"], ".so", build)
    owner = path.stat().st_uid
    monkeypatch.setattr(cache, "_is_trusted", lambda found: found.st_uid != owner)
    cached(["text"], ".so", build)
    assert build.runs == 2
    assert remembered(["text"], ".so") is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_the_owner_is_looked_at():
    build = Builder()
    path = cached(["text"], ".so", build)
    os.chown(path, 12345, -1)
    assert remembered(["text"], ".so") is None
    cached(["text"], ".so", build)
    assert build.runs == 2
    os.chown(path.parent, 12345, -1)
    with pytest.raises(ToolchainError, match="belongs to another user; set POLYSCHED_CACHE to"):
        cached(["text"], ".so", build)


def test_a_link_and_a_fifo_are_not_read(tmp_path):
    build = Builder()
    path = cached(["text"], ".so", build)
    path.rename(tmp_path / path.name)
    path.symlink_to(tmp_path / path.name)
    assert not cached(["text"], ".so", build).is_symlink()
    path.unlink()
    os.mkfifo(path)
    assert cached(["text"], ".so", build).read_bytes() == b"program"
    assert build.runs == 3


def test_a_folder_where_others_write_is_refused(folder):
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.raises(ToolchainError, match=r"other users can write to the cache .*; chmod go-w it, or set POLY"):
        cached(["text"], ".so", Builder())
    folder.chmod(0o1777)  # like /tmp, where nobody renames the files of others
    cached(["text"], ".so", Builder())


# --- what goes wrong


def test_a_disk_that_is_full_is_named(folder):
    def build(path):
        path.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    with pytest.raises(ToolchainError) as error:
        cached(["text"], ".so", build)
    assert str(error.value) == (
        f"the cache {folder} cannot be written to: No space left on device; "
        "set POLYSCHED_CACHE to a writable directory of your own"
    )
    assert list(folder.iterdir()) == []


def test_a_folder_that_vanishes_is_made_again(folder):
    path = cached(["text"], ".so", Builder())
    path.unlink()
    folder.rmdir()
    assert cached(["text"], ".so", Builder()) == path


def test_without_a_home_temporary_files_have_a_folder(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.delenv("POLYSCHED_CACHE")
    monkeypatch.setenv("HOME", str(tmp_path / "file"))
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    folder = tmp_path / f"polysched-{os.geteuid()}"
    assert cached(["text"], ".so", Builder()).parent == folder
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.rename(tmp_path / "victim")
    folder.symlink_to(tmp_path / "victim")
    with pytest.raises(ToolchainError, match="is a link, which may be another user's"):
        cached(["other"], ".so", Builder())


# --- what is left over


def test_what_a_killed_process_leaves_is_swept(folder):
    program = """
import time
from polysched.runtime.cache import cached
def build(path):
    path.write_bytes(b"half")
    print(path, flush=True)
    time.sleep(60)
cached(["text"], ".so", build)
"""
    run = started(program, stdout=subprocess.PIPE)
    litter = Path(run.stdout.readline().strip())
    cached(["while it builds"], ".so", Builder())
    assert litter.exists()
    run.send_signal(signal.SIGKILL)
    run.wait()
    path = cached(["after it was killed"], ".so", Builder())
    assert not litter.parent.exists() and path.exists()


def test_files_of_others_are_not_swept(folder):
    """The folder that the user names may hold anything."""
    folder.mkdir(mode=0o700)
    mine = folder / "building-plan.txt"
    mine.write_text("x")
    cached(["text"], ".so", Builder())
    assert mine.exists()


def test_what_was_not_used_for_longest_goes(monkeypatch, folder):
    monkeypatch.setattr(cache, "_MOST_BYTES", 25)
    for age, name in enumerate(["used", "old", "new"]):
        path = cached([name], ".so", Builder())
        os.utime(path, (100 + age, 100 + age))
    assert remembered(["used"], ".so")
    mine = folder / "notes-of-mine.txt"
    mine.write_text("x" * 100)
    cached(["newest"], ".so", Builder(b"content"))
    assert [name for name in ("used", "old", "new", "newest") if remembered([name], ".so")] == ["used", "new", "newest"]
    assert mine.exists()


def test_content_is_remembered(folder):
    remember(["text"], ".txt", b"content")
    assert remembered(["text"], ".txt") == b"content"
    assert remembered(["other"], ".txt") is None
    folder.chmod(0o777)  # where nothing can be kept
    remember(["text"], ".txt", b"other")
    assert remembered(["text"], ".txt") is None


@pytest.mark.slow
def test_twenty_processes_build_the_same_at_once(folder):
    program = """
import ctypes, sys
from polysched.runtime.toolchain import compile_shared
sys.stdin.read()
print(ctypes.CDLL(str(compile_shared("int three(void) { return 3; }", "three"))).three())
"""
    runs = [started(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(20)]
    for run in runs:
        run.stdin.close()
    assert [run.stdout.read() for run in runs] == ["3\n"] * 20
    assert [run.wait(timeout=100) for run in runs] == [0] * 20
    assert not list(folder.glob("polysched-building-*"))
    assert len(list(folder.glob("*.so"))) == 1
