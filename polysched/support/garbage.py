"""Python's garbage collector, run less often: it would walk the trees of a nest again and again, which have no cycles.

    with rarely():
        ...                     the youngest objects are looked through for each 50,000 of them, not for each 700
"""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_OBJECTS = 50_000


class _Usual:
    """The interpreter's thresholds, which are not a thread's, as they were before any thread was inside."""

    def __init__(self) -> None:
        self.lock, self.inside, self.thresholds = threading.Lock(), 0, gc.get_threshold()

    def after_fork(self) -> None:
        self.lock = threading.Lock()


_usual = _Usual()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_usual.after_fork)


@contextmanager
def rarely() -> Iterator[None]:
    """While any thread is inside; nothing changes where the collector is off, or runs less often still."""
    with _usual.lock:
        if _usual.inside == 0:
            _usual.thresholds = first, *others = gc.get_threshold()
            gc.set_threshold(first and max(first, _OBJECTS), *others)
        _usual.inside += 1
    try:
        yield
    finally:
        with _usual.lock:
            _usual.inside -= 1
            if _usual.inside == 0:
                gc.set_threshold(*_usual.thresholds)
