"""The normal form of a tree: loops that may be interchanged in one band, flags that say what is parallel.

    band: i                                    band: permutable
      band: i + j                      ->        i
    distances (1, 0), (1, 1), (1, 2)             i + j
"""

from __future__ import annotations

from dataclasses import replace

from polysched import isl
from polysched.deps.coincidence import left_below, mark_coincident
from polysched.deps.dependences import Dependences
from polysched.model.tree import Band, Mark, Product, Storage, Tree, children, nest_of, with_children
from polysched.transform.hand.loops import nested


def normal_form(tree: Tree, dependences: Dependences) -> Tree:
    """`tree` with the loops that can be in permutable bands, from the outermost on, and exact coincident flags.

    Loops over tiles are not in one band with the loops inside of tiles, nor is a marked loop with any other; but those
    of a product are one band, in its order.
    """
    return mark_coincident(_joined(nested(tree), dependences.validity, is_marked=False), dependences)


def _joined(tree: Tree, reaching: isl.UnionMap, *, is_marked: bool) -> Tree:
    """`reaching` are the dependences that nothing above the node orders."""
    if isinstance(tree, Mark) and isinstance(tree.mark, Product):
        of_product, child = nest_of(tree.child)
        return replace(tree, child=Band(of_product, child=child))
    if isinstance(tree, Band):
        members, inner = list(tree.members), tree.child
        while not is_marked and isinstance(inner, Band) and inner.members[0].rounds == members[0].rounds:
            joined = Band((*members, *inner.members))
            if not _is_permutable(joined, reaching):
                break
            members, inner = list(joined.members), inner.child
        tree = Band(tuple(members), _is_permutable(Band(tuple(members)), reaching), inner)
    below = left_below(tree, reaching)
    marked = isinstance(tree, Mark) and not isinstance(tree.mark, Storage)
    return with_children(tree, tuple(_joined(child, below, is_marked=marked) for child in children(tree)))


def _is_permutable(band: Band, reaching: isl.UnionMap) -> bool:
    """Has every dependence a distance of zero or more along every member?"""
    for member in band.members:
        for pairs in isl.maps_of(reaching):
            later = _backwards(member.schedule, pairs)
            if not later.is_empty():
                return False
    return True


def _backwards(schedule: isl.UnionMap, pairs: isl.Map) -> isl.UnionMap:
    """The pairs whose source has a larger value than the sink."""
    union = isl.UnionMap.from_map(pairs)
    distances = union.apply_domain(schedule).apply_range(schedule)
    return distances.intersect(_LATER)


_LATER = isl.UnionMap("{ [x] -> [y] : x > y }")

