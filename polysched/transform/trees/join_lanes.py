"""Neighbours that run on lanes over the same iterations, to be one loop: a row is read once for two sums of it.

    sequence                                           sequence
      filter: S                                          filter: T0    s = 0
        mark: vector                                     filter: S, T
          band: j     e[j] = exp(x[j] - m)                 mark: vector, of s
      filter: T0      s = 0                     ->           band: j
      filter: T                                                sequence
        mark: vector, of s                                       filter: S
          band: j_2   s = s + e[j]                               filter: T         fuse("j", "j_2")

What stands between them and has nothing to do with the first goes before both. Legal where every dependence between the
two stays within one iteration. Done where one of them reduces: other loops the scheduler has fused, or left.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from polysched.deps.coincidence import together
from polysched.deps.dependences import Dependences
from polysched.model.scop import Scop
from polysched.model.tree.nodes import Band, Filter, Leaf, Member, Tree, Vector, mark_of
from polysched.model.tree.nodes import Sequence as InOrder
from polysched.support import isl
from polysched.transform.analysis.roles import Around
from polysched.transform.trees.fuse_sums import are_same, as_one, either_way


def lanes_to_join(
    tree: Tree, scop: Scop, dependences: Dependences, names: Collection[str] = ()
) -> Iterator[tuple[str, str]]:
    """The names of two loops each, inner ones first: of loops on lanes, or of those `names` that will be."""
    joining = _Joining(scop, names)
    for node, around in Around((), dependences.coincidence).walk(tree, inner_first=True):
        if isinstance(node, InOrder) and around.members:
            yield from joining.pairs(node, around)


@dataclass(frozen=True)
class _Joining:
    scop: Scop
    names: Collection[str]

    def pairs(self, tree: InOrder, around: Around) -> Iterator[tuple[str, str]]:
        for k, part in enumerate(tree.children):
            one = self.last_on_lanes(tree.children[:k], part, around.reaching)
            if one is not None and (pair := self.pair(one, part, around)):
                yield pair

    def last_on_lanes(self, parts: Sequence[Filter], part: Filter, reaching: isl.UnionMap) -> Filter | None:
        """The last loop on lanes that may run as late as `part`."""
        if self.on_lanes(part) is None:
            return None
        for k in range(len(parts) - 1, -1, -1):
            if self.on_lanes(parts[k]) is not None:
                is_free = all(
                    either_way(parts[k].filter, later.filter, reaching).is_empty() for later in parts[k + 1 :]
                )
                return parts[k] if is_free else None
        return None

    def on_lanes(self, part: Filter) -> tuple[bool, Member] | None:
        """Whether the loop adds up, and itself, if the part is one on lanes without others in it."""
        match part.child:
            case Band(members=(member,), child=Leaf() | InOrder()) as band:
                if mark := mark_of(band, Vector):
                    return bool(mark.reduces), member
                return (not member.coincident, member) if member.name in self.names else None
        return None

    def pair(self, one: Filter, other: Filter, around: Around) -> tuple[str, str] | None:
        """Their names; None if neither adds up, or they have other iterations, or one waits for all of the other."""
        first, second = self.on_lanes(one), self.on_lanes(other)
        assert first is not None and second is not None
        (adds, member), (last_adds, last) = first, second
        common = as_one(member, one.filter, last, other.filter)
        if not (adds or last_adds):
            return None
        if not either_way(one.filter, other.filter, around.reaching).is_subset(together(common)):
            return None
        instances, others = (part.filter.intersect(self.scop.domain) for part in (one, other))
        are_alike = are_same((*around.members, member), instances, (*around.members, last), others)
        return (member.name, last.name) if are_alike else None
