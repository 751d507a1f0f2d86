"""The default strategy for GPUs: parallel loops on blocks and threads, several points each, sums in chunks, as edits.

    gemm        .tile("i", sizes=(64,), names=("i_b",)).tile("i", sizes=(8,), names=("i_t",))     blocks and threads
                .tile("j", sizes=(128,), names=("j_b",)).cyclic("j", 16, 4, names=("j_t", "j_g"))
                .tile("k", sizes=(16,), names=("k_c",))                               what is copied at a time
                .reorder("i_b", "j_b", "i_t", "j_t", "k_c", "k", "i", "j_g", "j")
                .bind("i_b", "block.y").bind("j_b", "block.x").bind("i_t", "thread.y").bind("j_t", "thread.x")
                .unroll("i").unroll("j_g").unroll("j")

Each step reads the tree in normal form, and does what `codegen/gpu/mapping.py` would do to the first nest that is on no
grid yet; what the tree is then, the edits say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from polysched import isl
from polysched.codegen.gpu.grid import Axis, Grid, choose_grid
from polysched.codegen.gpu.mapping import Mapping, host_loops, parallelism, thread_of
from polysched.codegen.gpu.nest import Nest
from polysched.codegen.gpu.sums import Placed, Sums, sum_on_blocks, sums_in_teams
from polysched.model.tree import Band, Member, Tree, children, marks_in, own_marks
from polysched.strategy.decision import sizes_around
from polysched.strategy.pieces import split_in
from polysched.strategy.script import Script, word
from polysched.strategy.straight import straighten
from polysched.transform.distribute import distribute
from polysched.transform.fuse_sums import sums_to_fuse
from polysched.transform.hand.loops import loops
from polysched.transform.roles import Around
from polysched.transform.split import split
from polysched.transform.tile import block_of
from polysched.transform.wavefront import wavefront_of_points


def gpu(script: Script) -> None:
    """The edits of the default strategy, one nest after the other. InputError where no edits say what it does."""
    parts = fuse_sums(script) if script.options.fusion != "none" else []
    strategy = _Strategy(script, Mapping(script.scop, script.dependences, script.options), parts)
    while strategy.step():
        pass


def fuse_sums(script: Script) -> list[set[str]]:
    """Sums, what they start from and what is made of them, element by element in one nest; the statements that were in
    one nest before."""
    parts = []
    for nests in list(sums_to_fuse(script.tree, script.scop, script.dependences)):
        of_sum, *others = nests
        first, *_ = _in_order(script, [members[0].name for members in nests])
        if not script.says(f"fuse.{first}", "an element stays with the thread that adds it up"):
            continue
        own = _statements(of_sum[0].schedule.domain())
        every = [each.name for each in loops(script.draft.nested) if {*each.statements} == own]
        for names in (dict.fromkeys([*_names(of_sum), *every]), *map(_names, others)):
            _reorder(script, [*names])
        for together in zip(*nests, strict=True):
            script.do("fuse", *_in_order(script, _names(together)))
        parts += [_statements(each.schedule.domain()) for each, *_ in nests]
    return parts


@dataclass(frozen=True)
class _Strategy:
    """Looks for the first nest that is on no grid, and takes the next step with it."""

    script: Script
    mapping: Mapping
    parts: list[set[str]]  # the statements of nests that were fused
    kept: set[str] = field(default_factory=set)  # keys of what is not to be done

    def step(self) -> bool:
        """Takes the next step; False if there is none."""
        return self._below(self.script.tree, Around((), self.script.dependences.coincidence), ())

    def _below(self, tree: Tree, around: Around, hosts: Sequence[str]) -> bool:
        """`hosts` are the loops right around that stay on the host."""
        if isinstance(tree, Band):
            return not own_marks(tree) and self._band(tree, around, hosts)
        below = around.below(tree)
        return any(self._below(child, below, ()) for child in children(tree))

    def _band(self, tree: Band, around: Around, hosts: Sequence[str]) -> bool:
        if marks_in(tree):
            return self._below(tree.child, around.below(tree), ())
        band = self.mapping.flagged(tree, around)
        if not band.members:
            return self._below(band.child, around, hosts)
        return self._mapped(band, around, hosts)

    def _mapped(self, band: Band, around: Around, hosts: Sequence[str]) -> bool:
        """As `Mapping.mapped_band`, by edits."""
        script, own, is_box = self.script, parallelism(band), all(map(self.mapping.is_bounded, band.members))
        if self._gains_apart(band, around, own, is_box):
            script.do("distribute", band.members[0].name)
            return True
        if own == 1 and self.mapping.inside_of_first(band, around) is not None:
            return self._on_host(_serial_first(band), around, hosts)
        if own and is_box:
            return self._on_grid(self.mapping.nest_of(band, around), around, hosts)
        if (sums := sum_on_blocks(band, script.scop, script.dependences, around)) is not None:
            straighten(self.script, band.members, around.members)
            self._summed(sums, hosts)
            return True
        if not own and (parts := split(band, around.reaching, script.scop.domain)) is not None:
            split_in(script, band, parts)
            return True
        return self._on_host(_serial_first(band) if own else band, around, hosts)

    def _gains_apart(self, band: Band, around: Around, own: int, is_box: bool) -> bool:
        """Are more loops parallel when what the band runs is distributed?"""
        parts = distribute(band, around.reaching)
        if parts is None:
            return False
        gains = self.mapping.gains(parts, around)
        if is_box and not (min(gains) >= own and max(gains) > own):
            return False
        return self._says(f"distribute.{band.members[0].name}", "more loops are parallel then")

    def _says(self, key: str, why: str) -> bool:
        """Is it to be done? Asked once, whatever step comes next."""
        if key in self.kept:
            return False
        self.kept.add(key)
        return self.script.says(key, why)

    def _on_host(self, band: Band, around: Around, hosts: Sequence[str]) -> bool:
        """The first loop of the band, or its wavefronts, one iteration after the other."""
        first, *others = band.members
        host = Band((first,), band.permutable)
        below = around.below(host)
        if not others:
            straighten(self.script, (first,), around.members)
            return self._below(band.child, below, (*hosts, first.name))
        inner = replace(band, members=tuple(others))
        if band.permutable and self._gains_by_wavefronts(band, replace(host, child=inner), around):
            straighten(self.script, band.members, around.members)
            self.script.do("wavefront", *_names(band.members))
            return True
        straighten(self.script, (first,), around.members)
        return self._band(inner, below, (*hosts, first.name))

    def _gains_by_wavefronts(self, band: Band, host: Band, around: Around) -> bool:
        """Is a kernel launched for each iteration of one loop then, rather than of several?"""
        front = wavefront_of_points(band)
        before, after = (
            host_loops(replace(each, child=self.mapping.mapped(each.child, around.below(each))))
            for each in (host, front)
        )
        why = "no loop is parallel, and all but one are along it"
        return before > 1 and after == 1 and self._says(f"wavefront.{band.members[0].name}", why)

    # --- loops as they are on the grid

    def _on_grid(self, nest: Nest, around: Around, hosts: Sequence[str]) -> bool:
        """As `Mapping.on_grid`, by edits."""
        script, members = self.script, nest.members
        sums = sums_in_teams(nest, script.scop, script.dependences, around)
        straighten(self.script, members, around.members)
        if sums is not None:
            self._summed(sums, hosts)
            return True
        grid = self._decided(choose_grid(nest.band, script.scop, around, script.options), members)
        wide = [side for side in grid.sides if side.threads * side.points > 1]
        blocks: dict[str, str] = {}
        threads: dict[str, str] = {}
        points: list[str] = []
        for axis, side in zip("xyz", reversed(wide), strict=False):
            member = members[side.member]
            if not self.mapping.is_single(block_of(member, side.threads * side.points)):
                blocks[axis] = self._block(member.name, side.threads * side.points, "b")
            thread, own = self._thread(member.name, side)
            if side.threads > 1 and not self.mapping.is_single(thread_of(member, side)):
                threads[axis] = thread
            points = [*own, *points]
        free = ["w", *(axis for axis in "xyz" if axis not in blocks)]
        planes = [side.member for side in grid.sides if side not in wide]
        on_axes = planes[max(0, len(planes) - len(free)) :]
        blocks |= {free.pop(): members[k].name for k in reversed(on_axes)}
        taken = [*on_axes, *(side.member for side in wide)]
        left = [member.name for k, member in enumerate(members) if member.coincident and k not in taken]
        serial = self._serial(members, grid)
        on_axes_in_order = [of[axis] for of in (blocks, threads) for axis in "wzyx" if axis in of]
        around_all = [*hosts, *on_axes_in_order, *left]
        if nest.sequence is None:
            _reorder(script, [*around_all, *serial, *points])
        else:
            _reorder(script, [*around_all, *points])
            points = self._points_of_each(nest, points, serial)
        for level, on in (("block", blocks), ("thread", threads)):
            for axis, name in on.items():
                script.do("bind", name, f"{level}.{axis}")
        for name in points:
            script.do("unroll", name)
        return True

    def _decided(self, grid: Grid, members: Sequence[Member]) -> Grid:
        """The grid as the user wants it."""
        sides = tuple(self._side(side, members[side.member].name) for side in grid.sides)
        chunks = {k: self._chunk(members[k].name, size) for k, size in grid.chunks.items()}
        return Grid(sides, {k: size for k, size in chunks.items() if size})

    def _side(self, side: Axis, name: str) -> Axis:
        if side.threads * side.points == 1:
            return side
        pick, n, m = self.script.pick, side.threads, side.points
        threads = pick(f"threads.{name}", n, sizes_around(n, range(1, 9)), "threads of a block")
        points = pick(f"points.{name}", m, sizes_around(m, range(1, 4)), "of a thread, which share loads")
        threads, points = max(1, threads), max(1, points)
        vector = None if side.vector in (None, side.points) else min(side.vector or points, points)
        return replace(side, threads=threads, points=points, vector=vector)

    def _chunk(self, name: str, size: int) -> int:
        why = "iterations between copies to shared memory"
        return self.script.pick(f"chunk.{name}", size, sizes_around(size, range(2, 8)), why)

    def _thread(self, name: str, side: Axis) -> tuple[str, list[str]]:
        """The loop over threads, and those over the points of one."""
        if side.points == 1:
            return name, []
        if side.threads == 1:
            return name, [name]
        if side.vector in (None, side.points):
            return self._block(name, side.points, "t"), [name]
        thread, turn = f"{word(name)}_t", f"{word(name)}_g"
        names = (thread,) if side.vector == 1 else (thread, turn)
        self.script.do("cyclic", name, side.threads, vector=side.vector, names=names)
        return thread, [*names[1:], name]

    def _serial(self, members: Sequence[Member], grid: Grid) -> list[str]:
        """The loops that a thread runs, with chunks of them."""
        names = []
        for k, member in enumerate(members):
            if not member.coincident:
                names += [self._block(member.name, grid.chunks[k], "c")] if k in grid.chunks else []
                names.append(member.name)
        return names

    def _points_of_each(self, nest: Nest, points: Sequence[str], serial: Sequence[str]) -> list[str]:
        """The loops over points around each part of the sequence, inside of the serial ones of the sum."""
        assert nest.sequence is not None
        of_sum = _statements(nest.sequence.children[nest.place].filter)
        parts = self._parts([_statements(branch.filter) for branch in nest.sequence.children])
        for part in reversed(parts[1:] if points else []):
            self.script.do("distribute", points[0], before=part[0])
        found = []
        for part in parts:
            inside = [each.name for each in loops(self.script.draft.nested) if {*each.statements} <= {*part}]
            of_part = [name for name in inside if name not in serial]
            if of_sum <= {*part}:
                _reorder(self.script, [*serial, *of_part])
            found += of_part
        return found

    def _parts(self, branches: Sequence[set[str]]) -> list[list[str]]:
        """The statements in turn, those of neighbours that were in one nest before together."""
        parts: list[list[str]] = []
        for own in branches:
            if parts and any({*parts[-1], *own} <= together for together in self.parts):
                parts[-1] += sorted(own)
            else:
                parts.append(sorted(own))
        return parts

    def _summed(self, sums: Sums, hosts: Sequence[str]) -> None:
        """Loops on blocks and threads that add up together."""
        outer, inner = ([(self._placed(each), each) for each in each_side] for each_side in (sums.outer, sums.inner))
        parts = [[*outer, *inner]] if sums.nest.sequence is None else [outer, inner]
        for k, part in enumerate(parts):
            _reorder(self.script, [*(() if k else hosts), *(name for name, _ in part)])
        for name, placed in (*outer, *inner):
            if placed.axis:
                self.script.do("bind", name, placed.axis)

    def _placed(self, placed: Placed) -> str:
        return self._block(placed.member.name, placed.block, "b") if placed.block else placed.member.name

    def _block(self, name: str, size: int, letter: str) -> str:
        block = f"{word(name)}_{letter}"
        self.script.do("tile", name, sizes=(size,), names=(block,))
        return block


def _statements(instances: isl.UnionSet) -> set[str]:
    return {part.get_tuple_name() or "" for part in isl.sets_of(instances)}


def _serial_first(band: Band) -> Band:
    return replace(band, members=tuple(sorted(band.members, key=lambda member: member.coincident)))


def _names(members: Sequence[Member]) -> list[str]:
    return [member.name for member in members]


def _in_order(script: Script, names: Sequence[str]) -> list[str]:
    """As they stand in the tree."""
    return [each.name for each in loops(script.draft.nested) if each.name in names]


def _reorder(script: Script, names: Sequence[str]) -> None:
    """Nested loops in this order, if they are in another one."""
    if _in_order(script, names) != [*names]:
        script.do("reorder", *names)
