"""Wavefronts by hand: the sum of nested loops goes through them, what is left inside is parallel (Lamport, 1974).

Diamond tiles by hand: two loops of a stencil in blocks that may all start at once along a wavefront (Bandishti,
Pananilath and Bondhugula, SC 2012).

Here i is skewed by t until no dependence leads back along it; c and constants for each statement, found as in
`transform/trees/tile.py`, are such that none leads back along c * t - i. `wavefront` then has as many blocks
from the start.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from polysched.errors import InputError
from polysched.model.tree.nodes import Band, Member
from polysched.support import isl
from polysched.transform.analysis.roles import Around
from polysched.transform.edits.base.edit import Alternative, Draft, checked, reaching
from polysched.transform.edits.base.loops import adjacent, all_given, chain, changed_at, fresh, given, nest, with_member
from polysched.transform.edits.base.registry import edit
from polysched.transform.edits.order.nesting import require_nested
from polysched.transform.edits.order.skew import skewings
from polysched.transform.trees.tile import STEEPEST_DIAMOND, block_of, front_of
from polysched.transform.trees.tile import diamond as mirrored


@edit("order", "i, j -> i+j, j")
def wavefront(draft: Draft, *loops: str, name: str = "") -> Draft:
    """The sum of nested loops in the place of the outermost of them; the others inside are parallel.

    It is called `name`, or as the outermost loop: its iterations are those of a wavefront, and which of them it is
    follows from the other loops. IllegalSchedule if the loops are not permutable.

        for i in 0..n:                for w in 0..2 * n - 1:
            for j in 0..n: S     ->       parallel for j: S          S of (w - j, j): wavefront("i", "j", name="w")
    """
    if len(loops) < 2:
        raise InputError("a wavefront goes through two loops or more", hint="name one around it or inside, too")
    require_nested(draft, loops, lambda nested, there: wavefront(nested, *there, name=name))
    names = [place.name for place in chain(draft.nested, loops)]
    alternatives = skewings(draft, names, lambda skewed: _wavefront(skewed, names, name))
    return _wavefront(draft, names, name, alternatives)


def _wavefront(draft: Draft, loops: Sequence[str], name: str, alternatives: Iterable[Alternative] = ()) -> Draft:
    tree = draft.nested
    outer, *inner = chain(tree, loops)
    called = outer.name if name in ("", outer.name) else given(tree, name)
    front = front_of([each.member for each in (outer, *inner)])
    tree = with_member(tree, outer.path, replace(front, name=called))
    for each in inner:
        tree = with_member(tree, each.path, replace(each.member, coincident=True))
    return checked(draft, tree, f"wavefront({', '.join(loops)})", alternatives)


@edit("order", "t, i -> t_o, i_o, t, i")
def diamond(draft: Draft, outer: str, inner: str, size: int, names: Sequence[str] = ()) -> Draft:
    """Two nested loops of a stencil in diamonds, which may all start at once along a wavefront.

    The inner loop follows the outer, and both keep their names; those over diamonds of this `size` are called `names`,
    or t_o and i_o. IllegalSchedule unless dependences lead forward along i, as after a skew, and along some c * t - i.

        for t:                   for t_o:                            floor((c * t - i) / 16)
            for i: S        ->       for i_o:                        floor(i / 16)
                                         for t: for i: S             diamond("t", "i", size=16)
    """
    if size < 1:
        raise InputError(f"diamonds need a positive size, not {size}")
    if len(names) not in (0, 2):
        raise InputError(f"diamonds have two loops, and they cannot be called {tuple(names)}")
    require_nested(draft, (outer, inner), lambda nested, there: diamond(nested, there[0], there[1], size, names))
    both = [place.name for place in adjacent(draft.nested, (outer, inner))]
    return _diamond(draft, both, size, names, skewings(draft, both, lambda skewed: _diamond(skewed, both, size, names)))


def _diamond(
    draft: Draft, loops: Sequence[str], size: int, names: Sequence[str], alternatives: Iterable[Alternative] = ()
) -> Draft:
    tree = draft.nested
    first, second = adjacent(tree, loops)
    around = Around((), reaching(tree, first.path, draft.dependences.validity))
    askew = mirrored(Band((first.member, second.member), permutable=True), around)
    to_tile = askew.members if askew else (_steepest(first.member, second.member), second.member)
    called = all_given(tree, names) or [fresh(tree, f"{name}_o") for name in loops]
    blocks = [replace(block_of(m, size), name=name) for m, name in zip(to_tile, called, strict=True)]
    tiles = changed_at(tree, first.path, lambda points: nest(blocks, points))
    return checked(draft, tiles, f"diamond({', '.join(loops)}, size={size})", alternatives)


def _steepest(first: Member, second: Member) -> Member:
    """The mirrored member that is none, to show what goes wrong with the steepest that is tried."""
    steep = first.function.scale_val(isl.Val(STEEPEST_DIAMOND)).sub(second.function)
    return Member(isl.UnionMap.from_union_pw_aff(steep))
