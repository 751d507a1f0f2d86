"""Blocked factorizations: tiles of the loop that carries everything, which stay on the host, and what is done in one of
them as panels and an update.

    k                                  K                             .tile("k", sizes=(64,), names=("K",))
      i, j: S0, S1           ->          i, j <= 64 * K + 63         .split_set("i", "i <= 64*K+63")
                                         i > .., j <= ..             .split_set("j", "j <= 64*K+63")
                                         i <= .., j > ..             ...
                                         i > .., j > ..

What is beyond the tile of k along a loop runs after what is not, and each loop is parallel beyond. What is beyond along
all of them is the update: almost all that there is to do, as products of panels (Golub and Van Loan, Matrix
Computations, section 3.2).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from polysched.config.heuristics.gpu import HOST_TILE, HOST_TILE_LOOPS, HOST_TILES_TRIED
from polysched.deps.coincidence import in_one
from polysched.model.tree.nodes import Band, Member, Tree, children, is_innermost, marks_in
from polysched.strategy.bands import Bands, parallelism, serial_first
from polysched.strategy.script import Script, names_of
from polysched.strategy.tiles import extent
from polysched.support import isl
from polysched.transform.analysis.roles import Around
from polysched.transform.edits.base.loops import loops
from polysched.transform.trees.tile import block_of


def tile_on_host(script: Script, bands: Bands) -> None:
    """Each such nest in panels and an update, for each tile of its outer loop."""
    for band, around in list(_outermost(script.tree, script.around)):
        if not _may_be_tiled(band, around, bands, HOST_TILE):
            continue
        size = script.size(f"host_tile.{band.members[0].name}", HOST_TILE, _WHY, HOST_TILES_TRIED)
        if size and (size == HOST_TILE or _may_be_tiled(band, around, bands, size)):
            _in_parts(script, band, around.instances(bands.instances), size)


_WHY = "iterations of the host's loop in one step: what is beyond them is one update"


@dataclass(frozen=True)
class _Part:
    """Some of a tile: the names of its loops, in the order of the band, and its instances."""

    names: Sequence[str]
    instances: isl.UnionSet


def _outermost(tree: Tree, around: Around) -> Iterator[tuple[Band, Around]]:
    if isinstance(tree, Band):
        yield tree, around
        return
    below = around.below(tree)
    for child in children(tree):
        yield from _outermost(child, below)


def _may_be_tiled(band: Band, around: Around, bands: Bands, size: int) -> bool:
    """Does its first loop carry everything, is it long, and is what is beyond a tile of it parallel?"""
    first, *others = band.members
    are_plain = all(member.name.isidentifier() and not member.rounds for member in band.members)
    is_fit = band.permutable and 1 <= len(others) <= HOST_TILE_LOOPS and are_plain
    if not is_fit or marks_in(band) or not is_innermost(band):
        return False
    if parallelism(bands.flagged(band, around)) or serial_first(band).members[0] is not first:
        return False
    own = around.instances(bands.instances).intersect(first.schedule.domain())
    length = extent(first, own)
    if length is not None and length <= size:
        return False
    inside = in_one(block_of(first, size), around.reaching).intersect_domain(own).intersect_range(own)
    nears = [_near(member, first, size, own) for member in others]
    are_first = all(inside.intersect_domain(own.subtract(near)).intersect_range(near).is_empty() for near in nears)
    return are_first and all(_is_parallel(beyond, others, inside, band, own, size) for beyond in _subsets(others))


def _subsets(members: Sequence[Member]) -> Iterator[tuple[Member, ...]]:
    """One, or more of them; all at last."""
    for count in range(1, len(members) + 1):
        yield from combinations(members, count)


def _is_parallel(
    beyond: Sequence[Member], others: Sequence[Member], inside: isl.UnionMap, band: Band, own: isl.UnionSet, size: int
) -> bool:
    """Is what is beyond a tile along these loops, and not along the others, parallel along them? True where there is no
    such part of it."""
    part = own
    for member in others:
        near = _near(member, band.members[0], size, part)
        part = part.subtract(near) if member in beyond else near
    if part.is_empty():
        return len(beyond) < len(others)  # without an update there is nothing to gain
    needed = inside.intersect_domain(part).intersect_range(part)
    return all(needed.is_subset(in_one(member, needed)) for member in beyond)


def _near(member: Member, first: Member, size: int, instances: isl.UnionSet) -> isl.UnionSet:
    """The instances whose values of the member are not beyond the tile."""
    both = member.schedule.flat_range_product(block_of(first, size).schedule).intersect_domain(instances)
    return both.intersect_range(isl.UnionSet(f"{{ [m, K] : m <= {size} * K + {size - 1} }}")).domain()


def _in_parts(script: Script, band: Band, instances: isl.UnionSet, size: int) -> None:
    """The tile loop, and inside of it first what is near along a loop, then what is beyond, loop by loop."""
    first, *others = band.members
    tile = script.block(first.name, size, "h")
    own = instances.intersect(first.schedule.domain())
    parts = [_Part(names_of(band.members), own)]
    for k, member in enumerate(others, start=1):
        found = list[_Part]()
        for part in parts:
            near = _near(member, first, size, part.instances)
            found += _split(script, part, k, near, f"{{}} <= {size}*{tile}+{size - 1}")
        parts = found


def _split(script: Script, part: _Part, k: int, near: isl.UnionSet, condition: str) -> list[_Part]:
    """The part in two, if it has instances near the tile along loop k, and others."""
    beyond = part.instances.subtract(near)
    if near.is_empty() or beyond.is_empty():
        return [part]
    name = part.names[k]
    order = [name, *(each for each in part.names if each != name)]
    script.reorder(order)
    before = {each.name for each in loops(script.draft.nested)}
    script.do("split_set", name, condition.format(name))
    new = [each.name for each in loops(script.draft.nested) if each.name not in before]
    called = dict(zip(order, new, strict=True))
    return [replace(part, instances=near), _Part([called[each] for each in part.names], beyond)]
