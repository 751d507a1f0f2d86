"""Products of matrices on tensor instructions, as edits: tiles of a block, of a warp, and of what is copied at a time.

    i, j, k     .tile("i", sizes=(128,), names=("i_b",)).tile("i", sizes=(64,), names=("i_w",))
                .tile("j", sizes=(128,), names=("j_b",)).tile("j", sizes=(64,), names=("j_w",))
                .tile("k", sizes=(64,), names=("k_c",)).reorder("i_b", "j_b", "i_w", "j_w", "k_c", "k", "i", "j")
                .bind("i_b", "block.y").bind("j_b", "block.x").bind("i_w", "thread.z").bind("j_w", "thread.y")
                .tensorize("i", "j", "k", "mma.m16n8k16.f16", stages=3)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from polysched.config.heuristics.gpu import STAGES_TRIED, TERMS_TRIED, WARP_TILES, WarpTile
from polysched.config.target import LIMITS
from polysched.ir.dtypes import f64
from polysched.model.instructions.instruction import Instruction
from polysched.model.instructions.mma import INSTRUCTIONS
from polysched.model.tree.nodes import Leaf, Member, nest_of
from polysched.strategy.grid import Nest
from polysched.strategy.on_grid import OnAxes, place, planes_on
from polysched.strategy.script import Script, names_of
from polysched.strategy.tiles import extent
from polysched.transform.analysis.roles import Around, statements_of
from polysched.transform.analysis.unify import unify
from polysched.transform.edits.base.loops import loops


@dataclass(frozen=True)
class Warps:
    """An instruction for a statement, and the loops that are its rows, columns and terms."""

    statement: str
    instruction: Instruction
    rows: Member
    columns: Member
    terms: Member
    inside: tuple[Member, ...]  # loops in the band that is put on the grid
    tile: WarpTile


def warps_for(script: Script, nest: Nest, around: Around) -> Warps | None:
    """How tensor instructions may run the nest, if there is one for it and the options allow that."""
    found = list(statements_of(nest.band, script.scop))
    members, child = nest_of(nest.band)
    options = script.options
    if options.tensor == "off" or not (options.shared_memory and options.register_tiles):
        return None
    if len(found) != 1 or not isinstance(child, Leaf):
        return None
    for of in INSTRUCTIONS.values():
        is_allowed = options.contract_floats if of.sum == f64 else options.tensor == "fast" or not of.digits
        if options.gpu.capability < of.arch or not is_allowed:
            continue
        unified = unify(found[0], script.scop, (*around.members, *members), of)
        if unified is None or min(unified.rows, unified.columns, unified.terms) < len(around.members):
            continue
        every = (*around.members, *members)
        rows, columns, terms = every[unified.rows], every[unified.columns], every[unified.terms]
        serial = [member for member in members if not member.coincident]
        is_innermost = serial[-1:] == [terms] or script.dependences.reorder_reductions
        if rows.coincident and columns.coincident and is_innermost:
            inside = members[len(nest.band.members) :]
            planes = [m for m in nest.members if m.coincident and m.name not in (rows.name, columns.name)]
            tile = _tile(script, WARP_TILES[of.factor.name], rows, columns, planes)
            is_short = (extent(terms, script.scop.domain) or 2 * of.terms) < 2 * of.terms
            return None if is_short else Warps(found[0].name, of, rows, columns, terms, inside, tile)
    return None


def _tile(
    script: Script, tiles: Sequence[WarpTile], rows: Member, columns: Member, planes: Sequence[Member]
) -> WarpTile:
    """The tile that is fastest, by how much of it is of use, and how many of the multiprocessors have one."""
    high, wide, *many = (extent(member, script.scop.domain) for member in (rows, columns, *planes))
    if high is None or wide is None:
        return tiles[0]
    known = prod(size or 1 for size in many)

    def speed(tile: WarpTile) -> float:
        across, along = -(-high // tile.rows), -(-wide // tile.columns)
        used = high * wide / (across * tile.rows * along * tile.columns)
        return tile.speed * used * min(1, across * along * known / script.options.gpu.multiprocessors)

    return max(tiles, key=speed)


def _decided(script: Script, found: Warps) -> tuple[WarpTile, bool]:
    """The tile as the user wants it, and whether one chunk has all terms."""
    tiles = {str(each): each for each in WARP_TILES[found.instruction.factor.name]}
    why = "of a block by of a warp: most of it is of use, and most multiprocessors have one"
    tile = tiles.get(script.pick(f"warps.{found.statement}", str(found.tile), (*tiles,), why), found.tile)
    terms, least = extent(found.terms, script.scop.domain), 2 * found.instruction.terms
    is_one_chunk = terms is not None and terms <= tile.chunk and terms % least == 0
    if not is_one_chunk:
        usual = tile.chunk if terms is None or terms > tile.chunk else least
        some = (n for n in (least << k for k in TERMS_TRIED) if _fits(replace(tile, chunk=n), found.instruction))
        chunks = tuple(sorted({usual, *some}))
        chunk = script.pick(f"chunk.{found.terms.name}", usual, chunks, "terms that are copied at a time")
        tile = replace(tile, chunk=chunk or usual)
    stages = tuple(n for n in STAGES_TRIED if n == tile.stages or _fits(replace(tile, stages=n), found.instruction))
    count = script.pick(f"stages.{found.statement}", tile.stages, stages, "buffers that copies go to in turn")
    return replace(tile, stages=count), is_one_chunk


def _fits(tile: WarpTile, instruction: Instruction) -> bool:
    """Does shared memory hold the copies of all stages?"""
    elements = tile.stages * tile.chunk * (tile.rows + tile.columns)
    return elements * instruction.factor.bits // 8 <= LIMITS.dynamic


def on_warps(script: Script, nest: Nest, found: Warps, hosts: Sequence[str], fused: Sequence[set[str]]) -> None:
    """The nest on blocks, and the warps of each, inside of `hosts`."""
    (tile, is_one_chunk), on, names = _decided(script, found), OnAxes(), names_of(nest.members)
    rows, columns, terms = found.rows.name, found.columns.name, found.terms.name
    on.blocks["block.x"] = script.block(columns, tile.columns, "b")
    on.blocks["block.y"] = script.block(rows, tile.rows, "b")
    on.threads["thread.y"] = script.block(columns, tile.warp_columns, "w")
    on.threads["thread.z"] = script.block(rows, tile.warp_rows, "w")
    on.points = [rows, columns]
    chunk = [] if is_one_chunk else [script.block(terms, tile.chunk, "c")]
    own = [names.index(rows), names.index(columns)]
    planes = [k for k, member in enumerate(nest.members) if member.coincident and k not in own]
    serial = [member for member in (*nest.members, *found.inside) if not member.coincident and member.name != terms]
    taken = [*own, *planes_on(on, planes, nest.members)]
    points = place(script, nest, on, [*names_of(serial), *chunk, terms], taken, hosts, fused)
    inside = [each.name for each in loops(script.draft.nested) if each.statements == (found.statement,)]
    for name in points:
        if name not in inside:
            script.do("unroll", name)
    rows, columns = (name for name in points if name in inside)
    script.do("tensorize", rows, columns, terms, found.instruction.name, stages=tile.stages)
