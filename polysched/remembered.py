"""Functions that remember what they gave for the same objects: isl's are slow to compare, and trees share them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def remembered(function: F) -> F:
    """The function, which is not called again for arguments that it has had, told by identity. They never change."""
    known: dict[tuple[int, ...], tuple[Any, tuple[Any, ...]]] = {}

    @wraps(function)
    def from_memory(*arguments: Any) -> Any:
        key = tuple(map(id, arguments))
        found = known.get(key)
        if found is None:
            if len(known) >= _MOST:
                known.clear()
            known[key] = found = function(*arguments), arguments  # which must live as long as their identities count
        return found[0]

    return from_memory  # type: ignore[return-value]


_MOST = 4096
