"""A choice that a strategy makes, with what else it could be.

    tile.i = 64          of 0, 8, 16, 32, 64, 128, 256: a tile's data stays in the caches
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from polysched.errors import InputError

Value = bool | int | str


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
        is_known = value in self.candidates or (type(value) is int and value >= 0)
        if type(value) is not type(self.value) or not is_known:
            others = ", ".join(map(repr, self.candidates))
            hint = f"as one of {others}" if others else ""
            raise InputError(f"{self.key} cannot be {value!r}", hint=hint)
        return Decision(self.key, value, self.candidates, self.why)


def sizes_around(size: int, least: int = 8, most: int = 512) -> tuple[int, ...]:
    """None, powers of two in reach, and the size itself."""
    powers = [1 << k for k in range(least.bit_length() - 1, most.bit_length()) if least <= 1 << k <= most]
    return tuple(sorted({0, size, *powers}))
