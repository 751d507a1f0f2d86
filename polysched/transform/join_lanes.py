"""Neighbours that run on lanes over the same iterations, as one loop: a row is read once for two sums of it.

    sequence                                           sequence
      filter: S                                          filter: T0    s = 0
        mark: vector                                     filter: S, T
          band: j     e[j] = exp(x[j] - m)                 mark: vector, of s
      filter: T0      s = 0                     ->           band: j
      filter: T                                                sequence
        mark: vector, of s                                       filter: S
          band: j     s = s + e[j]                               filter: T

What stands between them and has nothing to do with the first goes before both. Legal where every dependence between the
two stays within one iteration. Done where one of them reduces: other loops the scheduler has fused, or left.
"""

from __future__ import annotations

from dataclasses import replace

from polysched import isl
from polysched.deps.coincidence import left_below, together
from polysched.deps.dependences import Dependences
from polysched.model.scop import Scop
from polysched.model.tree import Band, Filter, Leaf, Member, Sequence, Tree, Vector, children, mark_of, with_children
from polysched.transform.fuse_sums import are_same


def join_lanes(tree: Tree, scop: Scop, dependences: Dependences) -> Tree:
    """`tree` with loops on lanes in the same sequence joined, if the order of reductions is free."""
    if not dependences.reorder_reductions:
        return tree
    return _joined(tree, scop, dependences.coincidence, ())


def _joined(tree: Tree, scop: Scop, reaching: isl.UnionMap, outer: tuple[Member, ...]) -> Tree:
    below = left_below(tree, reaching)
    inside = (*outer, *tree.members) if isinstance(tree, Band) else outer
    tree = with_children(tree, tuple(_joined(child, scop, below, inside) for child in children(tree)))
    if not isinstance(tree, Sequence) or not outer:
        return tree
    parts: list[Filter] = []
    for part in tree.children:
        k = _last_on_lanes(parts, part, reaching)
        both = None if k is None else _pair(parts[k], part, scop, reaching, outer)
        if k is None or both is None:
            parts.append(part)
        else:
            parts = [*parts[:k], *parts[k + 1 :], both]
    return parts[0].child if len(parts) == 1 else Sequence(tuple(parts))


def _last_on_lanes(parts: list[Filter], part: Filter, reaching: isl.UnionMap) -> int | None:
    """The place of the last loop on lanes that may run as late as `part`."""
    if _on_lanes(part) is None:
        return None
    for k in range(len(parts) - 1, -1, -1):
        if _on_lanes(parts[k]) is not None:
            is_free = all(_between(parts[k], later, reaching).is_empty() for later in parts[k + 1 :])
            return k if is_free else None
    return None


def _on_lanes(part: Filter) -> tuple[Vector, Band] | None:
    """The loop, if the part is one on lanes without others in it."""
    match part.child:
        case Band(members=(_,), child=Leaf() | Sequence()) as band if mark := mark_of(band, Vector):
            return mark, band
    return None


def _pair(
    one: Filter, other: Filter, scop: Scop, reaching: isl.UnionMap, outer: tuple[Member, ...]
) -> Filter | None:
    """Both in one loop; None if neither reduces, or they have other iterations, or one waits for all of the other."""
    first, second = _on_lanes(one), _on_lanes(other)
    assert first is not None and second is not None
    (mark, band), (last_mark, last_band) = first, second
    (member,), (last,) = band.members, last_band.members
    names = (*mark.reduces, *last_mark.reduces)
    schedule = _within(member, one).union(_within(last, other))
    common = replace(member, schedule=schedule, coincident=not names, marks=(Vector(names),))
    if not names or not _between(one, other, reaching).is_subset(together(common)):
        return None
    instances, others = (part.filter.intersect(scop.domain) for part in (one, other))
    if not are_same((*outer, member), instances, (*outer, last), others):
        return None
    inside = Sequence((*_leaves(one, band), *_leaves(other, last_band)))
    loop = Band((common,), band.permutable and last_band.permutable, inside)
    return Filter(one.filter.union(other.filter), loop)


def _within(member: Member, part: Filter) -> isl.UnionMap:
    return member.schedule.intersect_domain(part.filter.universe())


def _leaves(part: Filter, band: Band) -> tuple[Filter, ...]:
    """What the loop of a part runs, in order."""
    if isinstance(band.child, Sequence):
        return band.child.children
    return (replace(part, child=band.child),)


def _between(one: Filter, other: Filter, reaching: isl.UnionMap) -> isl.UnionMap:
    both = reaching.union(reaching.reverse())
    return both.intersect_domain(one.filter).intersect_range(other.filter)
