"""What a picture shows, as plain geometry: panels with dots, arrows, tiles and lines, before anything is drawn."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import floor

from polysched.deps.dependences import Dependences
from polysched.model.scop import Scop
from polysched.model.tree import Tree
from polysched.plot.arrows import Arrow, Place, arrows
from polysched.plot.hull import Point, outline
from polysched.plot.lines import Line, lines
from polysched.plot.panels import Layout, layouts
from polysched.plot.small import Drawn
from polysched.plot.timed import Timed, timed

MOST_PANELS = 6


@dataclass(frozen=True)
class Dot:
    """An instance; those of one step may run at the same time."""

    statement: str
    at: Point
    step: int


@dataclass(frozen=True)
class Tile:
    """The part of a tile that a panel shows; tiles of one step may run at the same time."""

    corners: tuple[Point, ...]
    step: int
    label: Point | None  # where there is room for the number of its step


@dataclass(frozen=True)
class Panel:
    """A part of the iteration space."""

    title: str  # the statements
    where: str  # which slice of their domains, as in t = 1; "" for all
    axes: tuple[str, str]  # what x and y are
    rows: tuple[str, ...]  # the statements at y = 0, -1, -2, ... where y is no iterator
    dots: tuple[Dot, ...]  # by time
    tiles: tuple[Tile, ...]
    lines: tuple[Line, ...]

    @property
    def names(self) -> list[str]:
        """The statements, by which dots are told apart."""
        return list(self.rows) or self.title.split(", ")


@dataclass(frozen=True)
class Scene:
    """The panels of one schedule, and the dependences between what they show."""

    summary: str
    panels: tuple[Panel, ...]
    arrows: tuple[Arrow, ...]
    steps: int  # of tiles, if there are some, or else of instances
    is_tiled: bool
    notes: tuple[str, ...]


def scene(scop: Scop, dependences: Dependences, tree: Tree, drawn: Drawn, notes: tuple[str, ...] = ()) -> Scene:
    """The instances of `drawn` as `tree` orders them."""
    ends = dependences.coincidence
    source, runs = timed(scop.tree, drawn.points, ends), timed(tree, drawn.points, ends)
    statements = [statement for statement in scop.statements if drawn.points.get(statement.name)]
    found = list(layouts(statements, source, runs))
    shown, left_out = found[:MOST_PANELS], found[MOST_PANELS:]
    spots = ((Place(k, panel.title, at), run) for k, panel in enumerate(shown) for run, at in panel.spots)
    places = {(run.statement, run.point): place for place, run in spots}
    is_tiled = any(run.tile for run in runs)
    times = [run.tile_step if is_tiled else run.step for run in runs if run.tile or not is_tiled]
    ranks = {step: rank for rank, step in enumerate(sorted(set(times)))}
    some, missing = arrows(dependences, drawn, places, few=is_tiled)
    names = dict.fromkeys(run.statement for panel in left_out for run, _ in panel.spots)
    left = [*missing, *([f"not drawn: {', '.join(names)}"] if names else [])]
    panels = tuple(_panel(each, ranks, is_tiled=is_tiled) for each in shown)
    return Scene(_summary(runs), panels, some, len(ranks), is_tiled, (*notes, *left))


def _panel(layout: Layout, ranks: dict[tuple[int, ...], int], *, is_tiled: bool) -> Panel:
    steps = [run.tile_step if is_tiled else run.step for run, _ in layout.spots]
    dots = tuple(
        Dot(run.statement, at, ranks.get(step, 0)) for (run, at), step in zip(layout.spots, steps, strict=True)
    )
    first = [spot for spot in layout.spots if spot[0].statement == layout.spots[0][0].statement]
    hyperplanes = () if is_tiled or layout.rows else lines(first)
    return Panel(layout.title, layout.where, layout.axes, layout.rows, dots, _tiles(layout, ranks), hyperplanes)


def _tiles(layout: Layout, ranks: dict[tuple[int, ...], int]) -> tuple[Tile, ...]:
    inside: dict[tuple[int, ...], list[tuple[Timed, Point]]] = defaultdict(list)
    for run, at in layout.spots:
        if run.tile:
            inside[run.tile].append((run, at))
    return tuple(
        Tile(outline(at for _, at in spots), ranks[spots[0][0].tile_step], _between([at for _, at in spots]))
        for _, spots in sorted(inside.items())
    )


def _between(points: Sequence[Point]) -> Point | None:
    """A place among the points, near their middle, and on none of them; None if there is only one."""
    x, y = (sum(point[k] for point in points) / len(points) for k in (0, 1))
    is_wide, is_high = (len({point[k] for point in points}) > 1 for k in (0, 1))
    if not is_wide and not is_high:
        return None
    return floor(x) + 0.5 if is_wide else x, floor(y) + 0.5 if is_high else y


def _summary(runs: Sequence[Timed]) -> str:
    """What is run, in how many steps."""
    tiles = {run.tile: run.tile_step for run in runs if run.tile}
    if tiles:
        return _in_steps("tile", list(tiles.values()))
    return _in_steps("instance", [run.step for run in runs])


def _in_steps(what: str, steps: Sequence[tuple[int, ...]]) -> str:
    count, most = len(set(steps)), max(Counter(steps).values())
    things = f"{len(steps)} {what}{'s' if len(steps) > 1 else ''}"
    if most == 1:
        return f"{things}, one after the other"
    return f"{things} in {count} step{'s' if count > 1 else ''}, up to {most} at once"
