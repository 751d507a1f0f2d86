"""How far a search is, on standard error: a bar by rich on a terminal, if it is there, and else a line for a kernel.

    with Bar("gemm") as bar:
        tune(nest, progress=bar.shown)
"""

from __future__ import annotations

import sys
from typing import Any

from polysched.errors import ToolchainError
from polysched.opt.tuning.optional import optional
from polysched.opt.tuning.report import Progress


class Bar:
    """Of the search of a nest; what was shown stays only where lines were printed."""

    def __init__(self, name: str):
        self._name = name
        self._bar: Any = None

    def __enter__(self) -> Bar:
        if sys.stderr.isatty():
            self._bar = _bar()
        if self._bar is not None:
            self._bar.start()
            self._task = self._bar.add_task(f"{self._name}: builds the default", total=None)
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def shown(self, progress: Progress) -> None:
        if self._bar is None:
            print(progress, file=sys.stderr, flush=True)
            return
        what = f"{self._name}: best so far {progress.best:.2f}, this one {progress.said}"
        self._bar.update(self._task, completed=progress.trials, total=progress.of, description=what)


def _bar() -> Any:
    """A bar that is gone when it ends; None without rich."""
    try:
        console, bars = (optional(f"rich.{name}", "tune", "a bar") for name in ("console", "progress"))
    except ToolchainError:
        return None
    columns = (bars.TextColumn("{task.description}", markup=False), bars.BarColumn(), bars.MofNCompleteColumn())
    screen = console.Console(stderr=True)
    return bars.Progress(*columns, bars.TimeElapsedColumn(), console=screen, transient=True)
