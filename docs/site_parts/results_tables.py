"""Tables of numbers, read from Markdown and from what programs print."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import groupby, zip_longest

NUMBER = r"(?<![\w.^])[-+]?\d[\d,]*(?:\.\d+)?(?:%|x\b)?(?![\w^]|\.\d)(?: (?:ms|us|s)\b)?"
FUSED = r"\d+\.\d{3}(?=\d+\.\d{3}\b)"  # of a column that is too narrow: 17115.16117099.842
PHRASE = r"\S+(?: \S+)*"


@dataclass
class Column:
    name: str
    cells: list[tuple[float, ...]]  # of a row: none, one, or a few, as in `0.96 to 1.18`
    fractional: bool
    ratio: bool = False
    better: int = 0  # 1: higher is better, -1: lower is, 0: the header does not tell


@dataclass
class Table:
    labels: list[str]
    columns: list[Column]
    header: list[str] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)

    def named(self, k: int) -> str:
        return self.columns[k].name or f"column {k + 1}"

    def part(self, rows: slice) -> Table:
        return Table(self.labels[rows], [replace(column, cells=column.cells[rows]) for column in self.columns])


@dataclass
class Cell:
    start: int
    end: int
    text: str

    def is_number(self) -> bool:
        return bool(re.fullmatch(NUMBER, self.text))


Row = tuple[str, list[Cell]]


def read(text: str, before: Table | None = None) -> list[Table]:
    """The tables of a Markdown table or of printed lines, which may go on the table before without a header."""
    lines = text.splitlines()
    return [_piped(lines)] if text.startswith("|") else [*_printed(lines, before)]


def _piped(lines: list[str]) -> Table:
    header, _, *rows = ([cell.strip() for cell in line.strip()[1:-1].split("|")] for line in lines)
    values = [[re.split(r"[:;]", cell)[0] for cell in row] for row in rows]
    columns = [_column(name, [row[k] for row in values]) for k, name in enumerate(header) if k]
    return Table([row[0] for row in rows], columns, lines[:1])


def _column(name: str, texts: list[str]) -> Column:
    cells = [tuple(map(_value, re.findall(NUMBER, text))) for text in texts]
    return Column(name, cells, any(re.search(r"\d[.,]\d|%", text) for text in texts))


def _value(text: str) -> float:
    number = float(re.sub(r"[^-\d.]", "", text))
    return number / 100 if "%" in text else number


def _printed(lines: list[str], before: Table | None) -> Iterator[Table]:
    above: list[str] = []
    for kind, group in groupby(zip(_kinds(lines), lines, strict=True), lambda pair: pair[0]):
        run = [line for _, line in group if line.strip()]
        if kind == "text":
            above = run
        elif kind == "row":
            abreast = zip_longest(*(_rows(line) for line in run))
            before = _aligned(above, [row for rows in abreast for row in rows if row], before)
            yield before
            above = []
        elif len(run) > 1:
            yield _sentences(run)


def _kinds(lines: list[str]) -> list[str]:
    """`row` for aligned cells, `text`, or the words of a sentence that others repeat with other numbers."""
    kinds = [_kind(line) for line in lines]
    for k in range(1, len(lines) - 1):
        if kinds[k - 1] == kinds[k + 1] == "row" and re.search(r"\S  ", lines[k]):
            kinds[k] = "row"  # without figures: `took too long`
    return kinds


def _kind(line: str) -> str:
    if any(cells for _, cells in _rows(line)):
        return "row"
    said = _sentence(line)
    return re.sub(NUMBER, "#", said[1]) if said else "text"


def _sentence(line: str) -> tuple[str, str] | None:
    parts = re.fullmatch(r"(\S.*?)(?:: |\s{2,})(\S.*)", line)
    plain = parts and "  " not in parts[2] and re.search("[a-z]", parts[2]) and len(re.findall(NUMBER, parts[2])) > 1
    return (parts[1], parts[2]) if parts and plain else None


def _sentences(lines: list[str]) -> Table:
    said = [pair for line in lines if (pair := _sentence(line))]
    values = [[pair for clause in re.split(r"[,;:] ", rest) for pair in _named(clause)] for _, rest in said]
    columns = [_column(column[0][0], [text for _, text in column]) for column in zip(*values, strict=True)]
    return Table([label for label, _ in said], columns)


def _named(clause: str) -> list[tuple[str, str]]:
    """Numbers with the words before them, and the last one with those after it."""
    *words, rest = (word.strip() for word in re.split(NUMBER, clause))
    names = [word or (f"{words[0]} ({k + 1})" if k and words[0] else "") for k, word in enumerate(words)]
    if names:
        names[-1] = " … ".join(filter(None, (names[-1], rest)))
    return [*zip(names, re.findall(NUMBER, clause), strict=True)]


def _rows(line: str) -> list[Row]:
    """The row, or the rows side by side, of a line: each a label and its cells."""
    first, *rest = _cells(line) or [Cell(0, 0, "")]
    groups: list[tuple[str, list[Cell]]] = [(first.text, [])]
    for is_number, group in groupby(rest, Cell.is_number):
        cells = list(group)
        if is_number:
            groups[-1][1].extend(cells)
        else:
            groups.append((" ".join(cell.text for cell in cells), []))
    filled = [cells for _, cells in groups if cells]
    if len(filled) == len(groups) > 1 and len(filled[0]) > 1 and len({len(cells) for cells in filled}) == 1:
        return [(label, [Cell(a.start, a.end, c.text) for a, c in zip(filled[0], cells, strict=True)])
                for label, cells in groups]
    return [(_label(groups), [cell for cells in filled for cell in cells])] if filled else [(first.text, [])]


def _label(groups: list[tuple[str, list[Cell]]]) -> str:
    """With the text after it, as `512x1000` or `without tiles`, where no number is between them."""
    more = len(groups) > 1 and not groups[0][1] and re.search("[a-z]", groups[1][0])
    return f"{groups[0][0]}, {groups[1][0]}" if more else groups[0][0]


def _cells(line: str) -> list[Cell]:
    cells = [Cell(*match.span(), match[0]) for match in re.finditer(PHRASE, line)]
    return cells[:1] + [part for cell in cells[1:] for part in _parts(cell)]


def _parts(cell: Cell) -> list[Cell]:
    """Numbers that stand close, the number after a word, or else the text as it is."""
    if worded := re.fullmatch(r"([a-z]+ )(\d+\.\d+)", cell.text):
        return [Cell(cell.start + len(worded[1]), cell.end, worded[2])]
    parts = [Cell(cell.start + match.start(), cell.start + match.end(), match[0])
             for match in re.finditer(rf"{FUSED}|{NUMBER}|\S+", cell.text)]
    return parts if all(part.is_number() or re.fullmatch(FUSED, part.text) for part in parts) else [cell]


def _aligned(header: list[str], rows: list[Row], before: Table | None) -> Table:
    spans = _spans(cell for _, cells in rows for cell in cells)
    ends = [end for _, end in spans]
    if not header and before and ends == before.ends:
        header = before.header
    names = _names([line for line in header if re.search(r"\S  +\S|^  ", line)], spans)
    # Cells are aligned to the right: of two, as after one too wide, the last is of this column.
    texts = [[next((c.text for c in reversed(cells) if a <= c.start < b), "") for _, cells in rows] for a, b in spans]
    columns = [_column(*pair) for pair in zip(names, texts, strict=True)]
    return Table([label for label, _ in rows], columns, header, ends)


def _spans(cells: Iterator[Cell]) -> list[tuple[int, int]]:
    """Where columns are: cells of any rows that overlap are of one."""
    spans: list[tuple[int, int]] = []
    for cell in sorted(cells, key=lambda cell: cell.start):
        if spans and cell.start < spans[-1][1]:
            spans[-1] = (spans[-1][0], max(spans[-1][1], cell.end))
        else:
            spans.append((cell.start, cell.end))
    return spans


def _names(header: list[str], spans: list[tuple[int, int]]) -> list[str]:
    """Names over columns; phrases of the line above them go to names that stand there as often as there are phrases."""
    names = _over(header[-1], spans) if header else [""] * len(spans)
    groups = re.split(r"\s{2,}", header[-2].strip()) if len(header) > 1 else []
    own = _over(header[-2], spans) if len(groups) > 1 else names
    names = [name or alone for name, alone in zip(names, own, strict=True)]
    groups = [group for group in groups if group not in names]
    seen = [names[:k].count(name) for k, name in enumerate(names)]
    repeated = max(map(names.count, names), default=0)
    groups = groups[-repeated:] if 1 < repeated <= len(groups) else []
    return [f"{groups[k]}: {name}" if groups and names.count(name) == repeated else name
            for k, name in zip(seen, names, strict=True)]


def _over(line: str, spans: list[tuple[int, int]]) -> list[str]:
    names = [""] * len(spans)
    for phrase in re.finditer(PHRASE, line):
        met = [k for k, (a, b) in enumerate(spans) if phrase.start() < b and a < phrase.end()]
        if len(met) == 1:
            names[met[0]] = names[met[0]] or phrase[0]
        for word in re.finditer(r"\S+", phrase[0]) if len(met) > 1 else ():
            k = next((k for k in met if phrase.start() + word.end() <= spans[k][1] + 1), met[-1])
            names[k] = f"{names[k]} {word[0]}".strip()
    return names
