"""Calls in a child of `fork`, which has one thread, and the memory of a parent that had more.

OpenMP remembers, for the thread that a child starts with, others to share its loops with, and would wait for them
forever. A new thread has no such memory, so the calls of the first one go to one. Drivers of devices cannot be saved
like that: they work in the process that has started them.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import get_ident
from typing import Any

from polysched.errors import LaunchError

_came_through: int | None = None  # the thread that a child started with; None where nothing was forked
_fresh: ThreadPoolExecutor | None = None
_used: dict[str, int] = {}  # devices, and the process that uses them


def call(function: Callable[..., Any], *values: Any) -> None:
    """`function(*values)`, on a thread that may start others."""
    global _fresh
    if get_ident() != _came_through:
        function(*values)
        return
    if _fresh is None:
        _fresh = ThreadPoolExecutor(1)
    _fresh.submit(function, *values).result()


def require_own(device: str) -> None:
    """LaunchError if a parent of this process has used the device, by its name."""
    if _used.setdefault(device, os.getpid()) != os.getpid():
        raise LaunchError(
            f"this process is a fork of one that has used {device}, whose driver does not work here; start processes "
            'by "spawn", as in multiprocessing.get_context("spawn"), or use it here alone'
        )


def _mark() -> None:
    global _came_through, _fresh
    _came_through, _fresh = get_ident(), None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_mark)
