"""Unrolling by hand: the body of a loop for several iterations in a row, or jammed into the loops inside
(Allen and Cocke, 1972).

    band: k       band: k_o              band: i          band: i_o
            ->      mark: unroll           band: k   ->     band: k
                      band: k                                 mark: unroll
                                                                band: i
    unroll("k", factor=4)                unroll_and_jam("i", factor=4)
"""

from __future__ import annotations

from dataclasses import replace

from polysched.errors import InputError
from polysched.model.tree.nodes import Band, Filter, Member, Tree, Unroll, children, marked_as, walk, with_children
from polysched.support import isl
from polysched.transform.edits.base.edit import Alternative, Draft, checked
from polysched.transform.edits.base.loops import Loop, changed_at, fresh, most_iterations, unmarked
from polysched.transform.edits.base.registry import edit
from polysched.transform.edits.order.tile import tile
from polysched.transform.edits.run.parallel import marked
from polysched.transform.trees.tile import block_of

MOST = 64  # iterations in a row


@edit("run", "k -> k_o, k")
def unroll(draft: Draft, name: str, factor: int | None = None) -> Draft:
    """The loop unrolled: all of it, if it is short, or blocks of `factor` iterations.

    InputError for a factor beyond 64, and without one for a loop that may run more often.

        for k in 0..n: S    ->    for k_o in 0..n / 4:
                                      S; S; S; S                     unroll("k", factor=4)
    """
    place = unmarked(draft.nested, name, may_be_full=factor is None)
    if factor is not None:
        _require_factor("unroll", factor)
        draft = tile(draft, place.name, sizes=(factor,))
    else:
        _require_short(place, draft.scop.context)
    return marked(draft, place.name, Unroll(), f"unroll({name}{'' if factor is None else f', factor={factor}'})")


@edit("order", "i, k -> i_o, k, i")
def unroll_and_jam(draft: Draft, name: str, factor: int) -> Draft:
    """The loop in blocks of `factor` iterations, which are unrolled in the innermost loops inside.

    IllegalSchedule if an iteration needs all of one before; InputError if there is no loop inside.

        for i:                   for i_o:
            for k: S        ->       for k:
                                         S; S; S; S                  of 4 iterations of i: unroll_and_jam("i", factor=4)
    """
    tree = draft.nested
    place = unmarked(tree, name)
    _require_factor("unroll_and_jam", factor)
    if not any(isinstance(node, Band) for node in walk(place.band.child)):
        raise InputError(f"loop '{place.name}' has no loop inside to jam into", hint="unroll it")
    blocks = replace(block_of(place.member, factor), name=fresh(tree, f"{place.name}_o"))
    jammed = Band((blocks,), child=_jammed(place.member, place.band.child))
    what = f"unroll_and_jam({name}, factor={factor})"
    return checked(draft, changed_at(tree, place.path, lambda _: jammed), what, _smaller(draft, place.name, factor))


def _require_factor(edit: str, factor: int) -> None:
    if not (isinstance(factor, int) and 2 <= factor <= MOST):
        raise InputError(f"{edit} needs a factor from 2 to {MOST}, not {factor!r}")


def _require_short(place: Loop, context: isl.Set) -> None:
    most = most_iterations(place, context)
    if most is None or most > MOST:
        runs = "as often as the sizes say" if most is None else f"{most} times"
        hint = f"unroll it by a factor, as in unroll('{place.name}', factor=4)"
        raise InputError(f"loop '{place.name}' runs {runs}, which is too often to unroll all of it", hint=hint)


def _jammed(member: Member, tree: Tree) -> Tree:
    """`tree` with the loop, unrolled, around all that no loop inside is around."""
    match tree:
        case Filter(filter=filter, child=child):
            member = replace(member, schedule=member.schedule.intersect_domain(filter.universe()))
            return replace(tree, child=_jammed(member, child))
        case _ if any(isinstance(node, Band) for node in walk(tree)):
            return with_children(tree, tuple(_jammed(member, child) for child in children(tree)))
    return marked_as(Band((member,), False, tree), Unroll())


def _smaller(draft: Draft, name: str, factor: int) -> list[Alternative]:
    def jam(factor: int) -> Alternative:
        return f"jam {factor} iterations", lambda: unroll_and_jam(draft, name, factor)

    return [jam(smaller) for smaller in (4, 2) if smaller < factor]
