"""A nest on the grid of a GPU, as edits: sides of the sizes that `grid.py` chooses, or sums as `sums.py` places them.

    i, j, k     .tile("j", sizes=(128,), names=("j_b",)).cyclic("j", 16, 4, names=("j_t", "j_g"))
                .tile("i", sizes=(64,), names=("i_b",)).tile("i", sizes=(8,), names=("i_t",))
                .tile("k", sizes=(16,), names=("k_c",))
                .reorder("i_b", "j_b", "i_t", "j_t", "k_c", "k", "i", "j_g", "j")
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import gcd, prod

from polysched.config.heuristics.gpu import CHUNKS_TRIED, POINTS_TRIED, THREADS_TRIED
from polysched.config.target import LIMITS
from polysched.deps.reaching import names_in
from polysched.errors import InputError
from polysched.model.tree.nodes import Member
from polysched.strategy.bands import Bands
from polysched.strategy.decision import sizes_around
from polysched.strategy.grid import Grid, Nest
from polysched.strategy.script import Script
from polysched.strategy.sums import Placed, Sums
from polysched.strategy.tiles import Axis, extent
from polysched.support import isl
from polysched.transform.edits.base.loops import loops
from polysched.transform.trees.tile import block_of


def on_grid(
    script: Script, bands: Bands, nest: Nest, grid: Grid, hosts: Sequence[str], fused: Sequence[set[str]]
) -> None:
    """The nest on blocks and threads, inside of `hosts`; `fused` are statements that were in one nest before."""
    members = nest.members
    grid = _decided(script, grid, members)
    on = _sides(script, bands, grid, members)
    planes = [side.member for side in grid.sides if not side.is_wide]
    taken = [*planes_on(on, planes, members), *(side.member for side in grid.wide)]
    for name in place(script, nest, on, _serial(script, members, grid), taken, hosts, fused):
        script.do("unroll", name)


def place(
    script: Script,
    nest: Nest,
    on: OnAxes,
    serial: Sequence[str],
    taken: Sequence[int],
    hosts: Sequence[str],
    fused: Sequence[set[str]],
) -> list[str]:
    """The loops in the order of a kernel, those on axes bound; the names of those over points, for each part of the
    nest. Of the members, those at positions `taken` are on axes or over points."""
    left = [member.name for k, member in enumerate(nest.members) if member.coincident and k not in taken]
    outer, points = [*hosts, *on.axes, *left], on.points
    if nest.sequence is None:
        script.reorder([*outer, *serial, *points])
    else:
        script.reorder([*outer, *points])
        points = _points_of_each(script, nest, points, serial, fused)
    for axis, name in (*on.blocks.items(), *on.threads.items()):
        script.do("bind", name, axis)
    return points


def add_up(script: Script, sums: Sums, hosts: Sequence[str]) -> None:
    """Loops on blocks and threads that add up together."""
    def name_of(placed: Placed) -> str:
        name = placed.member.name
        if not placed.block:
            return name
        threads = _threads(script, name, placed.block, LIMITS.block // LIMITS.warp)
        return script.block(name, threads, "b")

    outer, inner = ([(name_of(each), each.axis) for each in part] for part in (sums.outer, sums.inner))
    parts = [[*outer, *inner]] if sums.nest.sequence is None else [outer, inner]
    for k, part in enumerate(parts):
        script.reorder([*(() if k else hosts), *(name for name, _ in part)])
    for name, axis in (*outer, *inner):
        if axis:
            script.do("bind", name, axis)


@dataclass
class OnAxes:
    """The names of loops, by axis, and of those over the points of a thread."""

    blocks: dict[str, str] = field(default_factory=dict)
    threads: dict[str, str] = field(default_factory=dict)
    points: list[str] = field(default_factory=list)

    @property
    def axes(self) -> list[str]:
        """The loops on axes, outermost first."""
        every = {**self.blocks, **self.threads}
        return [every[axis] for level in ("block", "thread") for k in "wzyx" if (axis := f"{level}.{k}") in every]


def _decided(script: Script, grid: Grid, members: Sequence[Member]) -> Grid:
    """The grid as the user wants it."""
    sides = list(grid.sides)
    for k, side in enumerate(sides):
        if side.is_wide:
            beside = prod(each.threads for each in (*sides[:k], *sides[k + 1 :]))
            length = extent(members[side.member], script.scop.domain)
            most = LIMITS.block // beside if length is None else min(length, LIMITS.block // beside)
            sides[k] = _side(script, side, members[side.member].name, most)
    grid = replace(grid, sides=tuple(sides))
    chunks = {k: _chunk(script, size, members[k].name, grid.longest_chunk) for k, size in grid.chunks.items()}
    return replace(grid, chunks={k: size for k, size in chunks.items() if size})


def _side(script: Script, side: Axis, name: str, most: int) -> Axis:
    threads, m = _threads(script, name, side.threads, most), side.points
    points = script.pick(f"points.{name}", m, _some(m, POINTS_TRIED), "of a thread, which may share loads") or 1
    vector = None if side.vector in (None, side.points) else gcd(side.vector or points, points)
    return replace(side, threads=threads, points=points, vector=vector)


def _threads(script: Script, name: str, usual: int, most: int) -> int:
    some = _some(usual, THREADS_TRIED, most)
    threads = script.pick(f"threads.{name}", usual, some, "threads of a block along it") or 1
    if threads > max(usual, most):
        raise InputError(f"threads.{name} cannot be {threads}: there is work, or room in a block, for {most} along it")
    return threads


def _chunk(script: Script, size: int, name: str, most: int) -> int:
    why = "iterations between copies to shared memory, if there are any"
    return script.pick(f"chunk.{name}", size, (0, *_some(size, CHUNKS_TRIED, most)), why)


def _some(size: int, powers: range, most: int = LIMITS.block) -> tuple[int, ...]:
    """The size, and what is worth a try of what is possible."""
    return tuple(n for n in sizes_around(size, powers) if 0 < n <= most or n == size)


def _sides(script: Script, bands: Bands, grid: Grid, members: Sequence[Member]) -> OnAxes:
    """The sides of the grid on x, y and z."""
    on = OnAxes()
    for axis, side in zip("xyz", reversed(grid.wide), strict=False):
        member, size = members[side.member], side.threads * side.points
        if not bands.is_single(block_of(member, size)):
            on.blocks[f"block.{axis}"] = script.block(member.name, size, "b")
        thread, points = _thread(script, member.name, side)
        if side.threads > 1 and not bands.is_single(_thread_of(member, side)):
            on.threads[f"thread.{axis}"] = thread
        on.points = [*points, *on.points]
    return on


def _thread(script: Script, name: str, side: Axis) -> tuple[str, list[str]]:
    """The loop over threads, and those over the points of one."""
    if side.points == 1:
        return name, []
    if side.threads == 1:
        return name, [name]
    if side.vector in (None, side.points):
        return script.block(name, side.points, "t"), [name]
    (thread,), (turn,) = script.named("t", name), script.named("g", name)
    names = (thread,) if side.vector == 1 else (thread, turn)
    script.do("cyclic", name, side.threads, vector=side.vector, names=names)
    return thread, [*names[1:], name]


def _thread_of(member: Member, side: Axis) -> Member:
    """Which thread has a point: { S[i] -> [floor(i / points)] }, or [floor(i / vector) mod threads]."""
    if side.vector in (None, side.points):
        return block_of(member, side.points)
    rest = isl.UnionMap(f"{{ [x] -> [floor(x / {side.vector}) mod {side.threads}] }}")
    return replace(member, schedule=member.schedule.apply_range(rest))


def planes_on(on: OnAxes, planes: Sequence[int], members: Sequence[Member]) -> list[int]:
    """Puts as many of these members as possible on axes of blocks that are free; which these are."""
    free = ["block.w", *(axis for k in "xyz" if (axis := f"block.{k}") not in on.blocks)]
    on_axes = list(planes[max(0, len(planes) - len(free)) :])
    on.blocks |= {free.pop(): members[k].name for k in reversed(on_axes)}
    return on_axes


def _serial(script: Script, members: Sequence[Member], grid: Grid) -> list[str]:
    """The loops that a thread runs, with chunks of them."""
    names = []
    for k, member in enumerate(members):
        if not member.coincident:
            names += [script.block(member.name, grid.chunks[k], "c")] if k in grid.chunks else []
            names.append(member.name)
    return names


def _points_of_each(
    script: Script, nest: Nest, points: Sequence[str], serial: Sequence[str], fused: Sequence[set[str]]
) -> list[str]:
    """The loops over points around each part of the sequence, inside of the serial ones of the sum."""
    assert nest.sequence is not None
    of_sum = names_in(nest.sequence.children[nest.place].filter)
    parts = _parts([names_in(branch.filter) for branch in nest.sequence.children], fused)
    for part in reversed(parts[1:] if points else []):
        script.do("distribute", points[0], before=part[0])
    found = []
    for part in parts:
        inside = [each.name for each in loops(script.draft.nested) if {*each.statements} <= {*part}]
        of_part = [name for name in inside if name not in serial]
        if of_sum <= {*part}:
            script.reorder([*serial, *of_part])
        found += of_part
    return found


def _parts(branches: Sequence[set[str]], fused: Sequence[set[str]]) -> list[list[str]]:
    """The statements in turn, those of neighbors that were in one nest before together."""
    parts: list[list[str]] = []
    for own in branches:
        if parts and any({*parts[-1], *own} <= together for together in fused):
            parts[-1] += sorted(own)
        else:
            parts.append(sorted(own))
    return parts
