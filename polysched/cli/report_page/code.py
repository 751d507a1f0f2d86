"""Source and generated code side by side: each line with its number, and links between lines that belong together.

    10  A[i][j] = ...      <->      47  A[t21 + c5] = ...     both marked by one color, and lit together
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from polysched.codegen.emit.source import Source
from polysched.errors import Loc
from polysched.ir.node import walk
from polysched.ir.nodes import Function, Stmt
from polysched.support.markup import Html, joined, spans, tag

_COLOURS = 7  # of marks, in report.css
_AROUND = 12  # lines that are shown around a nest, where no blank one comes before
_FUNCTION = r"\s*(async +)?def \w|[A-Za-z_][^;=]*\([^;]*$"  # the first line of one, in Python and C
_TOKENS = re.compile(
    r"(?P<comment>/\*.*?(?:\*/|$)|//.*|(?<![\w\"'])#(?!\s*(?:pragma|include|define|ifdef|ifndef|if|else|endif)\b).*)"
    r"|(?P<pragma>^\s*#\s*\w+.*)|(?P<string>\"(?:[^\"\\]|\\.)*\")"
    r"|(?P<keyword>\b(?:for|if|else|while|do|return|const|restrict|static|inline|void|template|typename|using|struct|def|in"
    r"|range|import|from|__global__|__device__|__shared__|__restrict__|__kernel|__global|__local)\b)"
    r"|(?P<type>\b(?:double|float|int|char|bool|long|short|unsigned|size_t|half|u?int(?:8|16|32|64)_t|dim3)\b)"
    r"|(?P<number>\b\d[\w.]*)"
)


@dataclass(frozen=True)
class Code:
    """The two panes of a nest, whose ids begin with `name`."""

    name: str
    source: Html
    generated: Html
    linked: frozenset[int]  # the source lines that have an id

    def line(self, number: int) -> Html:
        """A link to a line of the source, if it is shown."""
        return tag("a", str(number), href=f"#{self.name}-s{number}") if number in self.linked else Html(str(number))


def code(name: str, nest: Function, source: Source) -> Code:
    """The lines around the nest, in its file, and what was generated."""
    locs = [node.loc for node in walk(nest.body) if isinstance(node, Stmt) and node.loc]
    file = locs[0].file if locs else ""
    of_line = [loc.line if loc and loc.file == file else None for loc in source.locs]
    mark = {line: k % _COLOURS for k, line in enumerate(dict.fromkeys(sorted(line for line in of_line if line)))}
    lines = _excerpt([loc for loc in locs if loc.file == file])
    left = [_source_line(name, number, text, of_line, mark) for number, text in lines]
    right = _generated(name, source.text.split("\n"), of_line, mark)
    return Code(name, joined(*left), right, frozenset(number for number, _ in lines))


def _excerpt(locs: Sequence[Loc]) -> list[tuple[int, str]]:
    """The lines of the nest, by number, with those around up to a blank one: its function, most often."""
    if not locs:
        return []
    path = Path(locs[0].file)
    text = path.read_text(errors="replace").split("\n") if path.is_file() else []
    known = {loc.line: loc.text for loc in locs}
    first, last = min(known), max(known)
    if len(text) < last or any(text[line - 1].rstrip("\r") != shown for line, shown in known.items() if shown):
        return sorted(known.items())  # the file is gone, or has changed
    before = next((k for k in range(_AROUND) if first - k < 2 or not text[first - k - 2].strip()), _AROUND)
    after = next((k for k in range(_AROUND) if last + k >= len(text) or not text[last + k].strip()), _AROUND)
    lines = [(number, text[number - 1].rstrip("\r")) for number in range(first - before, last + after + 1)]
    return _own(lines, first, last)


def _own(lines: Sequence[tuple[int, str]], first: int, last: int) -> list[tuple[int, str]]:
    """Those of the function, where others of the file are not apart from it by blank lines."""
    starts = [k for k, (_, line) in enumerate(lines) if re.match(_FUNCTION, line)]
    start = max((k for k in starts if lines[k][0] <= first), default=0)
    end = min((k for k in starts if lines[k][0] > last), default=len(lines))
    while start and lines[start - 1][1].lstrip().startswith("@"):
        start -= 1
    while end > start and lines[end - 1][0] > last and lines[end - 1][1].lstrip().startswith("@"):
        end -= 1
    return list(lines[start:end])


def _source_line(name: str, number: int, text: str, of_line: Sequence[int | None], mark: dict[int, int]) -> Html:
    to = of_line.index(number) + 1 if number in mark else None
    return _line(f"{name}-s{number}", number, text, number if to else None, f"#{name}-g{to}" if to else None, mark)


def _generated(name: str, lines: Sequence[str], of_line: Sequence[int | None], mark: dict[int, int]) -> Html:
    """The lines, those before the first function of the nest folded up."""
    first = next((k for k, line in enumerate(of_line) if line), 0)
    start = next((k + 1 for k in range(first - 1, -1, -1) if not lines[k].strip()), 0)
    shown = []
    for number, text, line in zip(count(1), lines, of_line, strict=False):
        shown.append(_line(f"{name}-g{number}", number, text, line, f"#{name}-s{line}" if line else None, mark))
    while shown and not lines[len(shown) - 1]:
        shown.pop()
    if start < 4:
        return joined(*shown)
    head = tag("summary", f"lines 1 to {start}: what the nest needs")
    return joined(tag("details", head, *shown[:start]), *shown[start:])


def _line(id_: str, number: int, text: str, line: int | None, href: str | None, mark: dict[int, int]) -> Html:
    """A line with its number, which is a link if there is a line of the other side, `line` being that of the source."""
    side = tag("a", str(number), class_="n", href=href) if href else tag("span", str(number), class_="n")
    colour = f" m{mark[line]}" if line is not None else ""
    return tag("div", side, tag("code", coloured(text)), class_=f"l{colour}", id=id_, data_line=line)


def coloured(text: str) -> Html:
    """A line of C or Python with its parts told apart."""
    return spans(text, _TOKENS, lambda kind: {"class_": f"c-{kind}"})


def linked_lines(text: str, to: Code) -> Html:
    """The text with "line 7" as links to the source."""
    parts: Iterable[str] = re.split(r"((?<=line )\d+(?: -> \d+|, \d+)*|(?<=\.py:)\d+|(?<=\.c:)\d+)", text)
    return joined(*(_numbers(part, to) if k % 2 else part for k, part in enumerate(parts)))


def _numbers(text: str, to: Code) -> Html:
    return joined(*(to.line(int(part)) if part.isdigit() else part for part in re.split(r"(\d+)", text)))
