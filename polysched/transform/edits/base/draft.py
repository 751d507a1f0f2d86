"""What edits by hand start from, and what they give; and the normal form of its tree: loops that may be interchanged in
one band, flags that say what is parallel.

    band: i                                    band: permutable
      band: i + j                      ->        i
    distances (1, 0), (1, 1), (1, 2)             i + j
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from polysched.deps.coincidence import left_below, mark_coincident, values_of
from polysched.deps.dependences import Claim, Dependences
from polysched.model.scop import Scop
from polysched.model.tree.nodes import Band, Product, Tree, children, mark_of, nest_of, own_marks, with_children
from polysched.support import isl
from polysched.support.brief import brief
from polysched.support.remembered import remembered
from polysched.transform.edits.base.loops import nested


@dataclass(frozen=True, kw_only=True)
class Draft:
    """A nest, what must stay in order, and a tree, which is legal unless it still `waits` to be checked."""

    scop: Scop
    dependences: Dependences
    nested: Tree  # as edits made it: a band for each loop, and a name; what edits start from
    claims: tuple[Claim, ...] = ()  # by which dependences were left out
    waits: bool = False
    unshown: Unshown | None = None  # which then has to be shown, too

    def __repr__(self) -> str:
        return brief(self, str(self.nested))

    @cached_property
    def tree(self) -> Tree:
        """The tree in normal form: maximal permutable bands, coincident flags. Made when it is first read."""
        return normal_form(self.nested, self.dependences)


@dataclass(frozen=True)
class Unshown:
    """That a nest computes the same as one before, of which { instance now -> instance before }, but for copies."""

    before: Draft
    origin: isl.UnionMap


def normal_form(tree: Tree, dependences: Dependences) -> Tree:
    """`tree` with the loops that can be in permutable bands, from the outermost on, and exact coincident flags.

    Loops over tiles are not in one band with the loops inside of tiles, nor is a marked loop with any other; but those
    of a product are one band, in its order.
    """
    return mark_coincident(_joined(nested(tree), dependences.validity), dependences)


@remembered
def _joined(tree: Tree, reaching: isl.UnionMap) -> Tree:
    """`reaching` are the dependences that nothing above the node orders."""
    if mark_of(tree, Product):
        of_product, child = nest_of(tree)
        return Band(of_product, child=child)
    if isinstance(tree, Band):
        members, inner = list(tree.members), tree.child
        while isinstance(inner, Band) and _are_alike(tree, inner):
            joined = Band((*members, *inner.members))
            if not _is_permutable(joined, reaching):
                break
            members, inner = list(joined.members), inner.child
        tree = Band(tuple(members), _is_permutable(Band(tuple(members)), reaching), inner)
    below = left_below(tree, reaching)
    return with_children(tree, tuple(_joined(child, below) for child in children(tree)))


def _are_alike(outer: Band, inner: Band) -> bool:
    """Are both loops over tiles, or both inside, and none is marked?"""
    is_marked = own_marks(outer) or own_marks(inner)
    return not is_marked and inner.members[0].rounds == outer.members[0].rounds


def _is_permutable(band: Band, reaching: isl.UnionMap) -> bool:
    """Has every dependence a distance of zero or more along every member?"""
    return all(_is_forward(member.schedule, reaching) for member in band.members)


@remembered
def _is_forward(schedule: isl.UnionMap, reaching: isl.UnionMap) -> bool:
    """Has no source a larger value than its sink?"""
    values, pairs = values_of(schedule), map(isl.UnionMap.from_map, isl.maps_of(reaching))
    return all(each.lex_gt_at_multi_union_pw_aff(values).is_empty() for each in pairs)
