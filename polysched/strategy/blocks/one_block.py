"""A small band without parallel loops, in one block: a loop around its threads, which wait for each other.

    K (on the host)                    K                             .tile("k", sizes=(64,), names=("k_b",))
      k, i: S0, S1, 64 of each           k_b (block.x), one value    .bind("k_b", "block.x")
                                           k                         .distribute("i")
                                             i (thread.x): S0        .cyclic("i", 64, names=("i_t",))
                                             i, j (thread.y, x): S1  .bind("i_t", "thread.x"), ...
"""

from __future__ import annotations

from collections.abc import Sequence

from polysched.config.heuristics.gpu import ONE_BLOCK_THREADS
from polysched.model.tree.nodes import Band, Tree, children, marks_in, own_marks
from polysched.strategy.bands import Bands, Distributed, InOneBlock, Nest, OnHost
from polysched.strategy.script import Script, names_of
from polysched.strategy.straight import straighten
from polysched.transform.analysis.roles import Around, far_accesses


def on_one_block(script: Script, bands: Bands, way: InOneBlock, hosts: Sequence[str]) -> None:
    """The band on the threads of a block, inside of `hosts`."""
    band, first = way.band, way.band.members[0]
    straighten(script, band.members)
    script.reorder([*hosts, *names_of(band.members)])
    block = script.block(first.name, way.size, "b")
    script.do("bind", block, "block.x")
    threads = _Threads(script, bands, block, way.size)
    while threads.below(script.tree, script.around, ()):
        pass


class _Threads:
    """Puts loops of a block, one nest after the other, on its threads."""

    def __init__(self, script: Script, bands: Bands, block: str, size: int):
        self.script, self.bands, self.block = script, bands, block
        y, x = ONE_BLOCK_THREADS
        self.threads = y, min(x, 1 << (size - 1).bit_length())

    def below(self, tree: Tree, around: Around, serial: Sequence[str], *, is_inside: bool = False) -> bool:
        """Takes the next step with what is in the tree; False if there is none. `serial` are the loops right around."""
        below = around.below(tree)
        if not isinstance(tree, Band):
            return any(self.below(child, below, (), is_inside=is_inside) for child in children(tree))
        if not is_inside and tree.members[0].name == self.block and own_marks(tree):
            return self.below(tree.child, below, (), is_inside=True)
        if not is_inside or marks_in(tree):
            return not own_marks(tree) and self.below(tree.child, below, (), is_inside=is_inside)
        return self._band(tree, around, serial)

    def _band(self, tree: Band, around: Around, serial: Sequence[str]) -> bool:
        band = self.bands.flagged(tree, around)
        if not band.members:
            return self.below(band.child, around, serial, is_inside=True)
        for way in self.bands.ways(band, around):
            match way:
                case Distributed():
                    self.script.do("distribute", band.members[0].name)
                    return True
                case Nest() as nest:
                    self._on_threads(nest, around, serial)
                    return True
                case OnHost(loop, inside):
                    straighten(self.script, loop.members)
                    outer = (*serial, loop.members[0].name)
                    return self.below(inside, around.below(loop), outer, is_inside=True)
        return False

    def _on_threads(self, nest: Nest, around: Around, serial: Sequence[str]) -> None:
        script, members = self.script, nest.members
        straighten(script, members)
        every, depth = (*around.members, *nest.band.members), len(around.members)
        along = [k for k, member in enumerate(nest.band.members) if member.coincident]
        far = {k: far_accesses(script.scop, every, depth + k)[0] for k in along}
        x = min(along, key=lambda k: (far[k], -k))
        sides = [*[k for k in along if k != x][-1:], x]
        names, rest = list[str](), [member.name for k, member in enumerate(members) if k not in sides]
        for k, count in zip(sides, self.threads[-len(sides) :], strict=True):
            (thread,) = script.named("t", members[k].name)
            script.do("cyclic", members[k].name, count, names=(thread,))
            names.append(thread)
        if nest.sequence is None:
            script.reorder([*serial, *names, *rest, *(members[k].name for k in sides)])
        else:
            script.reorder([*serial, *names, *(members[k].name for k in along)])
        for axis, name in zip("xyz", reversed(names), strict=False):
            script.do("bind", name, f"thread.{axis}")
