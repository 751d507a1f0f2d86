"""Where the user's code calls ours: refusals end there, and not at a line of ours; recursion may go deep.

    @entry                                Traceback (most recent call last):
    def optimize(nest, ...): ...            File "kernel.py", line 8, in <module>
                                              ps.optimize(5)
                                          polysched.errors.InputError: '5' is not a nest

POLYSCHED_TRACEBACK=full keeps our lines. What is no refusal, such as an assertion that fails, keeps them always.
Expressions as deep as people write them are no error: Python's usual limit of recursion ends at sums of 100 terms.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import wraps
from traceback import walk_tb
from types import FrameType, TracebackType
from typing import Any, TypeVar

from polysched.errors import InputError, PolyschedError
from polysched.support.limits import Limit

F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=type)


def entry(function: F) -> F:
    """The function, whose refusals have the user's lines alone in their tracebacks."""

    @wraps(function)
    def entered(*args: Any, **kwargs: Any) -> Any:
        with _deep:
            try:
                return function(*args, **kwargs)
            except RecursionError as error:
                if not _ends_in_ours(error.__traceback__):  # but in a function of the user's that we called
                    raise
                raise InputError("this is nested too deeply", hint=_SHALLOWER) from None
            except PolyschedError as error:
                if os.environ.get("POLYSCHED_TRACEBACK") != "full":
                    error.__traceback__ = _users(error.__traceback__)
                    error.__cause__, error.__suppress_context__ = None, True
                raise  # which, without an expression, adds no line of this function

    return entered  # type: ignore[return-value]


def _ends_in_ours(lines: TracebackType | None) -> bool:
    """Is one of the last lines ours? Below it may be those of libraries."""
    return any(_is_in(frame, "polysched") for frame, _ in [*walk_tb(lines)][-_TAIL:])


_TAIL = 50
_FRAMES = 10_000  # a sum of 250 terms needs some 3000; a stack of 8 MB holds more
_deep = Limit(sys.getrecursionlimit, sys.setrecursionlimit, lambda usual: max(usual, _FRAMES))
_SHALLOWER = "write long expressions as several statements, and fewer loops and conditions inside of one another"


def entries(cls: C) -> C:
    """The class, of which all public methods are entries, and so are making and calling an instance."""
    for name, member in list(vars(cls).items()):
        if name.startswith("_") and name not in ("__init__", "__call__"):
            continue
        if isinstance(member, staticmethod):
            setattr(cls, name, staticmethod(entry(member.__func__)))
        elif isinstance(member, type(entry)):
            setattr(cls, name, entry(member))
    return cls


def _users(lines: TracebackType | None) -> TracebackType | None:
    """Without ours, and those of the standard library between them; a function that we call may be the user's."""
    if lines is None:
        return None
    below = _users(lines.tb_next)
    if _is_in(lines.tb_frame, "polysched", "contextlib", "functools"):
        return below
    lines.tb_next = below
    return lines


def _is_in(frame: FrameType, *packages: str) -> bool:
    return frame.f_globals.get("__name__", "").partition(".")[0] in packages
