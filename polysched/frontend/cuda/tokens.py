"""The words of a C++ text, and where its directives stand: neither is found inside of comments and strings.

>>> text = b'#define N 4 // "a"\\nint a = N; /* b */'
>>> sorted(identifiers(text, 0, len(text)))
['N', 'a', 'define', 'int']
>>> [text[start:end] for start, end in directives(text)]
[b'#define N 4 // "a"']
"""

from __future__ import annotations

import re
from functools import lru_cache

_TOKEN = re.compile(
    rb"""(?P<space>[ \t\r\f\v]+ | \\\r?\n | //(?:\\\r?\n|[^\n])* | /\*.*?\*/)
    | (?P<line>\n)
    | (?P<text>(?:u8|[uUL])?R"(?P<mark>[^ ()\\\n]{0,16})\(.*?\)(?P=mark)" | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*')
    | (?P<name>[A-Za-z_]\w*)
    | (?P<number>\.?\d(?:[eEpP][+-]|'?\w|\.)*)
    | (?P<other><<<|.)""",
    re.VERBOSE | re.DOTALL,
)


@lru_cache(maxsize=64)
def tokens(text: bytes) -> tuple[tuple[str, int, int], ...]:
    """Kind, start and end of each: "name", "number", "text", "other", or "line" for the end of one."""
    found = ((match.lastgroup or "", *match.span()) for match in _TOKEN.finditer(text))
    return tuple(token for token in found if token[0] != "space")


def identifiers(text: bytes, start: int, end: int) -> frozenset[str]:
    """Names and keywords between two offsets."""
    part = tokens(text[start:end])
    return frozenset(text[start + first : start + last].decode() for kind, first, last in part if kind == "name")


def find(text: bytes, word: bytes, start: int, end: int) -> int:
    """Where the word stands first between two offsets; -1 if it does not."""
    places = (start + first for _, first, last in tokens(text[start:end]) if text[start + first : start + last] == word)
    return next(places, -1)


def directives(text: bytes) -> list[tuple[int, int]]:
    """Where the preprocessor's lines start and end, continuations in them, the line's end not."""
    found, begins, start = [], True, -1
    for kind, first, _ in (*tokens(text), ("line", len(text), len(text))):
        if kind == "line" and start >= 0:
            found.append((start, first))
            start = -1
        elif begins and text[first : first + 1] == b"#":
            start = first
        begins = kind == "line"
    return found
