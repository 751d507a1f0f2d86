"""Chooses the innermost loop of every nest for its strides, and marks it for SIMD when its iterations are independent.

    band: i, j, k                       band: i, k
                            ->            mark: vector
    C[i, j] += A[i, k] * B[k, j]            band: j
"""

from __future__ import annotations

from dataclasses import replace

from polysched.deps.coincidence import mark_coincident
from polysched.deps.dependences import Dependences
from polysched.model.scop import Scop
from polysched.model.tree import Band, Mark, Member, Tree, Vector, children, walk, with_children
from polysched.transform.strides import far_accesses


def vectorize(tree: Tree, scop: Scop, dependences: Dependences) -> Tree:
    """`tree` with the member of least stride innermost in each innermost permutable band, and marked if coincident."""
    return _mark_innermost(mark_coincident(_stride_one_innermost(tree, scop, ()), dependences))


def _stride_one_innermost(tree: Tree, scop: Scop, outer: tuple[Member, ...]) -> Tree:
    """Splits the best innermost member off each innermost band, so that its flag speaks of it alone."""
    inside = (*outer, *tree.members) if isinstance(tree, Band) else outer
    if not (isinstance(tree, Band) and _is_innermost(tree)):
        return with_children(tree, tuple(_stride_one_innermost(child, scop, inside) for child in children(tree)))
    if not tree.permutable or len(tree.members) == 1:
        return tree
    far = [far_accesses(scop, inside, len(outer) + k) for k in range(len(tree.members))]
    best = min(range(len(far)), key=lambda k: (far[k], -k))
    others = tree.members[:best] + tree.members[best + 1 :]
    inner = Band((tree.members[best],), tree.permutable, tree.child)
    return replace(tree, members=others, child=inner)


def _mark_innermost(tree: Tree) -> Tree:
    below = tuple(_mark_innermost(child) for child in children(tree))
    tree = with_children(tree, below)
    if isinstance(tree, Band) and _is_innermost(tree) and len(tree.members) == 1 and tree.members[0].coincident:
        return Mark(Vector(), tree)
    return tree


def _is_innermost(band: Band) -> bool:
    return not any(isinstance(node, Band) for node in walk(band.child))
