"""What goes on a grid together: a band, and what runs at each of its elements before and after its serial loops.

    band: i, j  coincident               band      i, j, k of T alone
      sequence                           members   i, j of S, T and U; k of T
        filter: S          ->            sequence  S, then T, then U
        filter: T
          band: k
        filter: U
"""

from __future__ import annotations

from dataclasses import dataclass

from polysched.deps.reaching import names_in
from polysched.model.tree.nodes import Band, Member, Sequence, Tree, walk


@dataclass(frozen=True)
class Nest:
    """`band` tells what is best for its loops; `members` are the same loops, the coincident ones around all that
    runs, which is `sequence` with the band's own part at `place`."""

    band: Band
    members: tuple[Member, ...]
    sequence: Sequence | None = None
    place: int = 0

    @property
    def names(self) -> set[str]:
        """The statements."""
        return names_in(self.members[0].schedule.domain())


def alone(band: Band) -> Nest:
    """The band without anything before and after it."""
    return Nest(band, band.members)


def loops_among(tree: Tree) -> int | None:
    """The place in a sequence of the one part that has loops, if that is a band; None if `tree` is something else."""
    if not isinstance(tree, Sequence):
        return None
    parts = [k for k, part in enumerate(tree.children) if any(isinstance(node, Band) for node in walk(part))]
    return parts[0] if len(parts) == 1 and isinstance(tree.children[parts[0]].child, Band) else None
