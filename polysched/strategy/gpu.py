"""The default strategy for GPUs: parallel loops on blocks and threads, several points each, sums in chunks, as edits.

    gemm        .tile("i", sizes=(64,), names=("i_b",)).tile("i", sizes=(8,), names=("i_t",))     blocks and threads
                .tile("j", sizes=(128,), names=("j_b",)).cyclic("j", 16, 4, names=("j_t", "j_g"))
                .tile("k", sizes=(16,), names=("k_c",))                               what is copied at a time
                .reorder("i_b", "j_b", "i_t", "j_t", "k_c", "k", "i", "j_g", "j")
                .bind("i_b", "block.y").bind("j_b", "block.x").bind("i_t", "thread.y").bind("j_t", "thread.x")
                .unroll("i").unroll("j_g").unroll("j")

Each step reads the tree in normal form, and does what is best with the first band that is on no grid yet (`bands.py`).
Loops outside of the first parallel ones stay on the host.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from polysched.deps.reaching import names_in
from polysched.model.tree.nodes import Band, Filter, Tree, children, marks_in, own_marks
from polysched.strategy.bands import Bands, Distributed, InOneBlock, InPieces, InWavefronts, OnHost, parallelism
from polysched.strategy.blocks.one_block import on_one_block
from polysched.strategy.blocks.tiles_of_host import tile_on_host
from polysched.strategy.grid import Nest, choose_grid
from polysched.strategy.on_grid import add_up, on_grid
from polysched.strategy.own_tiles import on_own_tiles, own_tiles
from polysched.strategy.row_blocks.edits import rows_on_blocks
from polysched.strategy.rows.fuse import fuse
from polysched.strategy.script import Script, names_of
from polysched.strategy.split_set import split_in
from polysched.strategy.stencils.time_tiles import is_on_grid, time_tiles
from polysched.strategy.straight import straighten
from polysched.strategy.sums import Sums, sums_in_teams
from polysched.strategy.tensor_cores import on_warps, warps_for
from polysched.transform.analysis.roles import Around
from polysched.transform.trees.distribute import distribute
from polysched.transform.trees.fusion import sums_to_fuse


def gpu(script: Script, shared: int) -> None:
    """The edits of the default strategy, one nest after the other, where a block may ask for so many bytes of shared
    memory."""
    if script.options.tile and script.options.shared_memory:
        time_tiles(script, shared)
        if is_on_grid(script.draft.nested):
            return
    if script.options.fusion != "none":
        script.phase("rows", rows_on_blocks)
    parts = script.phase("fuse sums", fuse_sums) or [] if script.options.fusion != "none" else []
    if script.options.tile:
        script.phase("tiles of the host's", _tiled_on_host)
    script.phase("map to gpu", _on_grids, parts, meets=False)
    script.phase("serial", Script.keep, meets=False)


def _tiled_on_host(script: Script) -> None:
    tile_on_host(script, Bands(script.scop, script.dependences, script.options.gpu))


def _on_grids(script: Script, parts: list[set[str]]) -> None:
    strategy = _Strategy(script, Bands(script.scop, script.dependences, script.options.gpu), parts)
    while strategy.below(script.tree, script.around, ()):
        pass


def fuse_sums(script: Script) -> list[set[str]]:
    """Sums, what they start from and what is made of them, element by element in one nest; the statements that were in
    one nest before."""
    parts = []
    for found in list(sums_to_fuse(script.tree, script.scop, script.dependences)):
        first, *_ = script.in_order([nest.members[0].name for nest in found.nests])
        if script.says(f"fuse.{first}", "an element stays with the thread that adds it up"):
            fuse(script, found.nests)
            parts += [names_in(nest.members[0].schedule.domain()) for nest in found.nests]
    return parts


_Step = Callable[[Band, Around, Sequence[str]], bool]


@dataclass(frozen=True)
class _Strategy:
    """Looks for the first nest that is on no grid, and takes the next step with it."""

    script: Script
    bands: Bands
    parts: list[set[str]]  # the statements of nests that were fused
    asked: set[str] = field(default_factory=set)  # keys of decisions
    refused: set[str] = field(default_factory=set)  # the first loops of nests, or of tiles, that no edits put on a grid

    def below(self, tree: Tree, around: Around, hosts: Sequence[str]) -> bool:
        """Takes the next step with what is in the tree; False if there is none. `hosts` are the loops right around that
        stay on the host."""
        if isinstance(tree, Band):
            return not own_marks(tree) and self._band(tree, around, hosts)
        below = around.below(tree)
        return any(self.below(child, below, ()) for child in children(tree))

    def _band(self, tree: Band, around: Around, hosts: Sequence[str]) -> bool:
        if marks_in(tree):
            return self.below(tree.child, around.below(tree), ())
        if self._tried(f"tiles of {tree.members[0].name}", self._tiled, tree, around, hosts):
            return True
        band = self.bands.flagged(tree, around)
        if not band.members:
            return self.below(band.child, around, hosts)
        return self._tried(band.members[0].name, self._mapped, band, around, hosts)

    def _tried(self, key: str, write: _Step, band: Band, around: Around, hosts: Sequence[str]) -> bool:
        """Has `write` taken a step? So has what forgets a refused one, which is not tried again."""
        if key in self.refused:
            return False
        taken = self.script.attempt(f"grid of {key}", lambda: write(band, around, hosts))
        if taken is None:
            self.refused.add(key)
        return taken is not False

    def _tiled(self, band: Band, around: Around, hosts: Sequence[str]) -> bool:
        """Puts tiles that there are on a grid; False if there are none."""
        tiles = own_tiles(band, self.script.scop, around)
        if tiles is not None:
            on_own_tiles(self.script, tiles, hosts)
        return tiles is not None

    def _mapped(self, band: Band, around: Around, hosts: Sequence[str]) -> bool:
        """Takes the first way that the user has not declined; False if there is no step to take."""
        script, first = self.script, band.members[0].name
        if self._has_tiles_apart(band, around) and self._says(f"distribute.{first}", _TILES):
            script.do("distribute", first)
            return True
        for way in self.bands.ways(band, around):
            match way:
                case Distributed() if self._says(f"distribute.{first}", "more loops are parallel then"):
                    script.do("distribute", first)
                    return True
                case InOneBlock() as small if self._says(f"one_block.{first}", _ONE_BLOCK):
                    on_one_block(script, self.bands, small, hosts)
                    return True
                case Nest() as nest:
                    self._on_grid(nest, around, hosts)
                    return True
                case Sums() as sums if self._says(f"sum_threads.{sums.loop}", _SUM):
                    straighten(script, band.members)
                    add_up(script, sums, hosts)
                    return True
                case InPieces(pieces):
                    split_in(script, band, pieces)
                    return True
                case InWavefronts(skewed) if self._says(f"wavefront.{skewed.members[0].name}", _WAVEFRONT):
                    straighten(script, skewed.members)
                    script.do("wavefront", *names_of(skewed.members))
                    return True
                case OnHost(loop, inside):
                    straighten(script, loop.members)
                    return self.below(inside, around.below(loop), (*hosts, loop.members[0].name))
        return False

    def _has_tiles_apart(self, band: Band, around: Around) -> bool:
        """Would some of its statements have tiles of points, as the updates of a factorization, where all together have
        none?"""
        if not any(member.rounds for member in around.members):
            return False
        parts = distribute(band, around.reaching)
        return parts is not None and any(self._has_tiles(part, around.below(part)) for part in parts.children)

    def _has_tiles(self, part: Filter, around: Around) -> bool:
        band = self.bands.flagged(part.child, around)
        if not parallelism(band):
            return False
        nest = self.bands.nest_of(band, around)
        return bool(choose_grid(nest.band, self.script.scop, around, self.script.options).reads)

    def _says(self, key: str, why: str) -> bool:
        """Is it to be done? Asked once, whatever step comes next."""
        if key in self.asked:
            return False
        self.asked.add(key)
        return self.script.says(key, why)

    def _on_grid(self, nest: Nest, around: Around, hosts: Sequence[str]) -> None:
        script, options = self.script, self.script.options
        if any(member.rounds for member in nest.members):  # its tiles are all that it gets then
            options = replace(options, register_tiles=False)
        elif self._on_warps(nest, around, hosts):
            return
        sums = sums_in_teams(nest, script.scop, script.dependences, around, script.options.gpu)
        straighten(script, nest.members)
        if sums is not None and script.says(f"sum_threads.{sums.loop}", _SUM):
            add_up(script, sums, hosts)
        else:
            grid = choose_grid(nest.band, script.scop, around, options)
            on_grid(script, self.bands, nest, grid, hosts, self.parts)

    def _on_warps(self, nest: Nest, around: Around, hosts: Sequence[str]) -> bool:
        """Do tensor instructions run it now?"""
        script, found = self.script, warps_for(self.script, nest, around)
        if found is None:
            return False
        name = script.pick(f"tensor.{found.statement}", found.instruction.name, ("", found.instruction.name), _TENSOR)
        if not name:
            return False

        def written() -> bool:
            straighten(script, nest.members)
            on_warps(script, nest, found, hosts, self.parts)
            return True

        return bool(script.attempt(f"tensor instructions for {found.statement}", written))


_TENSOR = "products are exact, and sums are as the hardware rounds them"
_TILES = "products have tiles of points then, which share what they read"
_ONE_BLOCK = "no loop is parallel, and a barrier costs less than a launch"
_SUM = "it carries sums alone, which threads may share"
_WAVEFRONT = "no loop is parallel, and all but one are along it"
