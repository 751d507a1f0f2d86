"""Where instances are drawn: which statements share a panel, and what its axes are.

    for t: for i: S0, S1     ->     one panel with the axes t and i for both, S1 half a step after S0
    for t: for i: for j: S   ->     a panel with the axes i and j for each of some values of t
    for i: S0; for i: S1     ->     one panel with a row for each
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from polysched.model.scop import Statement
from polysched.plot.hull import Point
from polysched.plot.small import MOST_SLICES
from polysched.plot.timed import Timed

MOST_PANELS = 8
MOST_BESIDE = 4  # statements in one panel
MOST_ROWS = 12
_BESIDE = 0.36  # how far the outermost of these are apart


@dataclass(frozen=True)
class Layout:
    """A part of the iteration space, and what is in it."""

    title: str  # the statements
    where: str  # which slice of their domains, as in t = 1; "" for all
    axes: tuple[str, str]  # what x and y are
    rows: tuple[str, ...]  # the statements at y = 0, -1, -2, ... where y is no iterator
    spots: tuple[tuple[Timed, Point], ...]  # by time
    slices: int = 1  # that there are of its statements, drawn or not


def layouts(statements: Sequence[Statement], source: Sequence[Timed], runs: Sequence[Timed]) -> Iterator[Layout]:
    """The panels of these statements; `source` has their instances in source order, `runs` as they are scheduled."""
    groups = _groups(statements, source)
    deep = sum(group[0].depth >= 3 for group in groups)
    most = max(2, min(MOST_SLICES, (MOST_PANELS - len(groups) + deep) // max(1, deep)))
    for group in groups:
        names = [statement.name for statement in group]
        some = [run for run in runs if run.statement in names]
        match min(group[0].depth, 3):
            case 0 | 1:
                yield _rows(group, some)
            case 2:
                yield _plane(group, some, "")
            case 3:
                values = sorted({run.point[0] for run in some})
                for value in _slices(some, most):
                    inside = [run for run in some if run.point[0] == value]
                    slice_ = _plane(group, inside, f"{group[0].iterators[0]} = {value}")
                    yield replace(slice_, slices=len(values))


def _groups(statements: Sequence[Statement], source: Sequence[Timed]) -> list[list[Statement]]:
    """Those that share a panel: of the same iterators and in one outermost loop, or of one loop at most."""
    first = {run.statement: run for run in reversed(source)}
    groups: list[list[Statement]] = []
    latest: dict[tuple[object, ...], list[Statement]] = {}
    for statement in statements:
        branch = tuple(column.place for column in takewhile(lambda c: c.member is None, first[statement.name].columns))
        alike = () if statement.depth < 2 else (statement.iterators, branch)
        most = MOST_ROWS if statement.depth < 2 else MOST_BESIDE
        if len(latest.get(alike, [])) in (0, most):
            groups.append([])
            latest[alike] = groups[-1]
        latest[alike].append(statement)
    return groups


def _rows(group: Sequence[Statement], runs: Sequence[Timed]) -> Layout:
    names = [statement.name for statement in group]
    spots = tuple((run, (float(sum(run.point)), -float(names.index(run.statement)))) for run in runs)
    x = ", ".join(dict.fromkeys(name for statement in group for name in statement.iterators))
    return Layout("", "", (x, ""), tuple(names), spots)


def _plane(group: Sequence[Statement], runs: Sequence[Timed], where: str) -> Layout:
    names = [statement.name for statement in group]
    k = min(group[0].depth, 3) - 2
    apart = _BESIDE / (len(names) - 1) if k and len(names) > 1 else 1 / len(names)  # of two loops, x is time

    def place(run: Timed) -> Point:
        beside = (names.index(run.statement) - (len(names) - 1) / 2) * apart
        return run.point[k] + beside, run.point[k + 1] + (beside if k else 0.0)

    axes = (group[0].iterators[k], group[0].iterators[k + 1])
    return Layout(", ".join(names), where, axes, (), tuple((run, place(run)) for run in runs))


def _slices(runs: Sequence[Timed], most: int) -> Sequence[int]:
    """Consecutive values of the first iterator, where most instances are."""
    count = Counter(run.point[0] for run in runs)
    values = sorted(count)
    starts = range(max(1, len(values) - most + 1))
    best = max(starts, key=lambda k: sum(count[value] for value in values[k : k + most]))
    return values[best : best + most]
