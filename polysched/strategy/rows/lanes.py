"""The loops along a row: those inside of the loops over rows that have no others inside."""

from __future__ import annotations

from collections.abc import Sequence

from polysched.strategy.script import Script
from polysched.transform.edits.base.loops import Loop, loops


def lanes_of(script: Script, own: set[str], rows: Sequence[str]) -> list[Loop]:
    """Those of these statements alone."""
    return _innermost([each for each in loops(script.draft.nested) if {*each.statements} <= own], rows)


def lanes_in(script: Script, rows: Sequence[str]) -> list[Loop]:
    """Those inside of the last of these loops over rows."""
    every = loops(script.draft.nested)
    return _innermost([each for each in every if any(band.members[0].name == rows[-1] for band in each.around)], rows)


def _innermost(inside: Sequence[Loop], rows: Sequence[str]) -> list[Loop]:
    inside = [each for each in inside if each.name not in rows]
    outer = {band.members[0].name for each in inside for band in each.around}
    return [each for each in inside if each.name not in outer]
