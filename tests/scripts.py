"""Automatic scripts of random nests, one edit less or decided otherwise: what is left is legal and right, or refused by
the name of the edit or decision.

    check_script(seed)
    check_script(seed, "cuda")          under the emulator and the checker of races
"""

from __future__ import annotations

import random
import re

import nests
from edits import check_results

import polysched as ps
from polysched.config.options import Target
from polysched.ir.nodes import Function
from polysched.model.tree.nodes import Tree


def check_script(seed: int, target: Target = "c") -> bool | None:
    """Is what is left of the script, one edit less or with another size or decision, legal? It computes what the nest
    does then. None if the nest has no script."""
    rng = random.Random(seed)
    fn = nests.random_nest(rng, statements=rng.choice([1, 2, 3]), depth=rng.choice([2, 3]))
    return check_changed(fn, rng, target)


def check_changed(fn: Function, rng: random.Random, target: Target = "c") -> bool | None:
    """The same of this nest."""
    auto = ps.Schedule.auto(fn, target)
    script = auto.history
    if isinstance(script.start, Tree):
        return None
    start = ps.Schedule(fn, script.start, options=script.options, prelude=script.prelude)
    try:
        if auto.decisions and rng.random() < 0.5:
            schedule = _decided(auto, rng)
        else:
            schedule = start.apply(_changed(list(script.edits), rng))
    except (ps.IllegalSchedule, ps.InputError) as error:
        notes = getattr(error, "__notes__", ())
        is_named = any(re.search(r"of the (history|script): \.", note) for note in notes)
        assert is_named or re.match(_NO_ANSWER, str(error)), error
        return False
    if target != "c":
        ps.optimize(fn, target, schedule=schedule).verify()
    else:
        check_results(schedule.draft.scop.function, schedule, rng)
    return True


# A value that a decision cannot have; and one that a later answer leaves nothing to be asked of.
_NO_ANSWER = r"\w+\.\S+ cannot be \d|\w+\.\S+ = .* would be without effect|.*nothing is left that runs in parallel"


def _decided(auto: ps.Schedule, rng: random.Random) -> ps.Schedule:
    """With another answer to one or two decisions."""
    for _ in range(rng.choice((1, 2))):
        decision = rng.choice(auto.decisions)
        others = [each for each in decision.candidates if each != decision.value]
        if type(decision.value) is int:
            others += [1, 3, 7]
        auto = auto.decide(decision.key, rng.choice(others)) if others else auto
    return auto


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
