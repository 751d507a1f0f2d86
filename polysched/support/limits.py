"""Limits of the interpreter, which are not a thread's, moved while any thread is inside.

    depth = Limit(sys.getrecursionlimit, sys.setrecursionlimit, lambda usual: max(usual, 10_000))
    with depth:
        ...                     and as it was when the last thread is out
"""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Limit(Generic[T]):
    """`inside` says what it is while a thread is inside, from what it is otherwise."""

    def __init__(self, get: Callable[[], T], set: Callable[[T], None], inside: Callable[[T], T]) -> None:
        self._get, self._set, self._moved = get, set, inside
        self._lock, self._inside, self._usual = threading.Lock(), 0, get()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._after_fork)

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._usual = self._get()
                self._set(self._moved(self._usual))
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._set(self._usual)

    def _after_fork(self) -> None:
        self._lock = threading.Lock()


_OBJECTS = 50_000  # of the youngest, that are looked through at a time, instead of 700


def _raised(thresholds: tuple[int, int, int]) -> tuple[int, int, int]:
    """Nothing changes where the collector is off, or runs less often still."""
    first, second, third = thresholds
    return first and max(first, _OBJECTS), second, third


# Python's garbage collector would walk the trees of a nest again and again, which have no cycles.
rare_garbage = Limit(gc.get_threshold, lambda thresholds: gc.set_threshold(*thresholds), _raised)
