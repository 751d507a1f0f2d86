"""Tiles that a schedule has before it goes on a grid, as those made by hand: blocks, threads and points as they are.

    i_b, j_b, i, j, l_c, l              .bind("j_b", "block.x").bind("i_b", "block.y")
                                        .bind("j", "thread.x").bind("i", "thread.y")
    i_b, j_b, i_t, j_t, l, i, j         .bind("j_t", "thread.x").bind("i_t", "thread.y").unroll("i").unroll("j")

A loop is inside a tile's if each of its values is in one of these, which has a constant number of them at most.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, permutations
from math import prod

from polysched.config.heuristics import gpu as rules
from polysched.config.target import LIMITS
from polysched.deps.coincidence import mark_under
from polysched.model.scop import Scop
from polysched.model.tree.nodes import Band, Leaf, Member, nest_of
from polysched.strategy.script import Script
from polysched.support.trace import left_out
from polysched.transform.analysis.roles import Around, far_accesses, step, stride
from polysched.transform.edits.base.loops import longest


@dataclass(frozen=True)
class OwnTiles:
    """Loops by what they become; blocks and threads by axis, innermost first."""

    blocks: Mapping[str, str]
    threads: Mapping[str, str]
    inside: Sequence[str]  # what a thread runs around its points
    points: Sequence[str]
    is_few: bool  # points of a thread, so that they may be unrolled


def own_tiles(band: Band, scop: Scop, around: Around) -> OwnTiles | None:
    """What a band and those right inside become if their tiles are of parallel loops, the one that steps least far
    through memory among them, and of sums, if a block has threads for a tile, and if no more loops are parallel inside
    of the first serial one. Four parallel loops have an axis."""
    members, _ = nest_of(band)
    if not any(member.rounds for member in members):
        return None
    parallel = _parallel(members, around)
    pairs = permutations(range(len(members)), 2)
    sizes = {(a, b): size for a, b in pairs if (size := _size(members[a], members[b], scop))}
    every, depth = (*around.members, *members), len(around.members)
    if not all(_adds_up(scop, every, depth + inner) for _, inner in sizes if inner not in parallel):
        return None
    chains, inside = _chains(parallel, sizes), _chains(_parallel_inside(members, parallel, around), sizes)
    if not chains or len(inside) > len(chains) or any(members[chain[0]].rounds and len(chain) == 1 for chain in chains):
        return None
    far = {chain[-1]: far_accesses(scop, every, depth + chain[-1])[0] for chain in chains}
    axes = _axes(chains, far)
    return _placed([member.name for member in members], axes, sizes) if axes and _fit(axes, sizes) else None


def _axes(chains: Sequence[list[int]], far: Mapping[int, int]) -> dict[str, list[int]]:
    """The chains by axis, those with tiles first; none if that along x has no tiles, or if there is no axis for one."""
    *others, x = sorted(chains, key=lambda chain: (-far[chain[-1]], chain))
    others.sort(key=lambda chain: (len(chain) > 1, chain), reverse=True)
    if len(x) == 1 or any(len(chain) > 1 for chain in others[2:]):
        return {}
    return dict(zip("xyzw", [x, *others], strict=False))


def _fit(axes: Mapping[str, list[int]], sizes: Mapping[tuple[int, int], int]) -> bool:
    """Has a block threads for a tile? If not, says so."""
    threads = {axis: sizes[chain[0], chain[1]] for axis, chain in axes.items() if len(chain) > 1}
    many = [f"{size} along {axis}" for axis, size in threads.items() if size > LIMITS.threads[axis]]
    if (count := prod(threads.values())) > LIMITS.block:
        many.append(f"{count} in all")
    if many:
        left_out("tiles on the grid", f"blocks would have too many threads: {', '.join(many)}")
    return not many


def _placed(names: Sequence[str], axes: Mapping[str, list[int]], sizes: Mapping[tuple[int, int], int]) -> OwnTiles:
    """Blocks, threads and points of these chains, and the other loops."""
    blocks = {f"block.{axis}": names[chain[0]] for axis, chain in axes.items()}
    threads = {f"thread.{axis}": names[chain[1]] for axis, chain in axes.items() if len(chain) > 1}
    points = [names[k] for k in sorted(k for chain in axes.values() for k in chain[2:])]
    taken = {*blocks.values(), *threads.values(), *points}
    count = prod(sizes[pair] for chain in axes.values() for pair in pairwise(chain[1:]))
    return OwnTiles(
        blocks, threads, [name for name in names if name not in taken], points, count <= rules.TILE_POINTS**2
    )


def on_own_tiles(script: Script, tiles: OwnTiles, hosts: Sequence[str]) -> None:
    """The tiles on the grid, inside of `hosts`."""
    blocks, threads = [*tiles.blocks.values()], [*tiles.threads.values()]
    script.reorder([*hosts, *reversed(blocks), *reversed(threads), *tiles.inside, *tiles.points])
    for axis, name in (*tiles.blocks.items(), *tiles.threads.items()):
        script.do("bind", name, axis)
    for name in tiles.points if tiles.is_few else ():
        script.do("unroll", name)


def _adds_up(scop: Scop, loops: tuple[Member, ...], k: int) -> bool:
    """Does what is written stay in place along the loop?"""
    steps = ((statement, step(statement, loops, k)) for statement in scop.statements)
    return all(along is None or stride(access, along) == 0 for statement, along in steps for access in statement.writes)


def _parallel(members: Sequence[Member], around: Around) -> list[int]:
    """Which loops are parallel, however they stand."""
    flat = mark_under(Band(tuple(members), child=Leaf()), around.reaching)
    assert isinstance(flat, Band)
    return [k for k, member in enumerate(flat.members) if member.coincident]


def _parallel_inside(members: Sequence[Member], parallel: Sequence[int], around: Around) -> list[int]:
    """Which others are if the first serial one is outside of them."""
    first = next((k for k in range(len(members)) if k not in parallel), None)
    if first is None:
        return []
    return [k for k in _parallel(members, around.below(Band((members[first],)))) if k != first]


def _chains(parallel: Sequence[int], every: Mapping[tuple[int, int], int]) -> list[list[int]]:
    """Each parallel loop with its tiles, outermost first; none if there are no tiles, if a loop is in two of them, or
    if a tile is one of two loops."""
    sizes = {pair: size for pair, size in every.items() if {*pair} <= {*parallel}}
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
    return longest(inner.schedule, scop.domain, outer.schedule)
