"""Where the user's code stands that is being run, for messages and for the statements that come of it.

    C = ps.compute((n,), lambda i: A[i] / B[i, 0], "C")     ->      Loc("model.py", 12, 32, "C = ps.compute(...")

Code of the front ends is none of the user's.
"""

from __future__ import annotations

import linecache
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import islice
from pathlib import Path

from polysched.errors import InputError, Loc

_OURS = str(Path(__file__).parent.parent)  # no user's code is in the front ends
_BETWEEN = ("contextlib", "polysched.support.entry")
_PLACE: ContextVar[Loc | None] = ContextVar("place", default=None)


def caller() -> Loc | None:
    """What is being lowered, or the expression outside of the front ends that is evaluated; None if nothing is."""
    if (place := _PLACE.get()) is not None:
        return place
    frame = sys._getframe(1)
    while frame.f_code.co_filename.startswith(_OURS) or frame.f_globals.get("__name__") in _BETWEEN:
        if frame.f_back is None:
            return None
        frame = frame.f_back
    file, code = frame.f_code.co_filename, frame.f_code
    line, _, column, _ = next(islice(code.co_positions(), frame.f_lasti // 2, None))
    number = line or frame.f_lineno
    text = linecache.getline(file, number).rstrip("\n")
    return Loc(file, number, len(text.encode()[: column or 0].decode(errors="ignore")) + 1, text)


@contextmanager
def lowering(loc: Loc | None) -> Iterator[None]:
    """What is made in the block comes of this place, not of the call that reads all of the code."""
    before = _PLACE.set(loc)
    try:
        yield
    finally:
        _PLACE.reset(before)


@contextmanager
def at_caller() -> Iterator[None]:
    """Gives an InputError from inside the place of the caller, unless it has one."""
    try:
        yield
    except InputError as error:
        if error.loc is None:
            raise InputError(error.message, caller(), error.hint) from None
        raise
