"""Plots of tables: ratios as bars around 1, times as dots on a log axis, and variants in rows as bars."""

from __future__ import annotations

import io
import math
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, groupby, pairwise

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

from docs.site_parts.results_ratios import OURS, RIVAL_ROW, compares, kind, variants
from docs.site_parts.results_tables import Table

INK, WIN, LOSS, PLAIN = "#567891", "#2f7fc1", "#e0620d", "#8b8f96"
INKS = {"light": "#2b2f33", "dark": "#d3d6da"}
STYLE = {"svg.fonttype": "none", "svg.hashsalt": "results", "text.parse_math": False, "font.size": 9,
         "axes.titlesize": 9, "axes.linewidth": 0.6, "axes.spines.top": False, "axes.spines.right": False,
         "axes.spines.left": False, "text.color": INK, "axes.labelcolor": INK, "axes.edgecolor": INK,
         "xtick.color": INK}
WIDTH, LINE, CHAR = 6.25, 0.19, 0.07  # inches: 600 px; a line of 9 pt; a letter of it
MOST = 40  # rows of one plot
LOW, HIGH = 0.05, 100.0  # where bars end; the figures beside them tell the rest
TICKS = (0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)
NEAR_ONE = (0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.5, 2)
MARKERS = "os^DvPX*<>"


@dataclass
class Panel:
    """Bars of one column. Rows without figures are headings where rows are in groups."""

    title: str
    labels: list[str]
    cells: list[tuple[float, ...]]
    better: int = 0
    groups: bool = False

    def texts(self) -> list[str]:
        return ["" if heading else textwrap.fill(label.replace("`", ""), 22 if self.groups else 32)
                for label, heading in zip(self.labels, self.headings(), strict=True)]

    def places(self) -> list[float]:
        """The middle of each row from the top, and the end of them all, in lines."""
        heights = [text.count("\n") + 1.1 for text in self.texts()]
        tops = [0.0, *accumulate(heights)]
        return [*((a + b) / 2 for a, b in pairwise(tops)), tops[-1]]

    def headings(self) -> list[bool]:
        return [self.groups and not cell for cell in self.cells]


@dataclass
class Ratio:
    section: str
    column: str
    row: str
    value: float  # below 1 where ours is worse


def losses(lost: list[Ratio], count: int, limit: float) -> Figure:
    """How many ratios are below the limit and how many are not, and each of those below."""
    rows: list[tuple[str, tuple[float, ...]]] = []
    for (section, column), group in groupby(lost, lambda ratio: (ratio.section, ratio.column)):
        heading = f"{section.replace('python -m benchmarks.', '')}: {column}".replace("`", "")
        rows.append((textwrap.shorten(heading, 40, placeholder=" …"), ()))
        rows += [(ratio.row, (ratio.value,)) for ratio in group]
    labels, cells = [row for row, _ in rows], [cell for _, cell in rows]
    middle = min((k for k, cell in enumerate(cells) if not cell), key=lambda k: abs(k - len(rows) / 2), default=0)
    halves = [half for half in (slice(0, middle), slice(middle, len(rows))) if rows[half]]
    figure = bars([Panel("", labels[half], cells[half], 1, groups=True) for half in halves], above=0.5)
    with rc_context(STYLE):
        axes = figure.add_axes((0.02, 1 - 0.42 / figure.get_figheight(), 0.96, 0.2 / figure.get_figheight()))
        axes.barh([0, 0], [len(lost), count - len(lost)], 1, left=[0, len(lost)], color=[LOSS, WIN])
        axes.set(xlim=(0, count), ylim=(-0.5, 0.5))
        axes.axis("off")
        axes.text(0, 0.55, f"{len(lost)} below {limit}", color=LOSS, weight="bold", va="bottom")
        axes.text(count, 0.55, f"{count - len(lost):,} at or above", va="bottom", ha="right")
    return figure


