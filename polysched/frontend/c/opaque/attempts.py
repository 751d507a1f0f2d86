"""What a reading has gathered, before a part is tried that may turn out to be no nest."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol

from polysched.frontend.c.expressions import Expressions
from polysched.frontend.c.flow.exits import Exits

_Saved = tuple[list[tuple[Any, dict[str, Any]]], Exits, list[str]]


class Reader(Protocol):
    read: Expressions
    exits: Exits
    inside: list[str]


def saved(reader: Reader) -> _Saved:
    """All that reading a statement adds to."""
    read = reader.read
    parts = [read, read.variables, read.proofs, read.structures, *([read.opaque] if read.opaque else [])]
    exits = replace(reader.exits, left=list(reader.exits.left))
    values = [(part, {name: _copy(value) for name, value in vars(part).items()}) for part in parts]
    return values, exits, list(reader.inside)


def restore(reader: Reader, before: _Saved) -> None:
    """Has the reading be what it was; collections that several parts share stay shared."""
    parts, reader.exits, reader.inside = before
    for part, values in parts:
        for name, value in values.items():
            now = getattr(part, name)
            if isinstance(value, dict | set):
                now.clear()
                now.update(value)
            elif isinstance(value, list):
                now[:] = value
            else:
                setattr(part, name, value)


def _copy(value: Any) -> Any:
    return type(value)(value) if type(value) in (dict, set, list) else value
