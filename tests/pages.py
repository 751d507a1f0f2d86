"""A page as what a browser makes of it: ids, links, and whether every element is closed."""

from __future__ import annotations

import re
from html.parser import HTMLParser

_EMPTY = {"meta", "br", "hr"}


class Page(HTMLParser):
    """Parsed; AssertionError for elements that are not closed in order."""

    def __init__(self, text: str):
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []  # ids that are linked to or used
        self.outside: list[str] = []  # what is to be loaded
        self.lines: dict[str, str | None] = {}  # data-line of lines, by id
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        if tag not in _EMPTY:
            self.open.append(tag)
        given = dict(attrs)
        if "id" in given:
            self.ids.append(given["id"])
        for key, value in given.items():
            if key in ("href", "src", "xlink:href"):
                (self.links if value.startswith("#") else self.outside).append(value.removeprefix("#"))
            self.links += re.findall(r"url\(#([^)]+)\)", value or "")
        if (given.get("class") or "").split()[:1] == ["l"]:
            self.lines[given["id"]] = given.get("data-line")

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, f"</{tag}> closes nothing"
