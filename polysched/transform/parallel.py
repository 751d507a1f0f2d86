"""Marks the outermost coincident loop of every nest, to run on parallel threads.

    band: k                                   mark: parallel
          i   coincident          ->          band: i   coincident
                                                    k

One parallel loop on a path: threads started inside threads only cost. Nor do they pay for a single loop that others
repeat: it would have to be very long.
"""

from __future__ import annotations

from polysched.model.tree import Band, Mark, Parallel, Tree, Vector, children, is_innermost, with_children


def mark_parallel(tree: Tree, *, is_repeated: bool = False) -> Tree:
    """`tree` with the first coincident member of each outermost band that has one marked; `is_repeated` by loops above.

    In a permutable band that member moves to the front; in another one the members before it become an outer band.
    """
    if isinstance(tree, Mark) and isinstance(tree.mark, Vector) and isinstance(tree.child, Band):
        # The only loop: threads bring more than lanes, which the compiler may add.
        return tree if is_repeated else mark_parallel(tree.child)
    repeats = is_repeated or isinstance(tree, Band)
    is_short = isinstance(tree, Band) and is_repeated and len(tree.members) == 1 and is_innermost(tree)
    if not (isinstance(tree, Band) and any(m.coincident for m in tree.members)) or is_short:
        return with_children(tree, tuple(mark_parallel(child, is_repeated=repeats) for child in children(tree)))
    k = next(k for k, member in enumerate(tree.members) if member.coincident)
    before, chosen, after = tree.members[:k], tree.members[k], tree.members[k + 1 :]
    if tree.permutable:
        before, after = (), (*before, *after)
    inner = Mark(Parallel(), Band((chosen, *after), tree.permutable, tree.child))
    return Band(before, tree.permutable, inner) if before else inner
