"""A choice that a strategy makes, with what else it could be.

    tile.i = 64          of 0, 8, 16, 32, 64, 128, 256: a tile's data stays in the caches
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from polysched.errors import InputError

Value = bool | int | str
Order = Literal["free", "kept", "windows"]  # of iterations: what a strategy may make of it


@dataclass(frozen=True)
class Decision:
    """What was chosen; False, 0 and "" leave it out. A number need not be one of the candidates."""

    key: str  # as in "tile.i": what is decided, of which loop or statement
    value: Value
    candidates: tuple[Value, ...]  # worth a try, the value among them
    why: str

    def __str__(self) -> str:
        return f"{self.key} = {self.value!r}  of {', '.join(map(repr, self.candidates))}: {self.why}"

    def or_else(self, value: Any) -> Decision:
        """The same choice with another value; InputError if it can have no such one."""
        is_one = type(value) is type(self.value)
        if not is_one or not (value in self.candidates or value == "" or (type(value) is int and value >= 0)):
            kind = "an integer of zero or more, such as" if type(self.value) is int else "one of"
            raise InputError(
                f"{self.key} cannot be {value!r}", hint=f"{kind} {', '.join(map(repr, self.candidates))}"
            )
        if value == self.value:
            return self
        known = self.candidates if value in self.candidates else tuple(sorted((*self.candidates, value)))
        return replace(self, value=value, candidates=known, why="as you decided")


def sizes_around(size: int, powers: range) -> tuple[int, ...]:
    """None, powers of two, and the size itself."""
    return tuple(sorted({0, size, *(1 << k for k in powers)}))
