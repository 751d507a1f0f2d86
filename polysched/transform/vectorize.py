"""Splits the innermost loop off every nest, and marks it for SIMD when its iterations are independent.

    band: i, k, j                       band: i, k
                            ->            mark: vector
    C[i, j] += A[i, k] * B[k, j]            band: j

A loop over several statements that depend on each other is distributed if that makes its parts independent.
"""

from __future__ import annotations

from dataclasses import replace

from polysched import isl
from polysched.deps.coincidence import carried, left_below
from polysched.deps.dependences import Dependences
from polysched.model.tree import Band, Tree, Unroll, Vector, children, is_innermost, marks_in, own_marks, with_children
from polysched.transform.distribute import distribute


def vectorize(tree: Tree, dependences: Dependences) -> Tree:
    """`tree` with every innermost loop in a band of its own, and marked if it carries no dependence."""
    return _marked(_split(tree), dependences.coincidence)


def can_vectorize(band: Band, reaching: isl.UnionMap) -> bool:
    """Would the last member of `band` get a mark? `reaching` are the dependences that nothing above orders."""
    return is_innermost(band) and bool(marks_in(_marked(_split(band), reaching)))


def _split(tree: Tree) -> Tree:
    """The last member of each innermost band in a band of its own, so that its flag speaks of it alone."""
    if isinstance(tree, Band) and len(tree.members) > 1 and is_innermost(tree):
        inner = Band(tree.members[-1:], tree.permutable, tree.child)
        return replace(tree, members=tree.members[:-1], child=inner)
    return with_children(tree, tuple(_split(child) for child in children(tree)))


def _marked(tree: Tree, reaching: isl.UnionMap) -> Tree:
    """Marks the coincident innermost loops; `reaching` are the dependences that nothing above orders."""
    if any(isinstance(mark, Vector | Unroll) for mark in own_marks(tree)):
        return tree
    if isinstance(tree, Band) and len(tree.members) == 1 and is_innermost(tree):
        return _vector(tree, reaching) or _distributed(tree, reaching) or tree
    below = left_below(tree, reaching)
    return with_children(tree, tuple(_marked(child, below) for child in children(tree)))


def _vector(band: Band, reaching: isl.UnionMap) -> Tree | None:
    """The loop marked, if its iterations are independent."""
    (member,) = band.members
    if not carried(member, reaching).is_empty():
        return None
    return replace(band, members=(replace(member, coincident=True, marks=(*member.marks, Vector())),))


def _distributed(band: Band, reaching: isl.UnionMap) -> Tree | None:
    """The loop as several, if that is legal and one of them at least can be marked."""
    parts = distribute(band, reaching)
    if parts is None:
        return None
    marked = with_children(parts, tuple(_marked(part, reaching) for part in parts.children))
    return marked if marks_in(marked) else None
