"""One door for every step of the compiler: timed, recorded, dumped on request, named in an exception.

    POLYSCHED_DUMP=licm,cse|all   print the value after these steps, or "(unchanged)"
    POLYSCHED_VERIFY=1            check the value after each step: loops are well-formed, trees legal
    with record() as events: ...  the steps that ran inside, with their times
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar

from polysched.errors import BudgetExceeded, IllegalSchedule
from polysched.support import clock, isl
from polysched.support.brief import brief, short

T = TypeVar("T")


@dataclass(frozen=True)
class Event:
    """One step that ran: its name, seconds of wall time, whether the value changed, and the value."""

    name: str
    seconds: float
    changed: bool
    value: Any
    fallback: str = ""  # why the step was left out

    def __repr__(self) -> str:
        return brief(self, f"{self.name}: {self.seconds:.3f} s, {'changed' if self.changed else 'unchanged'}")


@dataclass(frozen=True)
class Declined:
    """What a schedule asks of a loop, and its kernel does not do."""

    mark: str  # the kind of loop that was asked for: "parallel", "vector", "block.x"
    loop: str  # its name in the schedule
    reason: str

    def __str__(self) -> str:
        return f"{self.loop} is not {'SIMD' if self.mark == 'vector' else self.mark}: {self.reason}"


_recorders: ContextVar[tuple[list[Event], ...]] = ContextVar("_recorders", default=())


@contextmanager
def record() -> Iterator[list[Event]]:
    """Collects the events of the steps that run in the block, in order of completion."""
    events: list[Event] = []
    token = _recorders.set((*_recorders.get(), events))
    try:
        yield events
    finally:
        _recorders.reset(token)


def verifies_each() -> bool:
    """Is what each step gives to be checked?"""
    return os.environ.get("POLYSCHED_VERIFY", "") not in ("", "0")


@contextmanager
def checked_by(check: Callable[[Any], None]) -> Iterator[None]:
    """With POLYSCHED_VERIFY=1, `check` sees what each step in the block gives, and raises what is wrong with it."""
    token = _checks.set((*_checks.get(), check) if verifies_each() else _checks.get())
    try:
        yield
    finally:
        _checks.reset(token)


_checks: ContextVar[tuple[Callable[[Any], None], ...]] = ContextVar("_checks", default=())


def is_watched() -> bool:
    """Does anyone record the steps that run, or print them?"""
    return bool(_recorders.get() or os.environ.get("POLYSCHED_DUMP"))


def step(name: str, fn: Callable[..., T], value: Any, *args: Any, **options: Any) -> T:
    """`fn(value, *args, **options)`, as a named step; an exception gains a note with the name and the input."""
    try:
        return timed(name, fn, value, *args, **options)
    except IllegalSchedule:  # which says all: two instances, and where they stand
        raise
    except Exception as error:
        error.add_note(f"in step {name!r}, on: {short(str(value), 200)}")
        raise


def optional(name: str, fn: Callable[..., T], value: T, *args: Any, **options: Any) -> T:
    """As `step`, for a step that a right result does not need: the value as it was where the step outgrows its budget,
    which its event says."""
    try:
        clock.check(name)
        with isl.within(_OPTIONAL_SECONDS):
            return step(name, fn, value, *args, **options)
    except BudgetExceeded as error:
        left_out(name, error, value)
        return value


_OPTIONAL_SECONDS = 5.0


def timed(name: str, fn: Callable[..., T], value: Any, *args: Any, **options: Any) -> T:
    """The same without the note, for steps that the user asks for by name."""
    start = time.perf_counter()
    result = fn(value, *args, **options)
    event = Event(name, time.perf_counter() - start, result is not value, result)
    for check in _checks.get() if event.changed else ():
        check(result)
    _note(event)
    if _is_dumped(name):
        print(f"--- {name}\n{result if event.changed else '(unchanged)'}", file=sys.stderr)
    return result


def left_out(name: str, reason: object, value: Any = None) -> None:
    """Tells those who record that a step is not done, which leaves the value as it was."""
    _note(Event(name, 0.0, False, value, fallback=f"left out, since {short(str(reason).partition(chr(10))[0], 200)}"))


def decline(mark: str, loop: str, reason: str) -> None:
    """Tells those who record that a pass does not do what the schedule asks of a loop."""
    _note(Event("declined", 0.0, False, Declined(mark, loop, reason)))


def _note(event: Event) -> None:
    for events in _recorders.get():
        events.append(event)


def _is_dumped(name: str) -> bool:
    wanted = os.environ.get("POLYSCHED_DUMP", "")
    return wanted == "all" or name in wanted.split(",")
