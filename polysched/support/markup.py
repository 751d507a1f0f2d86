"""HTML that is escaped by construction: texts are, elements are not.

    tag("p", "i < n, ", tag("b", "parallel"), id="x")     ->     <p id="x">i &lt; n, <b>parallel</b></p>
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from html import escape

_EMPTY = frozenset({"meta", "br", "hr", "img"})


class Html(str):
    """Text that is HTML already."""


def tag(name: str, /, *inside: str, **attributes: str | int | bool | None) -> Html:
    """The element; `inside` are texts or Html. Attributes that are None or False are left out, `class_` is class and
    `data_line` is data-line."""
    given = ((key, value) for key, value in attributes.items() if value is not None and value is not False)
    shown = "".join(_attribute(key, value) for key, value in given)
    if name in _EMPTY:
        return Html(f"<{name}{shown}>")
    return Html(f"<{name}{shown}>{joined(*inside)}</{name}>")


def joined(*parts: str, separator: str = "") -> Html:
    """The parts, one after the other."""
    return Html(separator.join(part if isinstance(part, Html) else escape(part) for part in parts))


def _attribute(key: str, value: str | int | bool) -> str:
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(str(value))}"'


def spans(text: str, tokens: re.Pattern[str], attribute: Callable[[str], Mapping[str, str]]) -> Html:
    """The text with its tokens told apart, by what follows from the name of the group that each is."""
    parts: list[str] = []
    end = 0
    for match in tokens.finditer(text):
        parts += [text[end : match.start()], tag("span", match.group(), **attribute(match.lastgroup or ""))]
        end = match.end()
    return joined(*parts, text[end:])
