"""Results in one short line, for the prompt of Python, where all of one would be thousands.

    >>> brief(ValueError("one\\ntwo"), "one\\ntwo")
    '<ValueError one two>'
"""

from __future__ import annotations

from typing import Any


def brief(value: Any, text: str) -> str:
    """What `repr` gives of a result: its type, and what tells it from others."""
    return f"<{type(value).__name__} {short(text)}>"


class Brief:
    """Base of results whose text, `str`, may have many lines."""

    def __repr__(self) -> str:
        return brief(self, str(self))


def short(text: str, limit: int = 100) -> str:
    """The beginning of a text, in one line."""
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[:limit]} ..."
