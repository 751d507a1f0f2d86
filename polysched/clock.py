"""How long a stage may still take, by the clock; and an alarm that reaches into C.

    with running(5.0):            everything inside has 5 s, or what is left of the limit around it
        check("the search")       BudgetExceeded once they have passed
        left()                    seconds until then; inf where there is no limit

    deadline = Deadline.after(5.0)
    deadline.share(0.6)           a deadline after 60 % of what is left
"""

from __future__ import annotations

import ctypes
import math
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from polysched.errors import BudgetExceeded


@dataclass(frozen=True)
class Deadline:
    """A point in time, on the monotonic clock in seconds."""

    end: float

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        """So many seconds from now, or the end of what runs now where that comes sooner."""
        return cls(min(time.monotonic() + seconds, _running[-1].end))

    @property
    def left(self) -> float:
        """Seconds until then; zero once it has passed."""
        return max(0.0, self.end - time.monotonic())

    def share(self, part: float) -> Deadline:
        """The deadline after this part of what is left."""
        return Deadline.after(part * self.left)

    def check(self, what: str) -> None:
        """BudgetExceeded, naming `what` ran out of time, if it has passed."""
        if not self.left:
            raise BudgetExceeded(f"{what} ran out of time")


NEVER = Deadline(math.inf)
_running = [NEVER]  # the limits around what runs now, outermost first; each ends no later than the one before it


@contextmanager
def running(seconds: float) -> Iterator[Deadline]:
    """A limit for the block, within that of the block around it."""
    _running.append(Deadline.after(seconds))
    try:
        yield _running[-1]
    finally:
        _running.pop()


def left() -> float:
    """Seconds that what runs now may still take."""
    return _running[-1].left


def check(what: str) -> None:
    """BudgetExceeded, naming `what`, if the time of what runs now is up."""
    _running[-1].check(what)


class Alarm:
    """Calls a C function with an address after some time, from a thread of C's own: isl never lets go of Python's lock,
    so that no Python thread or signal handler could run meanwhile. POSIX timers; OSError where there are none."""

    def __init__(self, function: int, address: int):
        self._libc = ctypes.CDLL(None, use_errno=True)
        if not hasattr(self._libc, "timer_create"):
            raise OSError("this system has no POSIX timers")
        self._event = _Event(address=address, notify=_SIGEV_THREAD, function=function)
        self._timer, self._process = ctypes.c_void_p(), 0

    def set(self, seconds: float) -> None:
        """To ring after so many seconds, in place of any earlier time."""
        if self._process != os.getpid():  # a child has none of its parent's timers
            event, timer = ctypes.byref(self._event), ctypes.byref(self._timer)
            self._require(self._libc.timer_create(_CLOCK_MONOTONIC, event, timer))
            self._process = os.getpid()
        self._set(max(1, int(seconds * 1e9)))

    def stop(self) -> bool:
        """Has it rung, or is it about to? Then the call has been made, or will be any moment."""
        return self._set(0) == 0

    def _set(self, nanoseconds: int) -> int:
        """Nanoseconds that were left until it would have rung; 0 is off."""
        seconds, rest = divmod(nanoseconds, 10**9)
        new, old = _Times(0, 0, seconds, rest), _Times()
        self._require(self._libc.timer_settime(self._timer, 0, ctypes.byref(new), ctypes.byref(old)))
        return int(old.seconds * 10**9 + old.nanoseconds)

    def _require(self, status: int) -> None:
        if status:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


_CLOCK_MONOTONIC, _SIGEV_THREAD = 1, 2  # of Linux


class _Event(ctypes.Structure):
    """struct sigevent of Linux, 64 bytes."""

    _fields_ = (
        ("address", ctypes.c_void_p),
        ("signal", ctypes.c_int),
        ("notify", ctypes.c_int),
        ("function", ctypes.c_void_p),
        ("attributes", ctypes.c_void_p),
        ("padding", ctypes.c_char * 32),
    )


class _Times(ctypes.Structure):
    """struct itimerspec: the interval between later rings, of which there are none, and the time of the first."""

    _fields_ = tuple((name, ctypes.c_long) for name in ("every", "every_nanoseconds", "seconds", "nanoseconds"))
