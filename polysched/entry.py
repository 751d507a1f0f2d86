"""Where the user's code calls ours: refusals end there, and not at a line of ours.

    @entry                                Traceback (most recent call last):
    def optimize(nest, ...): ...            File "kernel.py", line 8, in <module>
                                              ps.optimize(5)
                                          polysched.errors.InputError: '5' is not a nest

POLYSCHED_TRACEBACK=full keeps our lines. What is no refusal, such as an assertion that fails, keeps them always.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from types import TracebackType
from typing import Any, TypeVar

from polysched.errors import PolyschedError

F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=type)


def entry(function: F) -> F:
    """The function, whose refusals have the user's lines alone in their tracebacks."""

    @wraps(function)
    def entered(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except PolyschedError as error:
            if os.environ.get("POLYSCHED_TRACEBACK") != "full":
                error.__traceback__ = _users(error.__traceback__)
                error.__cause__, error.__suppress_context__ = None, True
            raise  # which, without an expression, adds no line of this function

    return entered  # type: ignore[return-value]


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
    if lines.tb_frame.f_globals.get("__name__", "").partition(".")[0] in ("polysched", "contextlib", "functools"):
        return below
    lines.tb_next = below
    return lines
