"""Statements that share tiles, by hand, apart where nothing ties them together (`transform/trees/separate.py`)."""

from __future__ import annotations

from dataclasses import replace
from fnmatch import fnmatchcase
from itertools import takewhile

from polysched.config.plain import called
from polysched.deps.coincidence import left_below
from polysched.errors import InputError
from polysched.model.tree.nodes import Band, Filter, Sequence, Tree, nest_of
from polysched.transform.edits.base.edit import Draft, checked, reaching
from polysched.transform.edits.base.loops import Loop, changed_at, loops, unmarked
from polysched.transform.edits.base.parts import called_otherwise, loop_names
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
    return checked(draft, _named(tree, place, done), f"separate({', '.join((place.name, *statements))})")


def _blocks(place: Loop) -> Band:
    """The loop and those over tiles that follow it, around the loops inside of a tile, as two bands."""
    members, child = nest_of(place.band)
    tiles = tuple(takewhile(lambda member: member.rounds, members))
    if not tiles or tiles == members:
        hint = called("tile", place.name, sizes=(32,)) if not tiles else "reorder them inside"
        raise InputError(f"loop '{place.name}' is not over tiles around the loops inside of them", hint=hint)
    return Band(tiles, child=Band(members[len(tiles) :], child=child))


def _named(tree: Tree, place: Loop, blocks: Band) -> Tree:
    """The tree with the tiles in place of the loop; what they run first keeps the names of loops."""
    assert isinstance(blocks.child, Sequence)
    taken, shown = {each.name for each in loops(tree)}, set[str]()
    branches: list[Filter] = []
    for branch in blocks.child.children:
        branches.append(replace(branch, child=called_otherwise(branch.child, shown, taken)))
        shown |= loop_names(branches[-1])
    return changed_at(tree, place.path, lambda _: replace(blocks, child=Sequence(tuple(branches))))
