"""Statements that share tiles, by hand, apart where nothing ties them together (`transform/trees/separate.py`)."""

from __future__ import annotations

from dataclasses import replace
from fnmatch import fnmatchcase
from itertools import takewhile

from polysched.config.plain import called
from polysched.deps.coincidence import left_below
from polysched.errors import InputError
from polysched.model.tree.nodes import Band, Sequence, nest_of
from polysched.transform.edits.base.edit import Draft, checked, reaching
from polysched.transform.edits.base.loops import Loop, changed_at, unmarked
from polysched.transform.edits.base.parts import with_names_of_their_own
from polysched.transform.edits.base.registry import edit
from polysched.transform.trees.separate import apart


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
    assert isinstance(done.child, Sequence)
    done = replace(done, child=Sequence(with_names_of_their_own(tree, done.child.children)))
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
