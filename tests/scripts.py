"""Automatic scripts of random nests, one edit less: what is left is legal and right, or refused by the edit's name.

    check_script(seed)
"""

from __future__ import annotations

import random

import nests
from edits import check_results

import polysched as ps
from polysched.ir.nodes import Function
from polysched.model.tree import Tree


def check_script(seed: int) -> bool | None:
    """Is what is left of the script, without one edit or with another size, legal? It computes what the nest does
    then. None if the nest has no script."""
    rng = random.Random(seed)
    fn = nests.random_nest(rng, statements=rng.choice([1, 2, 3]), depth=rng.choice([2, 3]))
    return check_changed(fn, rng)


def check_changed(fn: Function, rng: random.Random) -> bool | None:
    """The same of this nest."""
    script = ps.Schedule.auto(fn).history
    if isinstance(script.start, Tree):
        return None
    start = ps.Schedule(fn, script.start, options=script.options, prelude=script.prelude)
    edits = _changed(list(script.edits), rng)
    try:
        schedule = start.apply(edits)
    except (ps.IllegalSchedule, ps.InputError) as error:
        assert any("of the history: ." in note for note in getattr(error, "__notes__", ())), error
        return False
    check_results(schedule.draft.scop.function, schedule, rng)
    return True


def _changed(edits: list[ps.Edit], rng: random.Random) -> list[ps.Edit]:
    if edits:
        k = rng.randrange(len(edits))
        sizes = dict(edits[k].kwargs).get("sizes")
        others = [] if sizes is None or rng.random() < 0.5 else [_resized(edits[k], rng)]
        edits[k : k + 1] = others
    return edits


def _resized(edit: ps.Edit, rng: random.Random) -> ps.Edit:
    named = dict(edit.kwargs)
    named["sizes"] = tuple(rng.choice((1, 2, 3, 8, 20)) for _ in named["sizes"])
    return ps.Edit.of(edit.name, *edit.args, **named)
