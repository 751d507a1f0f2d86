"""How long a search may take, by the clock; and what it answers with when the time is up.

    deadline = Deadline.after(5.0)
    deadline.share(0.6)               # a deadline after 60 % of what is left
    deadline.check("the ILP")         # BudgetExceeded once it has passed
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Literal

from polysched.errors import BudgetExceeded

# Who found a schedule, best first: each is tried when the one before it outgrew its budget.
Rung = Literal[
    "given",  # by the user
    "pluto",
    "pluto per SCC",
    "isl",
    "source order with parallel loops found",
    "source order",
]


@dataclass(frozen=True)
class Deadline:
    """A point in time, on the monotonic clock in seconds."""

    end: float

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        return cls(time.monotonic() + seconds)

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
            raise BudgetExceeded(f"{what} ran out of time; a larger solve_seconds gives it more")
