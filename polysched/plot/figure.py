"""Scenes as a matplotlib figure, one under the other: panels in rows, a legend, notes.

Colors are told apart by all kinds of eyes: those of dependences are Okabe and Ito's, and their dashes differ too;
steps run from dark to light in viridis, which does so in gray as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from math import ceil, floor, gcd, pi, sqrt
from textwrap import wrap
from typing import Any

from polysched.errors import PolyschedError
from polysched.plot.arrows import KINDS, Arrow
from polysched.plot.scene import Panel, Scene

INK = "#1c2128"  # of text and frames; a page puts its own in its place
ARROWS: dict[str, tuple[str, Any]] = {
    "flow": ("#0072b2", "-"),
    "anti": ("#d55e00", (0, (4, 2))),
    "output": ("#cc79a7", (0, (1, 1))),
}
_SHAPES = "osD^"  # of the statements of a panel
_DASHES = (0, (3, 3))  # of inner loops
_NUMBERED = 40.0  # points squared of a dot that has room for a number
_COLUMNS = 4
_PANEL = 2.4  # inches
_LEFT, _RIGHT, _TOP, _BOTTOM = 0.55, 0.2, 0.3, 0.5  # around a panel
_COLUMN = _LEFT + _PANEL + _RIGHT
_ROW = 0.34  # of a panel with rows
_TITLE, _LINE, _EDGE = 0.5, 0.21, 0.1
_STYLE = {
    "font.size": 9,
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.linewidth": 0.6,
    "axes.facecolor": "none",
}


def figure(scenes: Sequence[tuple[str, Scene]]) -> Any:
    """A matplotlib Figure of the scenes under their titles; PolyschedError if matplotlib is missing."""
    with require_matplotlib().rc_context(_STYLE):
        return _Drawing(scenes).figure


def require_matplotlib() -> Any:
    try:
        return import_module("matplotlib")
    except ImportError as error:
        raise PolyschedError("pictures need matplotlib: pip install 'polysched[report]'") from error


@dataclass(frozen=True)
class _Box:
    """A place for the axes of a panel, in inches from the upper left corner of the figure."""

    left: float
    top: float
    width: float
    height: float


class _Drawing:
    def __init__(self, scenes: Sequence[tuple[str, Scene]]):
        self.scenes = scenes
        names = ("patches", "lines", "collections")
        self.tools = {name: import_module(f"matplotlib.{name}") for name in names}
        self.steps = import_module("matplotlib").colormaps["viridis"]
        counts = [len(scene.panels) for _, scene in scenes]
        is_one_row = sum(counts) <= _COLUMNS
        columns = sum(counts) if is_one_row else max(min(count, _COLUMNS) for count in counts)
        self.width = max(columns * _COLUMN, 5.5)
        boxes: list[list[_Box]] = []
        left, y, bottom = 0.0, _EDGE, 0.0
        for _, scene in scenes:
            boxes.append(list(_flow(scene.panels, left, y + _TITLE)))
            bottom = max(bottom, *(box.top + box.height + _BOTTOM for box in boxes[-1]))
            left, y = (left + len(scene.panels) * _COLUMN, y) if is_one_row else (0.0, bottom)
        rows, notes = self.legend_rows(), self.notes()
        self.height = bottom + _LINE * (len(rows) + len(notes)) + 2 * _EDGE
        picture = import_module("polysched.plot.picture").Picture
        self.figure = picture(figsize=(self.width, self.height), facecolor="none")
        for (title, scene), places in zip(scenes, boxes, strict=True):
            self.scene(title, scene, places)
        for k, handles in enumerate(rows):
            self.legend(bottom + _LINE * k, handles)
        for k, note in enumerate(notes):
            self.text(_EDGE, bottom + _LINE * (len(rows) + k) + 0.06, note, size=8)

    def notes(self) -> list[str]:
        """In lines that fit the figure."""
        every = dict.fromkeys(note for _, scene in self.scenes for note in scene.notes)
        return [line for note in every for line in wrap(note, int(self.width / 0.062))]

    def text(self, x: float, y: float, text: str, **style: Any) -> None:
        self.figure.text(x / self.width, 1 - y / self.height, text, va="top", **style)

    # --- a scene

    def scene(self, title: str, scene: Scene, boxes: Sequence[_Box]) -> None:
        left, top = boxes[0].left - _LEFT + _EDGE, boxes[0].top - _TOP - _TITLE
        self.text(left, top + 0.05, title, size=10.5, weight="bold")
        self.text(left, top + 0.27, scene.summary, size=9)
        axes = [self.panel(panel, box, scene) for panel, box in zip(scene.panels, boxes, strict=True)]
        for arrow in scene.arrows:
            self.arrow(arrow, scene, axes)

    def panel(self, panel: Panel, box: _Box, scene: Scene) -> Any:
        corner = box.left / self.width, 1 - (box.top + box.height) / self.height
        axes = self.figure.add_axes((*corner, box.width / self.width, box.height / self.height))
        xlim, ylim = _limits(panel, scene.panels)
        axes.set(xlim=xlim, ylim=ylim, xlabel=panel.axes[0])
        axes.set_ylabel(panel.axes[1], rotation=0, ha="right", labelpad=7)
        axes.set_title(" at ".join(filter(None, (panel.title, panel.where))), fontsize=9, loc="left", pad=7)
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(length=2.5, width=0.6, labelsize=8)
        axes.set_xticks(_ticks(*xlim))
        if panel.rows:
            axes.set_yticks([-k for k in range(len(panel.rows))], panel.rows)
        else:
            axes.set_yticks(_ticks(*ylim))
        self.lines(panel, axes)
        self.tiles(panel, axes, scene)
        self.dots(panel, axes, scene)
        return axes

    def colour(self, step: int, scene: Scene) -> Any:
        """From dark to light, without the ends, which are close to black and to white."""
        return self.steps(0.08 + 0.87 * step / max(1, scene.steps - 1))

    def lines(self, panel: Panel, axes: Any) -> None:
        for is_outer, dashes in ((False, _DASHES), (True, "-")):
            segments = [(line.start, line.end) for line in panel.lines if line.is_outer == is_outer]
            many = self.tools["collections"].LineCollection
            axes.add_collection(many(segments, colors=INK, linewidths=0.8, linestyles=[dashes], alpha=0.4, zorder=1))
        for line in panel.lines:
            is_level = line.start[1] == line.end[1]
            place = {"ha": "left", "va": "center"} if is_level else {"ha": "center", "va": "bottom"}
            axes.text(*line.end, line.label, fontsize=7, **place)

    def tiles(self, panel: Panel, axes: Any, scene: Scene) -> None:
        for tile in panel.tiles:
            colour = self.colour(tile.step, scene)
            polygon = self.tools["patches"].Polygon
            axes.add_patch(polygon(tile.corners, facecolor=(*colour[:3], 0.45), edgecolor=colour, zorder=2))
            if tile.label:
                axes.text(*tile.label, str(tile.step), fontsize=8, ha="center", va="center", zorder=6, weight="bold")

    def dots(self, panel: Panel, axes: Any, scene: Scene) -> None:
        names = sorted({dot.statement for dot in panel.dots}, key=panel.names.index)
        for name in names:
            some = [dot for dot in panel.dots if dot.statement == name]
            palette = {step: self.colour(step, scene) for step in {dot.step for dot in some}}
            colours = [INK if dot.is_inside else palette[dot.step] for dot in some]
            x, y = zip(*(dot.at for dot in some), strict=True)
            shape = "o" if panel.rows else _SHAPES[panel.names.index(name)]
            size = _size(panel, scene)
            axes.scatter(x, y, s=size, c=colours, marker=shape, edgecolors=INK, linewidths=0.3, zorder=4, label=name)
            numbered = [dot for dot in some if scene.is_tiled and not dot.is_inside and size >= _NUMBERED]
            for dot in numbered:
                ink = "#ffffff" if dot.step < 0.6 * scene.steps else "#111111"  # whatever the page's colors
                axes.text(*dot.at, dot.step, fontsize=6, color=ink, ha="center", va="center_baseline", zorder=6)

    def arrow(self, arrow: Arrow, scene: Scene, axes: Sequence[Any]) -> None:
        colour, dashes = ARROWS[arrow.kind]
        start, end = arrow.start, arrow.end
        radius = sqrt(_size(scene.panels[start.panel], scene) / pi)
        style = {
            "arrowstyle": "-|>,head_length=3.4,head_width=1.8",
            "mutation_scale": 1,
            "color": colour,
            "linestyle": dashes,
            "linewidth": 1.1,
            "shrinkA": radius,
            "shrinkB": radius,
            "zorder": 5,
            "connectionstyle": f"arc3,rad={_bend(arrow)}",
            "label": arrow.kind,
        }
        if start.panel == end.panel:
            axes[start.panel].add_patch(self.tools["patches"].FancyArrowPatch(start.at, end.at, **style))
        else:
            ends = {"coordsA": axes[start.panel].transData, "coordsB": axes[end.panel].transData}
            self.figure.add_artist(self.tools["patches"].ConnectionPatch(start.at, end.at, **ends, **style, alpha=0.6))

    # --- the legend

    def legend_rows(self) -> list[list[Any]]:
        """What the marks mean, in rows that fit the figure."""
        rows: list[list[Any]] = []
        used = self.width
        for handle in self.handles():
            width = 0.55 + 0.062 * len(handle.get_label())
            if used + width > self.width - _EDGE:
                rows.append([])
                used = _EDGE
            rows[-1].append(handle)
            used += width
        return rows

    def handles(self) -> Iterator[Any]:
        line, patch = self.tools["lines"].Line2D, self.tools["patches"].Patch
        kinds = {arrow.kind for _, scene in self.scenes for arrow in scene.arrows}
        for kind in KINDS:
            if kind in kinds:
                colour, dashes = ARROWS[kind]
                yield line([], [], color=colour, linestyle=dashes, marker=">", markersize=4, label=kind)
        panels = [panel for _, scene in self.scenes for panel in scene.panels]
        shapes = dict.fromkeys((k, name) for panel in panels if not panel.rows for k, name in enumerate(panel.names))
        if any(k > 0 for k, _ in shapes):
            for k, name in shapes:
                yield line([], [], color=INK, linestyle="none", marker=_SHAPES[k], markersize=4, label=name)
        if any(each.is_outer for panel in panels for each in panel.lines):
            yield line([], [], color=INK, alpha=0.6, linewidth=0.8, label="one iteration of the outer loop")
        if any(not each.is_outer for panel in panels for each in panel.lines):
            yield line([], [], color=INK, alpha=0.5, linewidth=0.8, linestyle=_DASHES, label="of the inner loop")
        if any(scene.steps > 1 for _, scene in self.scenes):
            for step, scene, text in self.ends():
                yield patch(facecolor=self.colour(step, scene), label=text)

    def ends(self) -> Iterator[tuple[int, Scene, str]]:
        """The first and the last step that are in the picture, and what they are called."""
        shown = [
            (dot.step / max(1, scene.steps - 1), dot.step, scene)
            for _, scene in self.scenes
            for panel in scene.panels
            for dot in panel.dots
        ]
        (share, step, scene), (end, last, other) = (side(shown, key=lambda each: each[0]) for side in (min, max))
        yield step, scene, "first step" if share == 0 else f"step {step} of 0 to {scene.steps - 1}"
        text = "last step" if end == 1 else f"step {last} of 0 to {other.steps - 1}"
        yield last, other, f"{text}; same color, same time"

    def legend(self, y: float, handles: list[Any]) -> None:
        self.figure.legend(
            handles=handles, loc="upper left", bbox_to_anchor=(_EDGE / self.width, 1 - y / self.height),
            ncols=len(handles), frameon=False, fontsize=8, borderpad=0, borderaxespad=0, columnspacing=1.2,
            handlelength=1.6, handletextpad=0.5,
        )  # fmt: skip


def _flow(panels: Sequence[Panel], left: float, top: float) -> Iterator[_Box]:
    """The panels in rows."""
    for k in range(0, len(panels), _COLUMNS):
        heights = [_height(panel, panels) for panel in panels[k : k + _COLUMNS]]
        for column, height in enumerate(heights):
            yield _Box(left + _LEFT + column * _COLUMN, top + _TOP, _PANEL, height)
        top += _TOP + max(heights) + _BOTTOM


def _height(panel: Panel, panels: Sequence[Panel]) -> float:
    """A step along y is as long as one along x, within reason."""
    (left, right), (low, high) = _limits(panel, panels)
    if panel.rows:
        return max(0.6, _ROW * (high - low))
    return min(max(_PANEL * (high - low) / (right - left), 0.5 * _PANEL), 1.2 * _PANEL)


def _limits(panel: Panel, panels: Sequence[Panel]) -> tuple[tuple[float, float], tuple[float, float]]:
    """What is seen along x and y: the dots of all slices, lines and their labels."""
    dots = [dot.at for each in panels if (each.title, each.rows) == (panel.title, panel.rows) for dot in each.dots]
    (left, low), (right, high) = (tuple(side(at[k] for at in dots) for k in (0, 1)) for side in (min, max))
    return (left - 0.9, right + 0.9), (low - 0.9, high + 0.9)


def _ticks(low: float, high: float) -> range:
    """At most seven whole numbers where there are dots."""
    first, last = ceil(low + 0.5), floor(high - 0.5)
    return range(first, last + 1, 1 + (last - first) // 7)


def _size(panel: Panel, scene: Scene) -> float:
    """Of the dots, in points squared: large where there are few."""
    if panel.tiles:
        return 6.0
    (left, right), _ = _limits(panel, scene.panels)
    share = 0.42 if len(panel.names) == 1 or panel.rows else 0.28 if len(panel.names) == 2 else 0.2
    return min(60.0, (72 * _PANEL / (right - left) * share) ** 2)


def _bend(arrow: Arrow) -> float:
    """Arrows over other dots, or to another panel, are bent."""
    if arrow.start.panel != arrow.end.panel:
        return -0.12
    dx, dy = (abs(round(b - a)) for a, b in zip(arrow.start.at, arrow.end.at, strict=True))
    return 0.3 if gcd(dx, dy) > 1 else 0.0
