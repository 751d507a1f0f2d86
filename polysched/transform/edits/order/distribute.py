"""Distribution by hand: a loop over several statements becomes loops in turn (Allen and Kennedy, 1987)."""

from __future__ import annotations

from collections.abc import Sequence as Several

from polysched.errors import InputError
from polysched.model.tree.nodes import Band, Filter, Sequence, nest_of, own_marks
from polysched.support import isl
from polysched.transform.edits.base.edit import Alternative, Draft, checked, reaching
from polysched.transform.edits.base.loops import Loop, unmarked
from polysched.transform.edits.base.parts import with_names_of_their_own, with_parts
from polysched.transform.edits.base.registry import edit
from polysched.transform.trees.distribute import distribute as into_parts
from polysched.transform.trees.distribute import loop_over


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
    assert isinstance(band.child, Sequence)
    branches = band.child.children
    if before:
        k = _position(branches, before, place)
        parts: Sequence | None = Sequence((loop_over(band, branches[:k]), loop_over(band, branches[k:])))
    else:
        pairs = reaching(tree, place.path, draft.dependences.validity)
        parts = into_parts(band, pairs) or into_parts(band, isl.UnionMap("{ }"))  # a loop each, to be refused
    assert parts is not None
    parts = Sequence(with_names_of_their_own(tree, parts.children))
    what = f"distribute({name}{f', before={before}' if before else ''})"
    alternatives = _alternatives(draft, name, branches) if before else ()
    return checked(draft, with_parts(tree, place.path, parts), what, alternatives)


def _down_to_sequence(place: Loop) -> Band:
    """The loops from this one down to a sequence, as one band; InputError if they lead to none."""
    members, child = nest_of(place.band)
    if own_marks(child):
        mark = type(own_marks(child)[0]).__name__.lower()
        raise InputError(f"a loop inside of '{place.name}' is marked {mark}", hint="edit loops before they are marked")
    if not isinstance(child, Sequence):
        raise InputError(f"loop '{place.name}' has nothing to distribute: it runs {', '.join(place.statements)} alone")
    return Band(members, False, child)


def _position(branches: Several[Filter], statement: str, place: Loop) -> int:
    """That of the first branch with the statement."""
    found = [k for k, branch in enumerate(branches) if statement in _statements(branch)]
    if not found or found[0] == 0:
        what = f"runs nothing before '{statement}'" if found else f"does not run '{statement}'"
        cuts = ", ".join(dict.fromkeys(name for branch in branches[1:] for name in _statements(branch)))
        raise InputError(f"loop '{place.name}' {what}", hint=f"it can be cut before: {cuts}")
    return found[0]


def _statements(branch: Filter) -> list[str]:
    return [s.get_tuple_name() or "" for s in isl.sets_of(branch.filter)]


def _alternatives(draft: Draft, name: str, branches: Several[Filter]) -> list[Alternative]:
    """Cut elsewhere, or wherever that is possible."""

    def cut(before: str) -> Alternative:
        return f"cut it before {before}", lambda: distribute(draft, name, before)

    firsts = [names[0] for branch in branches[1:] if (names := _statements(branch))]
    anywhere = "do not say where: its parts run in another order", lambda: distribute(draft, name)
    return [*map(cut, firsts), anywhere]
