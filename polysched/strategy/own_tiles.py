"""Tiles that a schedule has before it goes on a grid, as those made by hand: blocks, threads and points as they are.

    i_b, j_b, i, j, l_c, l              .bind("i_b", "block.y").bind("j_b", "block.x")
                                        .bind("i", "thread.y").bind("j", "thread.x")
    i_b, j_b, i_t, j_t, l, i, j         .bind("i_t", "thread.y").bind("j_t", "thread.x").unroll("i").unroll("j")

A loop is inside a tile's if each of its values is in one of these, which has a constant number of them at most.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, permutations
from math import prod

from polysched import isl
from polysched.deps.coincidence import mark_under
from polysched.heuristics import gpu as rules
from polysched.model.scop import Scop
from polysched.model.tree import Band, Leaf, Member, own_marks
from polysched.strategy.script import Script
from polysched.target import LIMITS
from polysched.transform.roles import Around
from polysched.transform.strides import far_accesses


@dataclass(frozen=True)
class OwnTiles:
    """Loops by what they become; blocks and threads by axis, outermost first."""

    blocks: Mapping[str, str]
    threads: Mapping[str, str]
    inside: Sequence[str]  # what a thread runs around its points
    points: Sequence[str]
    is_few: bool  # points of a thread, so that they may be unrolled


def own_tiles(band: Band, scop: Scop, around: Around) -> OwnTiles | None:
    """What a band and those right inside become if parallel loops among them are tiled, that which steps through
    memory, too, and a block has threads for a tile."""
    members = tuple(_nested(band))
    if not any(member.rounds for member in members):
        return None
    flat = mark_under(Band(members, child=Leaf()), around.reaching)
    assert isinstance(flat, Band)
    parallel = [k for k, member in enumerate(flat.members) if member.coincident]
    pairs = permutations(parallel, 2)
    sizes = {(a, b): size for a, b in pairs if (size := _size(members[a], members[b], scop))}
    chains = _chains(parallel, sizes)
    if not chains:
        return None
    every, depth = (*around.members, *members), len(around.members)
    *others, x = sorted(chains, key=lambda chain: (-far_accesses(scop, every, depth + chain[-1])[0], chain))
    axes = dict(zip("xyz", [x, *sorted(others, reverse=True)], strict=False))
    threads = {axis: chain[:2] for axis, chain in axes.items() if len(chain) > 1}
    if "x" not in threads or not _fit({axis: sizes[outer, inner] for axis, (outer, inner) in threads.items()}):
        return None
    points = sorted(k for chain in axes.values() for k in chain[2:])
    blocks = {axis: chain[0] for axis, chain in axes.items()}
    taken = {*points, *blocks.values(), *(inner for _, inner in threads.values())}
    steps = [pair for chain in axes.values() for pair in pairwise(chain[1:])]
    is_few = prod(sizes[pair] for pair in steps) <= rules.TILE_POINTS**2
    names = [member.name for member in members]
    return OwnTiles(
        {f"block.{axis}": names[blocks[axis]] for axis in reversed(blocks)},
        {f"thread.{axis}": names[threads[axis][1]] for axis in reversed(threads)},
        [name for k, name in enumerate(names) if k not in taken],
        [names[k] for k in points],
        is_few,
    )


def on_own_tiles(script: Script, tiles: OwnTiles, hosts: Sequence[str]) -> None:
    """The tiles on the grid, inside of `hosts`."""
    script.reorder([*hosts, *tiles.blocks.values(), *tiles.threads.values(), *tiles.inside, *tiles.points])
    for axis, name in (*tiles.blocks.items(), *tiles.threads.items()):
        script.do("bind", name, axis)
    for name in tiles.points if tiles.is_few else ():
        script.do("unroll", name)


def _nested(band: Band) -> Iterator[Member]:
    yield from band.members
    if isinstance(band.child, Band) and not own_marks(band.child):
        yield from _nested(band.child)


def _chains(parallel: Sequence[int], sizes: Mapping[tuple[int, int], int]) -> list[list[int]]:
    """Each loop with its tiles, outermost first; none if there are no tiles, or if a loop is in two of them, or a tile
    is one of two loops."""
    chains = [_chain(k, sizes) for k in parallel if not any(inner == k for _, inner in sizes)]
    are_apart = sum(map(len, chains)) == len(parallel)
    are_nested = all(pair in sizes for chain in chains for pair in pairwise(chain))
    return chains if sizes and are_apart and are_nested else []


def _chain(outer: int, sizes: Mapping[tuple[int, int], int]) -> list[int]:
    """The loop, the loop over its tiles' iterations, and so on."""
    inner = [b for a, b in sizes if a == outer]
    direct = [b for b in inner if not any((a, b) in sizes for a in inner)]
    return [outer, *(k for b in direct for k in _chain(b, sizes))]


def _size(outer: Member, inner: Member, scop: Scop) -> int | None:
    """How many values of the inner loop one of the outer has at most, if it is a tile of these."""
    if not outer.rounds:
        return None
    values = outer.schedule.intersect_domain(scop.domain).reverse().apply_range(inner.schedule)
    if values.is_empty() or not values.reverse().is_single_valued():
        return None
    apart = isl.Set.from_union_set(values.reverse().apply_range(values).deltas())
    apart = apart.project_out(isl.dim_type.param, 0, apart.dim(isl.dim_type.param))
    return int(apart.dim_max_val(0).to_python()) + 1 if apart.is_bounded() else None


def _fit(threads: Mapping[str, int]) -> bool:
    """Has a block so many threads along its axes?"""
    return prod(threads.values()) <= LIMITS.block and all(
        size <= LIMITS.threads[axis] for axis, size in threads.items()
    )
