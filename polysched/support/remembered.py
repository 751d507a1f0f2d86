"""Functions memoized by the identity of their arguments: isl's objects are slow to compare, and trees share them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

_all_known: list[dict[tuple[int, ...], tuple[Any, tuple[Any, ...]]]] = []

F = TypeVar("F", bound=Callable[..., Any])


def remembered(function: F) -> F:
    """The function, memoized by argument identity; arguments must be immutable."""
    known: dict[tuple[int, ...], tuple[Any, tuple[Any, ...]]] = {}
    _all_known.append(known)

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


def forget() -> None:
    """Frees what all of them hold."""
    for known in _all_known:
        known.clear()


_MOST = 1024
