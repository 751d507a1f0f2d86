"""From a schedule tree to a grid of threads: coincident loops on blocks and threads, the rest as loops.

    band: i, j  coincident              mark: map:block.y    band: floor(i/8)
          k                   ->        mark: map:block.x    band: floor(j/32)
                                        mark: map:thread.y   band: i
                                        mark: map:thread.x   band: j
                                        band: k
Loops outside of the first coincident band stay on the host. Where a permutable band has no coincident member, its
wavefronts are launched one after the other.
"""

from __future__ import annotations

from dataclasses import replace

from polysched.model.tree import Band, Map, Mark, Member, Tree, children, with_children
from polysched.transform.tile import tile
from polysched.transform.wavefront import wavefront

BLOCKS = {1: (256,), 2: (8, 32), 3: (4, 4, 32)}  # threads along each mapped dimension; the last one is x


def map_to_gpu(tree: Tree) -> Tree:
    """`tree` with the outermost coincident members of each nest on blocks and threads.

    Needs: coincident flags that hold (`mark_coincident`).
    """
    match tree:
        case Band(members=members, permutable=permutable) if any(m.coincident for m in members):
            serial, mapped, inside = _choose(members, permutable)
            mapped_band = _on_threads(mapped, Band(inside, permutable, tree.child) if inside else tree.child)
            return Band(serial, permutable, mapped_band) if serial else mapped_band
        case Band(members=members, permutable=True) if len(members) > 1:
            return map_to_gpu(wavefront(tree))
        case _:
            return with_children(tree, tuple(map_to_gpu(child) for child in children(tree)))


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
