"""What a picture shows, as plain geometry: panels with dots, arrows, tiles and lines, before anything is drawn."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import floor

from polysched.deps.dependences import Dependences
from polysched.model.scop import Scop
from polysched.model.tree.nodes import Tree
from polysched.plot.arrows import Arrow, Place, arrows
from polysched.plot.hull import Point, contains, outline
from polysched.plot.lines import Line, lines
from polysched.plot.panels import MOST_PANELS, Layout, layouts
from polysched.plot.small import Drawn
from polysched.plot.timed import Timed, timed


@dataclass(frozen=True)
class Dot:
    """An instance; those of one step may run at the same time."""

    statement: str
    at: Point
    step: int
    is_inside: bool = False  # of a tile that is drawn around it


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
    ranks = {step: rank for rank, step in enumerate(sorted(set(map(_step, runs))))}
    some, missing = arrows(dependences, drawn, places, few=is_tiled)
    names = dict.fromkeys(run.statement for panel in left_out for run, _ in panel.spots)
    for panel in shown:
        names.pop(panel.title, None)
    left = [*_slices(shown), *missing, *([f"not drawn: {', '.join(names)}"] if names else [])]
    tangled = {each.title for each in shown if _overlap(each)}
    if tangled:
        whose = "; ".join(sorted(tangled))
        left.append(f"tiles of {whose} overlap here: dots have the colors and, with room, numbers of steps")
    panels = tuple(_panel(each, ranks, is_tiled=is_tiled, has_outlines=each.title not in tangled) for each in shown)
    return Scene(_summary(runs), panels, some, len(ranks), is_tiled, (*notes, *left))


def _step(run: Timed) -> tuple[int, ...]:
    """That of its tile if it is in one; of different statements, both begin with what is around both."""
    return run.tile_step if run.tile else run.step


def _slices(shown: Sequence[Layout]) -> Iterator[str]:
    """Notes on those of which only some are drawn."""
    for title in dict.fromkeys(layout.title for layout in shown):
        some = [layout for layout in shown if layout.title == title]
        if some[0].slices > len(some):
            iterator = some[0].where.partition(" = ")[0]
            values = ", ".join(layout.where.partition(" = ")[2] for layout in some)
            yield f"{title}: {iterator} = {values} of {some[0].slices}"


def _panel(layout: Layout, ranks: dict[tuple[int, ...], int], *, is_tiled: bool, has_outlines: bool) -> Panel:
    dots = tuple(
        Dot(run.statement, at, ranks[_step(run)], bool(run.tile) and has_outlines) for run, at in layout.spots
    )
    first = [spot for spot in layout.spots if spot[0].statement == layout.spots[0][0].statement]
    hyperplanes = () if is_tiled or layout.rows else lines(first)
    tiles = _tiles(layout, ranks) if has_outlines else ()
    return Panel(layout.title, layout.where, layout.axes, layout.rows, dots, tiles, hyperplanes)


def _tiles(layout: Layout, ranks: dict[tuple[int, ...], int]) -> tuple[Tile, ...]:
    found = (([at for _, at in spots], ranks[_step(spots[0][0])]) for _, spots in sorted(_by_tile(layout).items()))
    return tuple(Tile(outline(points), rank, _between(points)) for points, rank in found)


def _overlap(layout: Layout) -> bool:
    """Is an instance inside of the outline of a tile that is not its own?"""
    outlines = {tile: outline(at for _, at in spots) for tile, spots in _by_tile(layout).items()}
    placed = [(run.tile, at) for run, at in layout.spots if run.tile]
    return any(contains(corners, at) for tile, corners in outlines.items() for other, at in placed if other != tile)


def _by_tile(layout: Layout) -> dict[tuple[int, ...], list[tuple[Timed, Point]]]:
    inside: dict[tuple[int, ...], list[tuple[Timed, Point]]] = defaultdict(list)
    for run, at in layout.spots:
        if run.tile:
            inside[run.tile].append((run, at))
    return inside


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
        rest = sum(not run.tile for run in runs)
        beside = f", and {rest} instances outside of tiles" if rest else ""
        return _in_steps("tile", list(tiles.values())) + beside
    return _in_steps("instance", [run.step for run in runs])


def _in_steps(what: str, steps: Sequence[tuple[int, ...]]) -> str:
    count, most = len(set(steps)), max(Counter(steps).values())
    things = f"{len(steps)} {what}{'s' if len(steps) > 1 else ''}"
    if most == 1:
        return f"{things}, one after the other"
    return f"{things} in {count} step{'s' if count > 1 else ''}, up to {most} at once"
