"""One kernel is timed on a machine at a time, while nobody builds: turns, by a lock of a file that all users share.

turns = Turns()
with turns.together(): ...        as many as there are may build
with turns.alone(): ...           one times, and nobody builds
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from polysched.errors import ToolchainError


class Turns:
    """Of this process and those that it forks, by one open file; ToolchainError if there can be none."""

    def __init__(self, path: Path | None = None):
        self.path = path or Path(tempfile.gettempdir(), "polysched-timing.lock")
        try:
            self._file = _opened(self.path)
        except OSError as error:
            raise ToolchainError(f"kernels cannot be timed alone: '{self.path}': {error.strerror or error}") from error

    @contextmanager
    def together(self) -> Iterator[None]:
        """Waits until nobody times."""
        with self._held(fcntl.LOCK_SH):
            yield

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Waits until nobody builds or times."""
        with self._held(fcntl.LOCK_EX):
            yield

    @contextmanager
    def _held(self, how: int) -> Iterator[None]:
        fcntl.flock(self._file, how)
        try:
            yield
        finally:
            fcntl.flock(self._file, fcntl.LOCK_UN)

    def close(self) -> None:
        os.close(self._file)


def _opened(path: Path) -> int:
    """A lock needs no right to write; some systems let nobody create what another user has in a shared folder."""
    try:
        return os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CREAT, 0o644)
