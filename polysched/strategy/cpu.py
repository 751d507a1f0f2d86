"""The default strategy for CPUs: tiles, wavefronts, register tiles, lanes and threads, as edits.

    gemm        .tile("i", "k", "j", sizes=(64, 256, 240), names=("i_o", "k_o", "j_o"))         tiles for the caches
                .tile("j", sizes=(24,), names=("j_r",)).tile("i", sizes=(8,), names=("i_r",))   and for registers
                .reorder("j_r", "i_r", "k", "i", "j").unroll("i").vectorize("j")
                .parallel("i_o")

These are sizes for f64, 32 registers of 64 bytes, as of AVX-512, an L1 of 32 KiB and an L2 of 1 MiB.

Each phase reads the tree in normal form, asks what pays, and says it by edits; what the tree is then, the edits say.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from polysched.config.constraints import Innermost, TileSizes, fits
from polysched.config.heuristics.cpu import FUSED_BLOCK, INTERLEAVED_ROWS, ROWS_TRIED, UPDATES_AT_ONCE
from polysched.deps.coincidence import carried, left_below
from polysched.model.tree.nodes import (
    Band,
    Domain,
    Member,
    Parallel,
    Product,
    Serial,
    Tree,
    Unroll,
    Vector,
    children,
    is_innermost,
    mark_of,
    marks_in,
)
from polysched.strategy.decision import Order
from polysched.strategy.dynamic.steps import steps
from polysched.strategy.dynamic.untied import untied
from polysched.strategy.rows.blocks import join_lanes
from polysched.strategy.rows.fuse import fuse_rows
from polysched.strategy.script import Script, names_of
from polysched.strategy.split_set import pieces
from polysched.strategy.straight import in_order, straighten
from polysched.strategy.windows import windows
from polysched.support import isl
from polysched.transform.analysis.products import products_in
from polysched.transform.analysis.reductions import innermost_loops, sums_for_lanes, sums_for_threads
from polysched.transform.analysis.roles import Around, nearest, roles, statements_of
from polysched.transform.analysis.vectorize import can_vectorize, for_threads, row_to_interleave
from polysched.transform.edits.base.loops import loops
from polysched.transform.edits.base.reduces import with_reduces
from polysched.transform.trees.distribute import apart, distribute
from polysched.transform.trees.fusion import lanes_to_join, tiles_to_fuse
from polysched.transform.trees.register_tile import register_tile_of
from polysched.transform.trees.tile import block_of, is_parallel_inside, tiling_of


def cpu(script: Script, order: Order = "free") -> None:
    """The edits of the default strategy, one phase after the other; of those that move iterations none, if their order
    is to be kept, or such that make windows of a pipeline."""
    options, keeps_order = script.options, order != "free"
    if order == "windows":
        script.phase("windows", windows)
    has_sizes = any(isinstance(each, TileSizes) for each in options.constraints)
    in_blocks = options.register_tiles and options.vector and not keeps_order
    if options.vector and options.fusion != "none" and not keeps_order:
        script.phase("fuse rows", fuse_rows)
    if options.tile and in_blocks and not (options.tile_sizes or has_sizes):
        script.phase("products", products)
    if options.tile and in_blocks and not (options.tile_sizes or has_sizes):
        script.phase("steps", steps)
    if options.parallel or options.vector:
        script.phase("split", pieces)
    if options.vector and not keeps_order:
        script.phase("strides", strides)
    if options.tile and not keeps_order:
        if not has_sizes:
            script.phase("fuse tile loops", fuse_tiles)
            if in_blocks and not options.tile_sizes:
                script.phase("untied", untied)
        script.phase("tile", tiles)
    fronts = script.phase("wavefront", wavefronts) or [] if options.wavefront and not keeps_order else []
    if in_blocks:
        script.phase("register tile", register_tiles, fronts)
        script.phase("interleave", interleaved, fronts)
    fronts = [each.name for each in loops(script.draft.nested) if each.name in fronts and not is_innermost(each.band)]
    if options.vector:
        script.phase("vectorize", lanes, fronts if options.parallel else [])
    if options.parallel:
        script.phase("parallel", threads, fronts)
    if script.dependences.reorder_reductions:
        script.phase("sums", sums)
        if options.vector:
            script.phase("join lanes", join_lanes, partial(_to_join, script))
    script.phase("serial", Script.keep)


def products(script: Script) -> None:
    """Sums of products over a box, as products of matrices."""
    for statement in list(products_in(script.tree, script.scop, script.dependences)):
        if script.says(f"product.{statement}", "sums of products over a box"):
            script.do("product", statement)


def strides(script: Script) -> None:
    """The loop with the shortest strides innermost."""
    for band, around in script.bands():
        if band.permutable and len(band.members) > 1 and is_innermost(band):
            best = nearest(band, script.scop, around.members)
            names = names_of(band.members)
            why = "its iterations touch neighbors in memory"
            name = script.pick(f"innermost.{names[0]}", names[best], names, why)
            script.reorder([*(each for each in names if each != name), *([name] if name else [])])


def fuse_tiles(script: Script) -> None:
    """A loop over blocks that neighbors have in common around both."""
    for one, first, other, second in list(tiles_to_fuse(script.tree, script.dependences)):
        if not script.says(f"fuse.{first.name}", "the second reads blocks that the first has just written"):
            continue
        names = script.named("f", first.name, second.name)
        for band, member, name in ((one, first, names[0]), (other, second, names[1])):
            script.do("tile", member.name, sizes=(FUSED_BLOCK,), names=(name,))
            script.do("reorder", name, *names_of(band.members))
        script.do("fuse", *names)


def tiles(script: Script) -> None:
    """Blocks that the caches hold; diamonds, where all of them may start at once."""
    decided = {each.key for each in script.decisions}
    for band, around in script.bands(inner_first=True):
        if f"tile.{band.members[0].name}" in decided:  # by a phase before
            continue
        sizes, diamonds = tiling_of(band, script.scop, around, script.options)
        names = names_of(band.members)
        is_diamond = diamonds is not None and all(sizes[:2])
        if is_diamond and script.says(f"diamond.{names[0]}", "all tiles along a wavefront start at once"):
            own = _sizes(script, names[1:], sizes[1:])  # a diamond has one size
            if own[0]:
                _diamonds(script, band, own)
                continue
            sizes = (*_sizes(script, names[:1], sizes[:1]), *own)
        else:
            sizes = _sizes(script, names, sizes or [0] * len(names))
        if any(sizes):
            first = _blocks(script, band, sizes)
            _separated(script, first, band, sizes, around)


def _sizes(script: Script, names: Sequence[str], sizes: Sequence[int]) -> tuple[int, ...]:
    """The sizes of tiles along these loops, as the user wants them."""
    useless = "it is alone in its band" if len(names) == 1 else "a tile along it would keep nothing more in the caches"
    useful = "what a tile touches stays in the caches"
    return tuple(
        script.size(f"tile.{name}", size, useful if size else useless)
        for name, size in zip(names, sizes, strict=True)
    )


def _diamonds(script: Script, band: Band, sizes: Sequence[int]) -> None:
    """Diamonds of the first of the sizes along two loops, and blocks of the others along all further ones."""
    first, second, *others = names_of(band.members)
    blocks = script.named("o", first, second)
    script.do("diamond", first, second, size=sizes[0], names=blocks)
    rest = [script.block(name, size, "o") for name, size in zip(others, sizes[1:], strict=True) if size]
    if rest:
        script.do("reorder", *blocks, *rest, first, second, *others)


def _blocks(script: Script, band: Band, sizes: Sequence[int]) -> str:
    """The name of the first loop over blocks."""
    names = names_of(band.members)
    some = [k for k, size in enumerate(sizes) if size]
    if some == list(range(some[0], some[-1] + 1)):  # nothing in between
        blocks = script.named("o", *(names[k] for k in some))
        script.do("tile", *(names[k] for k in some), sizes=[sizes[k] for k in some], names=blocks)
    else:
        blocks = [script.block(names[k], sizes[k], "o") for k in some]
    if some != list(range(len(some))):
        script.do("reorder", *blocks, *names)
    return blocks[0]


def _separated(script: Script, first: str, band: Band, sizes: tuple[int, ...], around: Around) -> None:
    """Statements that gain by it apart in the tiles where nothing ties them."""
    statements = tuple(statements_of(band, script.scop))
    tiled = [(member, size) for member, size in zip(band.members, sizes, strict=True) if size]
    blocks = Band(tuple(block_of(member, size) for member, size in tiled), child=band)
    inside = around.below(blocks)
    gain = [each for each in statements if roles(each, band, inside) is not None] if len(statements) > 1 else []
    why = "statements that no dependence ties in a tile run one after the other"
    can = apart(blocks, statements, gain, inside.reaching) is not blocks
    if can and script.says(f"separate.{tiled[0][0].name}", why):
        script.do("separate", first, *(each.name for each in gain))


def wavefronts(script: Script) -> list[str]:
    """Wavefronts where no loop is parallel; the names of the loops that are in them."""
    fronts = _fronts(script.tree, script.dependences.coincidence)
    why = "no loop is parallel, and all are along it"
    found = [band for band in fronts if script.says(f"wavefront.{band.members[0].name}", why)]
    for band in found:
        script.do("wavefront", *names_of(band.members[:2]))
    return [band.members[1].name for band in found]


def _fronts(tree: Tree, reaching: isl.UnionMap) -> Iterator[Band]:
    if mark_of(tree, Product):
        return
    if isinstance(tree, Band):
        if any(member.coincident for member in tree.members):
            return
        if tree.permutable and len(tree.members) > 1:
            if is_parallel_inside(tree, reaching):
                yield tree
            return
    below = left_below(tree, reaching)
    for child in children(tree):
        yield from _fronts(child, below)


def register_tiles(script: Script, fronts: Sequence[str]) -> None:
    """A block of what a statement writes in registers, its sum without what skews it; not in wavefronts."""
    sizes = script.sizes("tile")
    for band, around in script.bands():
        found = register_tile_of(band, script.scop, around, script.options.machine, sizes)
        if found is None or {*names_of(band.members)} & {*fronts}:
            continue
        names = names_of(band.members)
        serial, unrolled, vector = found.roles.serial, found.roles.unrolled, found.roles.vector
        assert not (unrolled is vector is None), f"neither unrolled nor SIMD: {found.roles}"
        taken = (serial, unrolled, vector, *found.window)
        others = [name for k, name in enumerate(names) if k not in taken]
        row, most = (names[serial], UPDATES_AT_ONCE) if unrolled is None else (names[unrolled], found.block.rows)
        why = "so many sums or loads are under way at a time"
        if not (rows := script.size(f"rows.{row}", most, why, ROWS_TRIED)):
            continue
        lane, blocks = [] if vector is None else [names[vector]], list[str]()
        why = "vectors that stay in registers with the rows"
        if unrolled is not None and lane and (columns := script.size(f"columns.{lane[0]}", found.block.columns, why)):
            blocks.append(script.block(lane[0], columns, "r"))
        blocks.append(script.block(row, rows, "r"))
        of_sum = [band.members[k] for k in (*found.window, serial)]
        inside = [*lane, row] if unrolled is None else [*names_of(of_sum), row, *lane]
        script.do("reorder", *others, *blocks, *inside)
        if unrolled is not None and lane:
            straighten(script, in_order(Band(tuple(of_sum))).members)
        script.do("unroll", row)
        for name in lane:
            script.do("vectorize", name)


def interleaved(script: Script, fronts: Sequence[str]) -> None:
    """Several rows at a time of loops whose iterations wait for each other; not of wavefronts, which are parallel."""
    for band, row in list(_rows(script)):
        why = "rows that wait for themselves alone are under way at a time"
        if {*names_of(band.members)} & {*fronts}:
            continue
        if not (rows := script.size(f"interleave.{row.name}", INTERLEAVED_ROWS, why, ROWS_TRIED)):
            continue
        *outer, last = names_of(band.members)
        block = script.block(row.name, rows, "r")
        script.do("reorder", *(name for name in outer if name != row.name), block, last, row.name)
        script.do("unroll", row.name)


def _rows(script: Script) -> Iterator[tuple[Band, Member]]:
    for node, around in script.around.walk(script.tree, lambda node: mark_of(node, Unroll) or mark_of(node, Product)):
        if isinstance(node, Band) and (row := row_to_interleave(node, around.reaching)):
            yield node, row


def lanes(script: Script, left_to_threads: Sequence[str]) -> None:
    """Innermost loops with independent iterations as SIMD, distributed where that makes some so."""
    kept: set[str] = set()
    while name := next((name for name in _to_distribute(script) if name not in kept), None):
        if script.says(f"distribute.{name}", "a part of it has independent iterations"):
            script.do("distribute", name)
        else:
            kept.add(name)
    for name in list(_to_vectorize(script)):
        if name not in left_to_threads and script.says(f"vectorize.{name}", "innermost, with independent iterations"):
            script.do("vectorize", name)


def _to_distribute(script: Script) -> Iterator[str]:
    for band, inside in innermost_loops(script.tree, script.dependences):
        (last,), pairs = band.members, inside.reaching
        if not carried(last, pairs).is_empty() and distribute(band, pairs) and can_vectorize(band, pairs):
            yield last.name


def _to_vectorize(script: Script) -> Iterator[str]:
    """A loop that stands alone has threads, which bring more."""
    for band, inside in innermost_loops(script.tree, script.dependences):
        (last,) = band.members
        if (inside.members or not script.options.parallel) and carried(last, inside.reaching).is_empty():
            yield last.name


def threads(script: Script, fronts: Sequence[str]) -> None:
    """The outermost parallel loop of each nest on threads."""
    for name in fronts:
        if script.says(f"front.{name}", "independent along a wavefront"):
            script.do("parallel", name)
    for band, member in list(_to_thread(script.tree, None, is_repeated=False)):
        free = {each.name: each for each in band.members if each.coincident and not each.marks}
        best = member.name if member.name in free else next(iter(free), "")
        why = "the outermost loop with independent iterations, enough for all threads"
        if not (name := script.pick(f"parallel.{band.members[0].name}", best, ("", *free), why)):
            continue
        member = free[name]
        if band.permutable:
            script.to_front(member.name, band.members)
        script.do("parallel", member.name)


def _to_thread(tree: Tree, domain: isl.UnionSet | None, *, is_repeated: bool) -> Iterator[tuple[Band, Member]]:
    """One loop on a path: threads started inside threads only cost. Nor do they pay for a single loop that others
    repeat: it would have to be very long."""
    if isinstance(tree, Domain):
        domain = tree.domain
    if mark_of(tree, Product) or mark_of(tree, Serial) or (mark_of(tree, Vector) and is_repeated):
        return
    if isinstance(tree, Band) and any(isinstance(mark, Parallel) for mark in marks_in(tree)):
        return
    repeats = is_repeated or isinstance(tree, Band)
    is_short = isinstance(tree, Band) and is_repeated and len(tree.members) == 1 and is_innermost(tree)
    if isinstance(tree, Band) and any(member.coincident for member in tree.members) and not is_short:
        k = for_threads(tree, domain)
        inside = [] if k is not None else list(_to_thread(tree.child, domain, is_repeated=is_repeated))
        if inside:
            yield from inside
            return
        first = next(each for each in tree.members if each.coincident)
        yield tree, first if k is None else tree.members[k]
        return
    for child in children(tree):
        yield from _to_thread(child, domain, is_repeated=repeats)


def sums(script: Script) -> None:
    """Sums that threads or lanes share where no loop is parallel."""
    if script.options.parallel:
        for band, member in list(sums_for_threads(script.tree, script.dependences)):
            if script.says(f"sum_threads.{member.name}", "it carries sums alone, which threads may share"):
                if band.permutable:
                    script.to_front(member.name, band.members)
                script.do("parallel", member.name)
    if script.options.vector:
        asked = _asked_for_lanes(script)
        for member in list(sums_for_lanes(script.tree, script.scop, script.dependences, asked)):
            if script.says(f"sum_lanes.{member.name}", "it carries sums alone, of rows"):
                script.do("vectorize", member.name)


def _to_join(script: Script) -> Iterator[tuple[str, str]]:
    tree = with_reduces(script.tree, script.dependences)
    return lanes_to_join(tree, script.scop, script.dependences)


def _asked_for_lanes(script: Script) -> tuple[str, ...]:
    """The statements of which the last loop is the user's."""
    patterns = [each.statement for each in script.options.constraints if isinstance(each, Innermost)]
    return tuple(each.name for each in script.scop.statements if fits(each.name, patterns))
