"""Values that have been computed and still hold where they are asked for: the table behind the elimination of common
subexpressions (`codegen/expr/cse.py`).

    x = a[i] * 2        a[i] * 2 is available as x
    b[i] = x            ... still: b is another array
    if c:               ... inside, too
        y = i * 3       i * 3 is available as y, up to the end of the branch
    a[j] = 0            what was read from a is not available any more

What reads memory is available in the block that computed it, up to the next write; what does not, inside of all
blocks below, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

V = TypeVar("V")


class Available(Generic[V]):
    """A hash table in scopes, one a block; keys of what reads memory have to be made with `stamp`."""

    def __init__(self) -> None:
        self._scopes: list[dict[Hashable, V]] = [{}]
        self._blocks = [0]  # a number for each scope, never used again
        self._opened = 0
        self._writes: Counter[str] = Counter()
        self._epoch = 0  # writes to who knows what

    @contextmanager
    def block(self) -> Iterator[None]:
        """A block inside of the present one: sees what that has; what is added in it is forgotten at its end."""
        self._opened += 1
        self._blocks.append(self._opened)
        self._scopes.append({})
        yield
        self._scopes.pop()
        self._blocks.pop()

    def find(self, key: Hashable) -> V | None:
        """What was added last under this key, innermost block first."""
        for scope in reversed(self._scopes):
            if key in scope:
                return scope[key]
        return None

    def add(self, key: Hashable, value: V) -> None:
        self._scopes[-1][key] = value

    def stamp(self, array: str) -> Hashable:
        """Part of a key that is the same as long as the array is, and only in this block."""
        return self._blocks[-1], self._epoch, self._writes[array]

    def write(self, array: str) -> None:
        """The array changes."""
        self._writes[array] += 1

    def write_all(self) -> None:
        """Any array may change."""
        self._epoch += 1
