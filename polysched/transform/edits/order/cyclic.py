"""Cyclic distribution by hand: threads take turns, some neighbouring iterations at a time (Wolfe, 1996).

    band: i       band: i_t     floor(i/4) mod 16
            ->      band: i_g     floor(i/64)               cyclic("i", 16, vector=4)
                      band: i

Neighbouring threads then use neighbouring elements in each round, `vector` of them at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from polysched.errors import InputError
from polysched.model.tree.nodes import Band
from polysched.support import isl
from polysched.transform.edits.base.edit import Draft, checked
from polysched.transform.edits.base.loops import all_given, changed_at, fresh, unmarked
from polysched.transform.edits.base.registry import edit
from polysched.transform.trees.tile import block_of


@edit("order", "i -> i_t, i_g, i")
def cyclic(draft: Draft, name: str, threads: int, vector: int = 1, names: Sequence[str] = ()) -> Draft:
    """The loop dealt to so many threads, `vector` iterations at a time, inside of a loop over the threads.

    The loop over threads and, for vectors, the one over a thread's turns are called `names`, or i_t and i_g; the loop
    itself, over the iterations of a turn, or over the turns, keeps its name. IllegalSchedule if an iteration needs one
    of a thread that runs later.

        for i in 0..n: S    ->    for i_t in 0..16:
                                      for i_g in 0..(n + 63) / 64:
                                          for i in 64 * i_g + 4 * i_t..+4: S     cyclic("i", 16, vector=4)
    """
    tree = draft.nested
    place = unmarked(tree, name)
    if threads < 1 or vector < 1:
        raise InputError(f"a loop is dealt to 1 thread or more, not to {threads}, by {vector} iterations")
    new = ("t", "g")[: 1 if vector == 1 else 2]
    if len(names) not in (0, len(new)):
        raise InputError(f"cyclic makes {len(new)} loops more, and they cannot be called {tuple(names)}")
    called = all_given(tree, names) or [fresh(tree, f"{place.name}_{each}") for each in new]
    turn = isl.UnionMap(f"{{ [x] -> [floor(x / {vector}) mod {threads}] }}")
    whose = replace(place.member, schedule=place.member.schedule.apply_range(turn), name=called[0])
    turns = replace(block_of(place.member, threads * vector), name=called[-1] if vector > 1 else place.name)
    inside = (turns, place.member) if vector > 1 else (turns,)
    dealt = Band((whose, *inside), child=place.band.child)
    what = f"cyclic({name}, {threads}{f', vector={vector}' if vector > 1 else ''})"
    return checked(draft, changed_at(tree, place.path, lambda _: dealt), what)
