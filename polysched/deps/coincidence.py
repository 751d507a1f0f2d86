"""Which loops of a tree are parallel: found by following the dependences down the tree.

    band: [i]     S[i, j] -> S[i, j+1]      ->      band: [i] coincident
    band: [j]                                       band: [j]

A dependence reaches a node if nothing above orders its pairs: bands leave those at distance zero on every member,
sequences those within one child. Works on any tree, legal or not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import reduce

from polysched.deps.dependences import Dependences
from polysched.model.tree.nodes import Band, Filter, Member, Tree, children, with_children
from polysched.support import isl
from polysched.support.remembered import remembered


def mark_coincident(tree: Tree, dependences: Dependences) -> Tree:
    """The tree with `coincident` set on exactly the members that carry no dependence, updates of reductions too."""
    return mark_under(tree, dependences.coincidence)


@remembered
def mark_under(tree: Tree, reaching: isl.UnionMap) -> Tree:
    """As `mark_coincident`, for a tree whose root is reached by the dependences `reaching`."""
    below = left_below(tree, reaching)
    marked = with_children(tree, tuple(mark_under(child, below) for child in children(tree)))
    if isinstance(marked, Band):
        members = tuple(replace(m, coincident=carried(m, reaching).is_empty()) for m in marked.members)
        return replace(marked, members=members)
    return marked


def left_below(node: Tree, reaching: isl.UnionMap) -> isl.UnionMap:
    """The part of `reaching` that the node itself leaves unordered."""
    match node:
        case Band(members=members):
            for member in members:
                reaching = in_one(member, reaching)
            return reaching
        case Filter(filter=filter):
            return _passing(filter, reaching)
        case _:
            return reaching


@remembered
def _passing(filter: isl.UnionSet, reaching: isl.UnionMap) -> isl.UnionMap:
    return reaching.intersect_domain(filter).intersect_range(filter)


def carried(member: Member, reaching: isl.UnionMap) -> isl.UnionMap:
    """The part of `reaching` that lies between different iterations of the member."""
    return _carried(member.schedule, reaching)


@remembered
def _carried(schedule: isl.UnionMap, reaching: isl.UnionMap) -> isl.UnionMap:
    return reaching.subtract(_in_one(schedule, reaching))


def in_one(member: Member, reaching: isl.UnionMap) -> isl.UnionMap:
    """The part of `reaching` within one iteration of the member: `reaching & together(member)`."""
    return _in_one(member.schedule, reaching)


@remembered
def _in_one(schedule: isl.UnionMap, reaching: isl.UnionMap) -> isl.UnionMap:
    return keeping(Member(schedule))(reaching)


def keeping(member: Member) -> Callable[[isl.UnionMap], isl.UnionMap]:
    """`in_one` of the member: without a map for each two statements of a band, of which most depend on few others."""
    values = values_of(member.schedule)
    return lambda reaching: reaching.eq_at_multi_union_pw_aff(values)


@remembered
def values_of(schedule: isl.UnionMap) -> isl.MultiUnionPwAff:
    """The function that the schedule is, of all instances where a statement has one piece of it: isl need not find out
    for each pair that both are among those which reach the loop."""
    function = Member(schedule).function
    parts = function.get_pw_aff_list()
    pieces = [parts.get_at(k).get_pieces() for k in range(parts.n_pw_aff())]
    if pieces and all(len(each) == 1 for each in pieces):
        of_all = (isl.UnionPwAff.from_pw_aff(isl.PwAff.from_aff(aff)) for ((_, aff),) in pieces)
        function = reduce(isl.UnionPwAff.union_add, of_all)
    return isl.MultiUnionPwAff.from_union_pw_aff(function)


def together(member: Member) -> isl.UnionMap:
    """{ instance -> instance } in the same iteration of the member."""
    return member.schedule.apply_range(member.schedule.reverse())
