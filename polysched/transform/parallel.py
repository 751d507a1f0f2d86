"""Marks the outermost coincident loop of every nest, to run on parallel threads.

    band: k                                   mark: parallel
          i   coincident          ->          band: i   coincident
                                                    k

One parallel loop on a path: threads started inside threads only cost.
"""

from __future__ import annotations

from polysched.model.tree import Band, Mark, Parallel, Tree, Vector, children, with_children


def mark_parallel(tree: Tree) -> Tree:
    """`tree` with the first coincident member of each outermost band that has one marked.

    In a permutable band that member moves to the front; in another one the members before it become an outer band.
    """
    if isinstance(tree, Mark) and isinstance(tree.mark, Vector) and isinstance(tree.child, Band):
        return mark_parallel(tree.child)  # the only loop: threads bring more than lanes, which the compiler may add
    if not (isinstance(tree, Band) and any(m.coincident for m in tree.members)):
        return with_children(tree, tuple(mark_parallel(child) for child in children(tree)))
    k = next(k for k, member in enumerate(tree.members) if member.coincident)
    before, chosen, after = tree.members[:k], tree.members[k], tree.members[k + 1 :]
    if tree.permutable:
        before, after = (), (*before, *after)
    inner = Mark(Parallel(), Band((chosen, *after), tree.permutable, tree.child))
    return Band(before, tree.permutable, inner) if before else inner
