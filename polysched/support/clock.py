"""How long a stage may still take, by the clock.

    with running(5.0):            everything inside has 5 s, or what is left of the limit around it
        check("the search")       BudgetExceeded once they have passed
        left()                    seconds until then; inf where there is no limit

    deadline = Deadline.after(5.0)
    deadline.share(0.6)           a deadline after 60 % of what is left
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from polysched.errors import BudgetExceeded


@dataclass(frozen=True)
class Deadline:
    """A point in time, on the monotonic clock in seconds."""

    end: float

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        """So many seconds from now, or the end of what runs now where that comes sooner."""
        return cls(min(time.monotonic() + seconds, _running.get().end))

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
_running = ContextVar("_running", default=NEVER)  # of this thread: that of the innermost block, which ends first


@contextmanager
def running(seconds: float) -> Iterator[Deadline]:
    """A limit for the block, within that of the block around it."""
    deadline = Deadline.after(seconds)
    token = _running.set(deadline)
    try:
        yield deadline
    finally:
        _running.reset(token)


def left() -> float:
    """Seconds that what runs now may still take."""
    return _running.get().left


def check(what: str) -> None:
    """BudgetExceeded, naming `what`, if the time of what runs now is up."""
    _running.get().check(what)
