"""From a schedule tree to a grid of threads: coincident loops on blocks and threads, the rest as loops.

    band: i, j  coincident              mark: map:block.y    band: floor(i/8)
          k                   ->        mark: map:block.x    band: floor(j/32)
                                        mark: map:thread.y   band: i
                                        mark: map:thread.x   band: j
                                        band: k
Loops outside of the first coincident band stay on the host. Where no loop of a permutable band is parallel, not even
inside of its first loops, its wavefronts are launched one after the other.
"""

from __future__ import annotations

from dataclasses import replace

from polysched import isl
from polysched.deps.coincidence import left_below, mark_under
from polysched.deps.dependences import Dependences
from polysched.model.tree import Band, Filter, Leaf, Map, Mark, Member, Tree, children, walk, with_children
from polysched.transform.distribute import distribute
from polysched.transform.tile import tile
from polysched.transform.wavefront import wavefront

BLOCKS = {1: (256,), 2: (8, 32), 3: (4, 4, 32)}  # threads along each mapped dimension; the last one is x


def map_to_gpu(tree: Tree, dependences: Dependences) -> Tree:
    """`tree` with the outermost coincident members of each nest on blocks and threads."""
    return _mapped(tree, dependences.coincidence)


def _mapped(tree: Tree, reaching: isl.UnionMap) -> Tree:
    """`reaching` are the dependences that nothing above the node orders."""
    if isinstance(tree, Band):
        band = mark_under(replace(tree, child=Leaf()), reaching)
        assert isinstance(band, Band)
        return _mapped_band(replace(band, child=tree.child), reaching)
    below = left_below(tree, reaching)
    return with_children(tree, tuple(_mapped(child, below) for child in children(tree)))


def _mapped_band(band: Band, reaching: isl.UnionMap) -> Tree:
    """Coincident members on threads; else, of the loop distributed, and its first member on the host, what helps."""
    if any(member.coincident for member in band.members):
        serial, mapped, inside = _choose(band.members, band.permutable)
        kernel = _on_threads(mapped, Band(inside, band.permutable, band.child) if inside else band.child)
        return Band(serial, band.permutable, kernel) if serial else kernel
    parts = distribute(band, reaching)
    if parts is not None and all(_is_parallel(part, reaching) for part in parts.children):
        return _mapped(parts, reaching)
    first, rest = Band(band.members[:1], band.permutable), band.members[1:]
    inner = _mapped(replace(band, members=rest) if rest else band.child, left_below(first, reaching))
    if rest and band.permutable and not _is_on_threads(inner):
        front = wavefront(band)
        skewed = replace(front, child=_mapped(front.child, left_below(front, reaching)))
        return skewed if _is_on_threads(skewed) else replace(first, child=inner)
    return replace(first, child=inner)


def _is_parallel(part: Filter, reaching: isl.UnionMap) -> bool:
    """Has the band below a coincident member?"""
    (band,) = children(mark_under(part, reaching))
    return isinstance(band, Band) and any(member.coincident for member in band.members)


def _is_on_threads(tree: Tree) -> bool:
    """Is anything in the tree mapped?"""
    return any(isinstance(node, Mark) and isinstance(node.mark, Map) for node in walk(tree))


def _choose(
    members: tuple[Member, ...], permutable: bool
) -> tuple[tuple[Member, ...], tuple[Member, ...], tuple[Member, ...]]:
    """Members on the host, on blocks and threads (at most three), and in the thread."""
    if permutable:
        coincident = tuple(m for m in members if m.coincident)
        return (), coincident[:3], (*coincident[3:], *(m for m in members if not m.coincident))
    first = next(k for k, m in enumerate(members) if m.coincident)
    return members[:first], members[first : first + 1], members[first + 1 :]


def _on_threads(mapped: tuple[Member, ...], child: Tree) -> Tree:
    """Block and thread loops over `mapped`, the last of which gets axis x."""
    tiled = tile(Band(mapped, permutable=True), BLOCKS[len(mapped)])
    assert isinstance(tiled.child, Band)
    threads = _under_marks(tiled.child, "thread", child)
    return _under_marks(tiled, "block", threads)


def _under_marks(band: Band, level: str, child: Tree) -> Tree:
    axes = "zyx"[-len(band.members) :]
    for member, axis in zip(reversed(band.members), reversed(axes), strict=True):
        child = Mark(Map(f"{level}.{axis}"), replace(band, members=(member,), child=child))
    return child