def draw(table: Table, unit: str = "") -> Iterator[Figure]:
    how, table = kind(table), variants(table) or table
    panels = [Panel(table.named(k), table.labels, c.cells, c.better) for k, c in enumerate(table.columns)
              if c.ratio or (how != "ratios" and any(c.cells))]
    if how == "ratios" and len(panels) == 1:
        yield bars(side_by_side(panels[0], 3))
        return
    for rows in slices(len(table.labels), MOST):
        if how == "times":
            yield dots(table.part(rows), unit)
        elif how:
            parts = [Panel(p.title, p.labels[rows], p.cells[rows], p.better) for p in panels]
            yield bars(parts, around_one=how == "ratios")


def svg(figure: Figure) -> dict[str, str]:
    """The picture for light and for dark pages."""
    out = io.StringIO()
    with rc_context(STYLE):
        figure.savefig(out, format="svg", transparent=True, metadata={"Date": None})
    return {page: out.getvalue().replace(INK, ink) for page, ink in INKS.items()}


def slices(count: int, most: int) -> list[slice]:
    size = math.ceil(count / math.ceil(count / most))
    return [slice(k, k + size) for k in range(0, count, size)]


def side_by_side(panel: Panel, most: int) -> list[Panel]:
    """One column, cut where its rows are too many."""
    pieces = min(most, math.ceil(len(panel.labels) / MOST))
    return [Panel(panel.title, panel.labels[rows], panel.cells[rows], panel.better)
            for rows in slices(len(panel.labels), math.ceil(len(panel.labels) / pieces))]


def bars(panels: list[Panel], around_one: bool = True, above: float = 0.0) -> Figure:
    """Bars of all panels on one scale around 1, or of each on its own from 0."""
    with rc_context(STYLE):
        figure, grid = _grid(panels, above, 0.5 if around_one else 0.15)
        values = [min(max(value, LOW), HIGH) for panel in panels for cell in panel.cells for value in cell]
        for axes, panel in zip(grid, panels, strict=True):
            if around_one:
                _ratios(axes, panel, min(values), max(values))
            else:
                _variants(axes, panel)
        return figure


def _grid(panels: list[Panel], above: float, foot: float = 0.5) -> tuple[Figure, list[Axes]]:
    """Axes for panels, up to three abreast, with labels where they differ from those to the left."""
    shared = all(panel.labels == panels[0].labels for panel in panels)
    margin = 0.25 + CHAR * max(len(line) for p in panels for text in p.texts() for line in text.split("\n"))
    abreast = min(len(panels), 3 if margin < 2 or not shared else 2)
    width = (WIDTH - margin * (1 if shared else abreast)) / abreast - 0.1
    titles = [textwrap.fill(panel.title.replace("`", ""), max(10, int(width / CHAR))) for panel in panels]
    head = 0.12 + LINE * max(title.count("\n") + 1 for title in titles)
    body = LINE * max(panel.places()[-1] for panel in panels)
    rows = math.ceil(len(panels) / abreast)
    height = above + rows * (head + body + foot)
    figure = Figure(figsize=(WIDTH, height))
    grid = []
    for k, (panel, title) in enumerate(zip(panels, titles, strict=True)):
        row, column = divmod(k, abreast)
        left = margin * (1 if shared else column + 1) + column * (width + 0.1)
        bottom = height - above - row * (head + body + foot) - head - body
        own = LINE * panel.places()[-1]
        axes = figure.add_axes((left / WIDTH, (bottom + body - own) / height, width / WIDTH, own / height))
        axes.set_title(title, loc="left")
        _label_rows(axes, panel, margin, labelled=column == 0 or not shared)
        grid.append(axes)
    return figure, grid


def _label_rows(axes: Axes, panel: Panel, margin: float, labelled: bool) -> None:
    *places, end = panel.places()
    axes.set_ylim(end, 0)
    axes.yaxis.set_visible(False)
    for place, text, label, heading in zip(places, panel.texts(), panel.labels, panel.headings(), strict=True):
        if heading:
            _write(axes, (0, place), label, (10 - 72 * margin, 0), weight="bold", xycoords=("axes fraction", "data"))
        elif labelled:
            _write(axes, (0, place), text, (-4, 0), ha="right", xycoords=("axes fraction", "data"))


def _write(axes: Axes, at: tuple[float, float], text: str, offset: tuple[float, float] = (3, 0), **style) -> None:
    axes.annotate(text, at, offset, textcoords="offset points", va="center", **style)


