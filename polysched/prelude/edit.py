"""An edit of a nest, before anything is scheduled: its name, and all that it is given, as plain data.

    expand("s")
    zeros("data", how="padded copy")

Where the nest has several temporaries, or lives of an array, of one name, "s.2" is the second of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from polysched.config.plain import called
from polysched.errors import InputError
from polysched.ir.nodes import Function
from polysched.support.brief import Brief


@dataclass(frozen=True, repr=False)
class NestEdit(Brief):
    """One edit of a nest. What it does depends on the nest and its arguments alone: on no target, option or cost."""

    name: str
    args: tuple[Any, ...] = ()
    kwargs: tuple[tuple[str, Any], ...] = ()
    why: str = field(default="", compare=False)  # it was chosen

    @staticmethod
    def of(name: str, /, *args: Any, **kwargs: Any) -> NestEdit:
        """The edit as one calls it: NestEdit.of("zeros", "data", how="padded copy")."""
        return NestEdit(name, args, tuple(kwargs.items()))

    def __str__(self) -> str:
        return called(self.name, *self.args, **dict(self.kwargs))


class Edited(NamedTuple):
    """A nest, and the edits that made it."""

    function: Function
    edits: tuple[NestEdit, ...] = ()

    def __str__(self) -> str:
        return "\n".join(map(str, (self.function, *self.edits)))


class Places:
    """Names for the places that a walk meets."""

    def __init__(self) -> None:
        self._met: Counter[str] = Counter()

    def name(self, array: str) -> str:
        """That of the next place of the array: s, s.2, s.3, ..."""
        self._met[array] += 1
        return array if self._met[array] == 1 else f"{array}.{self._met[array]}"


def require_done(asked: Collection[str], done: Collection[str], message: str, hint: str) -> None:
    """InputError if something of what was asked for was not done; `message` has {} for what."""
    if missing := [place for place in asked if place not in done]:
        raise InputError(message.format(", ".join(f"'{place}'" for place in missing)), hint=hint)
