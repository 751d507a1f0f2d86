"""Docstrings of this project, which are plain text, as reStructuredText.

Code stands in single backticks, pictures of loops are indented, and nothing else is markup.
"""

from __future__ import annotations

import re
from itertools import groupby


def connect(app) -> None:
    app.connect("autodoc-process-docstring", _rewrite)


def _rewrite(app, what, name, obj, options, lines: list[str]) -> None:
    lines[:] = restructured(lines)


def restructured(lines: list[str]) -> list[str]:
    """The lines of a docstring, its margin taken off, with code and pictures marked as such."""
    out: list[str] = []
    for picture, group in groupby(_paragraphs(lines), lambda paragraph: paragraph[0].startswith(" ")):
        paragraphs = [line for paragraph in group for line in [*paragraph, ""]]
        if picture:
            out += ["::", "", *(f"   {line}" for line in paragraphs), ""]
        else:
            out += [_inline(line) for line in paragraphs]
    return out


def _paragraphs(lines: list[str]) -> list[list[str]]:
    return [list(group) for filled, group in groupby(lines, lambda line: bool(line.strip())) if filled]


def _inline(line: str) -> str:
    parts = re.split(r"(`[^`]+`)", line)
    return "".join(f"`{part}`" if part.startswith("`") else re.sub(r"([*_|\\`])", r"\\\1", part) for part in parts)