def _ratios(axes: Axes, panel: Panel, low: float, high: float) -> None:
    low, high = min(low, 0.9), max(high, 1.1)
    width = axes.get_position().width * WIDTH
    room = min(0.7, (0.1 + CHAR * max([len(_said(cell)) for cell in panel.cells], default=0)) / width)
    axes.set_xscale("log")
    axes.set_xlim(low, high * (high / low) ** (room / (1 - room)))
    for place, cell in zip(panel.places(), panel.cells, strict=False):
        for k, value in enumerate(cell):
            end = min(max(value, LOW), HIGH)
            axes.barh(place + (k + 0.5) * 0.7 / len(cell) - 0.35, end - 1, 0.7 / len(cell), left=1,
                      color=_colour(value, panel.better))
        if cell:
            worst = _colour(min(cell, key=lambda value: value * (panel.better or 1)), panel.better)
            style = {"color": LOSS, "weight": "bold"} if worst == LOSS else {}
            _write(axes, (min(max(1, *cell), HIGH), place), _said(cell), **style)
    axes.axvline(1, color=INK, linewidth=0.8)
    _ticks(axes, width * (1 - room), low, high)
    axes.set_xlabel({1: "better →", -1: "← better", 0: ""}[panel.better])


def _said(cell: tuple[float, ...]) -> str:
    return " / ".join(f"{value:.0f}" if value >= 100 else f"{value:.2f}" for value in cell)


def _colour(value: float, better: int) -> str:
    return PLAIN if not better else LOSS if (round(value, 2) - 1) * better < 0 else WIN


def _ticks(axes: Axes, width: float, low: float, high: float) -> None:
    ticks = [tick for tick in (NEAR_ONE if high / low < 2.5 else TICKS) if low / 1.001 <= tick <= high * 1.001]
    step = math.ceil(len(ticks) / max(2, width / 0.4))
    axes.xaxis.set_major_locator(FixedLocator(ticks[ticks.index(1) % step::step]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_locator(NullLocator())


def _variants(axes: Axes, panel: Panel) -> None:
    most = max(value for cell in panel.cells for value in cell)
    width = axes.get_position().width * WIDTH
    axes.set_xlim(0, most / (1 - min(0.5, 0.5 / width)))
    axes.xaxis.set_major_locator(FixedLocator([]))
    axes.spines["bottom"].set_visible(False)
    for place, label, cell in zip(panel.places(), panel.labels, panel.cells, strict=False):
        for value in cell:
            axes.barh(place, value, 0.7, color=PLAIN if re.search(RIVAL_ROW, label) else WIN)
            _write(axes, (value, place), f"{value:g}")


def dots(table: Table, unit: str) -> Figure:
    """A row of dots for each row of the table, ours filled."""
    series = [(c.name, c.cells) for c in table.columns if compares(c) and any(c.cells)]
    with rc_context(STYLE):
        panel = Panel("", table.labels, [()] * len(table.labels))
        legend = LINE * (math.ceil(len(series) / 3) + 0.5)
        figure, (axes,) = _grid([panel], legend)
        axes.set_xscale("log")
        axes.grid(axis="x", color=PLAIN, alpha=0.3, linewidth=0.5)
        for place, *cells in zip(panel.places(), *(cells for _, cells in series), strict=False):
            values = [value for cell in cells for value in cell]
            axes.plot([min(values), max(values)], [place, place], color=PLAIN, linewidth=0.6) if values else None
        for (name, cells), marker in zip(series, MARKERS, strict=False):
            points = [(value, y) for y, cell in zip(panel.places(), cells, strict=False) for value in cell]
            ours = bool(re.search(OURS, name))
            axes.scatter(*zip(*points, strict=True), marker=marker, s=34 if ours else 26, zorder=3 if ours else 2,
                         facecolor=WIN if ours else "none", edgecolor=WIN if ours else INK, linewidth=1, label=name)
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=min(3, len(series)), frameon=False, borderpad=0,
                    labelcolor=INK, handletextpad=0.2, columnspacing=1)
        low, high = axes.get_xlim()
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high / low < 2000 else (1,)))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x / 1000:g}k" if x >= 1e4 else f"{x:g}"))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_xlabel(unit)
        return figure
