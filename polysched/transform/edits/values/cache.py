"""Small copies of what an iteration of a loop uses of an array (`storage.py`).

The copy is shown to be right (`same_values.py`): one of an array that is written while it is in use is refused.

Privatization: each iteration of a loop gets an array of its own (Feautrier, ICS 1988).

Then iterations need not wait for each other to use the one array. No value may cross from one iteration to another.
What is read after the loop, the last iteration that wrote it copies back.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from polysched.deps.legality import Violation, violation_of
from polysched.errors import IllegalSchedule, InputError
from polysched.support import isl
from polysched.transform.edits.base.draft import Draft
from polysched.transform.edits.base.edit import first_legal
from polysched.transform.edits.base.loops import coordinates_of
from polysched.transform.edits.base.registry import edit
from polysched.transform.edits.values.storage import Scope, Use


@edit("values", "i_o -> i_o, (A0; ...)")
def cache_read(draft: Draft, array: str, at: str | None, scope: Scope = "private", name: str = "") -> Draft:
    """What each iteration of loop `at`, or the whole nest, reads of an array, first copied to a small one.

    The copy is called `name`, or A_c for A; `scope` is where it lives: "private" (or "local"), "shared" by the threads
    of a block, or "global". InputError if nothing is read; IllegalSchedule if what was copied is not what it read.

        for i_o:                 for i_o:
            ... A[i] ...    ->       for A0: A_c[A0 - 32 * i_o] = A[A0]
                                     ... A_c[i - 32 * i_o] ...       cache_read("A", at="i_o")
    """
    use = Use(draft, array, at, f"cache_read({array}, at={at})")
    if not use.reads:
        raise InputError(f"nothing in {use.where} reads '{array}'")
    small = use.small(use.reads, scope, name)
    try:
        return use.on(small, load=use.reads[0], stores=False)
    except IllegalSchedule as refusal:
        text = f"cache_write('{array}', at={at!r}) keeps what is written there, too"
        hint = first_legal([(text, lambda: cache_write(draft, array, at))]) if use.writes else ""
        if not hint:
            raise
        raise IllegalSchedule(str(refusal), violation=refusal.violation, hint=hint, tree=refusal.tree) from refusal


@edit("values", "i_o -> i_o, (C0; ...; C0_2)")
def cache_write(draft: Draft, array: str, at: str | None, scope: Scope = "private", name: str = "") -> Draft:
    """What each iteration of loop `at`, or the whole nest, uses of an array in a small one, which is copied back.

    What it reads of earlier iterations is copied there before. `scope` and `name` are as for `cache_read`. InputError
    if nothing is written; IllegalSchedule if something gets another value by that.

        for i_o:                 for i_o:
            ... C[i] += x   ->       ... C_c[i - 32 * i_o] += x
                                     for C0: C[C0] = C_c[C0 - 32 * i_o]      cache_write("C", at="i_o")
    """
    use = Use(draft, array, at, f"cache_write({array}, at={at})")
    if not use.writes:
        hint = f"cache_read('{array}', at={at!r}) copies what it reads" if use.reads else ""
        raise InputError(f"nothing in {use.where} writes '{array}'", hint=hint)
    small = use.small([*use.reads, *use.writes], scope, name)
    return use.on(small, load=use.read_of_earlier(), store=use.writes[0])


@edit("values", "i -> i, (...; t0)")
def privatize(draft: Draft, array: str, at: str, scope: Scope = "private", name: str = "") -> Draft:
    """For what each iteration of loop `at` uses of an array, one of its own.

    It is called `name`, or t_p for t, and lives in `scope`, as for `cache_read`. InputError if nothing is written of
    it; IllegalSchedule, with the two iterations, if one reads what another wrote.

        for i:                        for i:
            for j: t[j] = ...    ->       for j: t_p[j] = ...        t_p of each iteration
            for j: ... t[j] ...           for j: ... t_p[j] ...      privatize("t", at="i")
    """
    what = f"privatize({array}, at={at})"
    use = Use(draft, array, at, what)
    if not use.writes:
        raise InputError(f"nothing in {use.where} writes '{array}'", hint="an array that is only read needs no copies")
    for violation in _crossing(draft, use):
        raise IllegalSchedule(f"{what}: {violation}", violation=violation)
    small = use.small([*use.reads, *use.writes], scope, name or use.fresh_name("p"))
    return use.on(small, load=use.read_of_earlier(), store=use.read_later())


def _crossing(draft: Draft, use: Use) -> Iterator[Violation]:
    """Values of the array that cross from one iteration to another, the loops around being in one each."""
    *outer, _ = use.bands
    around = coordinates_of(outer, use.arrivals.domain())
    other = around.apply_range(around.reverse()).subtract(use.together)
    for d in draft.dependences.of("flow"):
        if d.array == use.array.name:
            for pairs in isl.maps_of(isl.UnionMap.from_map(d.relation).intersect(other)):
                if not pairs.is_empty():
                    reason = f", in another iteration of {use.where}"
                    yield replace(violation_of(d, pairs), reason=reason, scop=draft.scop)
