"""Distribution by hand: a loop over several statements becomes loops in turn (Allen and Kennedy, 1987).

Of statements that share tiles, where nothing ties them together (`transform/trees/distribute.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from itertools import takewhile

from polysched.config.plain import called
from polysched.deps.coincidence import left_below
from polysched.errors import InputError
from polysched.model.tree.nodes import Band, Filter, InOrder, nest_of, own_marks
from polysched.support import isl
from polysched.transform.edits.base.edit import Alternative, Draft, checked, reaching
from polysched.transform.edits.base.loops import Loop, changed_at, statements_in, unmarked
from polysched.transform.edits.base.parts import with_names_of_their_own, with_parts
from polysched.transform.edits.base.registry import edit
from polysched.transform.trees.distribute import apart, loop_over
from polysched.transform.trees.distribute import distribute as into_parts


@edit("order", "i -> i; i_2")
def distribute(draft: Draft, name: str, before: str = "") -> Draft:
    """The loop cut in two before a statement; without one in as many parts as its dependences allow.

    Loops between it and the sequence, with nothing else in between, are distributed with it. Those of the first part
    keep their names, as do all others of the tree. IllegalSchedule if an iteration needs what a later part does before;
    InputError if there is no sequence.

        for i:                   for i: S
            S               ->   for i_2: T                          distribute("i", before="T")
            T
    """
    tree = draft.nested
    place = unmarked(tree, name)
    band = _down_to_sequence(place)
    assert isinstance(band.child, InOrder)
    branches = band.child.children
    if before:
        k = _position(branches, before, place)
        parts: InOrder | None = InOrder((loop_over(band, branches[:k]), loop_over(band, branches[k:])))
    else:
        pairs = reaching(tree, place.path, draft.dependences.validity)
        parts = into_parts(band, pairs) or into_parts(band, isl.UnionMap("{ }"))  # a loop each, to be refused
    assert parts is not None
    parts = InOrder(with_names_of_their_own(tree, parts.children))
    what = f"distribute({name}{f', before={before}' if before else ''})"
    alternatives = _alternatives(draft, name, branches) if before else ()
    return checked(draft, with_parts(tree, place.path, parts), what, alternatives)


def _down_to_sequence(place: Loop) -> Band:
    """The loops from this one down to a sequence, as one band; InputError if they lead to none."""
    members, child = nest_of(place.band)
    if own_marks(child):
        mark = type(own_marks(child)[0]).__name__.lower()
        raise InputError(f"a loop inside of '{place.name}' is marked {mark}", hint="edit loops before they are marked")
    if not isinstance(child, InOrder):
        raise InputError(f"loop '{place.name}' has nothing to distribute: it runs {', '.join(place.statements)} alone")
    return Band(members, False, child)


def _position(branches: Sequence[Filter], statement: str, place: Loop) -> int:
    """That of the first branch with the statement."""
    found = [k for k, branch in enumerate(branches) if statement in statements_in(branch.filter)]
    if not found or found[0] == 0:
        what = f"runs nothing before '{statement}'" if found else f"does not run '{statement}'"
        cuts = ", ".join(dict.fromkeys(name for branch in branches[1:] for name in statements_in(branch.filter)))
        raise InputError(f"loop '{place.name}' {what}", hint=f"it can be cut before: {cuts}")
    return found[0]


def _alternatives(draft: Draft, name: str, branches: Sequence[Filter]) -> list[Alternative]:
    """Cut elsewhere, or wherever that is possible."""

    def cut(before: str) -> Alternative:
        return f"cut it before {before}", lambda: distribute(draft, name, before)

    firsts = [names[0] for branch in branches[1:] if (names := statements_in(branch.filter))]
    anywhere = "do not say where: its parts run in another order", lambda: distribute(draft, name)
    return [*map(cut, firsts), anywhere]


@edit("order", "i_o, i -> i_o, (i; i_2)")
def separate(draft: Draft, name: str, *statements: str) -> Draft:
    """Statements that share tiles, of which the loop is the outermost, apart in the tiles where nothing ties them.

    There each of the `statements`, patterns, or each that can, has the loops inside of a tile for itself, so that they
    may be reordered for it alone. InputError if the loop is not over tiles, or if all tiles tie the statements.

        for i_o:                 for i_o:
            for i:          ->       for i: S; T                     in tiles where T needs S of another iteration
                S                    for i_2: S                      in all others
                T                    for i_3: T                      separate("i_o")
    """
    tree = draft.nested
    place = unmarked(tree, name)
    blocks = _blocks(place)
    assert isinstance(blocks.child, Band)
    inside = [draft.scop.statement(each) for each in place.statements]
    if len(inside) < 2:
        runs = "".join(place.statements) or "nothing"
        raise InputError(f"loop '{place.name}' runs {runs} alone: what is to separate?")
    chosen = [each for each in inside if any(fnmatchcase(each.name, one) for one in statements or ("*",))]
    if not chosen:
        hint = f"there are: {', '.join(place.statements)}"
        raise InputError(f"no statement in loop '{place.name}' fits {', '.join(statements)}", hint=hint)
    within = left_below(blocks, reaching(tree, place.path, draft.dependences.coincidence))
    done = apart(blocks, inside, chosen, within)
    if done is blocks:
        names = ", ".join(each.name for each in chosen)
        raise InputError(f"in every tile of loop '{place.name}' something ties {names} to other statements")
    assert isinstance(done.child, InOrder)
    done = replace(done, child=InOrder(with_names_of_their_own(tree, done.child.children)))
    edited = changed_at(tree, place.path, lambda _: done)
    return checked(draft, edited, f"separate({', '.join((place.name, *statements))})")


def _blocks(place: Loop) -> Band:
    """The loop and those over tiles that follow it, around the loops inside of a tile, as two bands."""
    members, child = nest_of(place.band)
    tiles = tuple(takewhile(lambda member: member.rounds, members))
    if not tiles or tiles == members:
        hint = called("tile", place.name, sizes=(32,)) if not tiles else "reorder them inside"
        raise InputError(f"loop '{place.name}' is not over tiles around the loops inside of them", hint=hint)
    return Band(tiles, child=Band(members[len(tiles) :], child=child))
