"""The page of benchmarks: `benchmarks/RESULTS.md` with plots over the tables that compare, and first what is lost."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from matplotlib.figure import Figure

from docs.site_parts import results_plots
from docs.site_parts.results_piece import Piece
from docs.site_parts.results_plots import Ratio
from docs.site_parts.results_ratios import judge
from docs.site_parts.results_records import with_records
from docs.site_parts.results_tables import Table, read

SOURCE = Path(__file__).parents[2] / "benchmarks" / "RESULTS.md"
BLOCK = re.compile(r"^```\n(?P<printed>.*?)\n```$|(?P<piped>(?:^\|[^\n]*\n?)+)|^(?P<heading>#+ [^\n]*)$", re.M | re.S)
LINK = re.compile(r"\[([^]]+)\]\(([^)\s]+)\)")
LOST = 0.95
LEAST = 0.004  # what is written as 0.00
LONG = 15  # lines of a table that is folded
TO_READ = (
    "Bars start at 1. Blue: ours is faster, or does with less. Orange: slower, or more. Gray: an earlier state, a "
    "prediction, or a ratio of which the table does not tell which way is better. In plots of times, ours is filled.\n"
)


def write(folder: Path) -> None:
    """The page and its pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    pieces = [*with_records([*pieces_of(SOURCE.read_text())])]
    first = next(k for k, piece in enumerate(pieces) if piece.text.startswith("## "))
    body = [_shown(piece, k, folder) for k, piece in enumerate(pieces)]
    page = "".join([*body[:first], _what_is_lost(pieces, folder), *body[first:]])
    (folder / "index.md").write_text(re.sub(r"\n{3,}", "\n\n", page))


def pieces_of(text: str) -> Iterator[Piece]:
    """Headings, none more than a level below the one before, tables, and the text between them."""
    section, level, at = "", 0, 0
    before: Table | None = None
    for match in BLOCK.finditer(text):
        words = text[at:match.start()]
        yield Piece(words, section)
        if match["heading"]:
            marks, _, section = match["heading"].partition(" ")
            level, before = min(len(marks), level + 1), None
            yield Piece(f"{'#' * level} {section}", section)
        else:
            context = text[:match.start()].rstrip().rpartition("\n\n")[2]
            printed = match["printed"] or match[0]
            tables = [judge(table, f"{context} {printed.splitlines()[0]}") for table in read(printed, before)]
            before = tables[-1] if tables else before
            yield Piece(match[0], section, context, tables)
        at = match.end()
    yield Piece(text[at:], section)


def ratios_of(pieces: list[Piece]) -> list[Ratio]:
    """All ratios of which it is known which way is better, the worst of each cell."""
    return [Ratio(piece.section, table.named(k), label, min((v or LEAST)**column.better for v in cell))
            for piece in pieces for table in piece.tables for k, column in enumerate(table.columns)
            if column.ratio and column.better
            for label, cell in zip(table.labels, column.cells, strict=True) if cell]


def _shown(piece: Piece, k: int, folder: Path) -> str:
    if not piece.tables and not piece.text.startswith("```"):
        return _with_links(piece.text)
    figures = [figure for table in piece.tables for figure in results_plots.draw(table, piece.unit())]
    plots = "".join(_image(figure, f"{k}-{n}", folder, f"Plot of the table of {piece.section}")
                    for n, figure in enumerate(figures))
    return f"{plots}\n\n{_folded(piece)}\n\n"


def _folded(piece: Piece) -> str:
    lines = piece.text.count("\n") + 1
    text = _with_links(piece.text) if piece.text.startswith("|") else piece.text.replace("```\n", "```text\n", 1)
    rows = sum(len(table.labels) for table in piece.tables)
    summary = f"<details>\n<summary>The table, {rows} rows</summary>\n\n{text}\n\n</details>"
    return summary if lines > LONG else text


def _image(figure: Figure, name: str, folder: Path, alt: str) -> str:
    out = ""
    for page, picture in results_plots.svg(figure).items():
        (folder / f"{name}-{page}.svg").write_text(picture)
        out += f"\n\n```{{image}} {name}-{page}.svg\n:class: only-{page}\n:alt: {alt.replace('`', '')}\n```"
    return out


def _with_links(text: str) -> str:
    """Links to the pages of the site as seen from this one; other files as code."""
    return LINK.sub(_link, text)


def _link(match: re.Match[str]) -> str:
    name, target = match[1], match[2]
    if target.startswith("../docs/"):
        return f"[{name}]({target.replace('../docs/', '../../', 1)})"
    return match[0] if re.match(r"https?:|#", target) else f"`{name.strip('`')}`"


def _what_is_lost(pieces: list[Piece], folder: Path) -> str:
    ratios = ratios_of(pieces)
    lost = [ratio for ratio in ratios if ratio.value < LOST]
    plot = _image(results_plots.losses(lost, len(ratios), LOST), "lost", folder, f"All ratios below {LOST}")
    said = (f"Of {len(ratios):,} ratios in the tables below, older runs included, {len(lost)} are below {LOST} and "
            f"{len(ratios) - len(lost):,} at or above. Those below, by section:")
    return f"## What is lost\n\n{said}{plot}\n\n{TO_READ}\n"
