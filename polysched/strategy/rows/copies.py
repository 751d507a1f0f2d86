"""What several loops along a row read, once in shared memory.

    .cache_read("x", at="i", scope="shared")                                   rows of 300 elements
    .split_set("i", "d <= 6144").cache_read("x", at="i", scope="shared")       rows of d elements

Where a size says how long rows are, those that fit have a version of their own, and all others the loops that there
were.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from math import prod

from polysched.config.heuristics.gpu import ROW_BYTES, ROWS_COPIED, UNKNOWN_ROW_BYTES
from polysched.errors import IllegalSchedule, InputError
from polysched.ir.nodes import Array, Const, Var
from polysched.strategy.decision import sizes_around
from polysched.strategy.rows.lanes import lanes_in
from polysched.strategy.script import Script
from polysched.transform.edits.base.loops import loops
from polysched.transform.edits.values.storage import Use

_WHY = "each loop along the row reads it"


def copied(script: Script, own: set[str], rows: Sequence[str]) -> list[list[str]]:
    """Copies what fits of a row; the loops over rows of each version that there is then."""
    found = {array.name: _of_a_row(script, array.name, rows[-1]) for array in _read_again(script, own, rows)}
    small = {name: array for name, array in found.items() if array is not None}
    room = ROW_BYTES
    for name, array in small.items():
        size = _bits(array) // 8
        if _length(array) is None and size <= room and script.says(f"copy.{name}", _WHY):
            room -= size if script.attempt(f"copy {name}", partial(_copy, script, name, rows[-1])) else 0
    unknown = {name: array for name, array in small.items() if _length(array) is not None}
    return script.attempt("copy rows that fit", partial(_versions, script, unknown, rows)) or [[*rows]]


def _versions(script: Script, arrays: Mapping[str, Array], rows: Sequence[str]) -> list[list[str]]:
    """Those for rows that fit, of arrays whose rows are as long as one size says, and for all others."""
    lengths = {_length(array) for array in arrays.values()}
    if len(lengths) != 1:
        return [[*rows]]
    fits = UNKNOWN_ROW_BYTES * 8 // sum(map(_bits, arrays.values()))
    most = script.pick(f"copy_rows.{rows[-1]}", fits, sizes_around(fits, ROWS_COPIED), _WHY)
    if not most:
        return [[*rows]]
    before = {each.name for each in loops(script.draft.nested)}
    script.do("split_set", rows[0], f"{lengths.pop()} <= {most}")
    others = [each.name for each in loops(script.draft.nested) if each.name not in before]
    for name in arrays:
        _copy(script, name, rows[-1])
    return [[*rows], others[: len(rows)]]


def _copy(script: Script, array: str, row: str) -> bool:
    script.do("cache_read", array, at=row, scope="shared")
    return True


def _read_again(script: Script, own: set[str], rows: Sequence[str]) -> list[Array]:
    """The arrays that several of the loops along a row read, and nothing writes."""
    lanes = lanes_in(script, rows)

    def is_one(array: Array) -> bool:
        users = [s for s in script.scop.statements if any(access.array == array.name for access in s.accesses)]
        readers = {s.name for s in users} & own
        writes = any(write.array == array.name for s in users for write in s.writes)
        return not writes and sum(not readers.isdisjoint(lane.statements) for lane in lanes) > 1

    return [array for array in script.scop.function.arrays if is_one(array)]


def _of_a_row(script: Script, array: str, row: str) -> Array | None:
    """What a row has of an array for itself, where one of its sides at most is no constant."""
    try:
        use = Use(script.draft, array, row, f"copy {array}")
        small = use.small(use.reads, "shared", "").array
    except (InputError, IllegalSchedule):
        return None
    others = [side for side in small.shape if not isinstance(side, Const)]
    is_known = not others or (len(others) == 1 and isinstance(others[0], Var))
    return small if is_known and use.reads[0].is_injective() else None


def _length(array: Array) -> str | None:
    """The size that says how long it is, if one does."""
    return next((side.name for side in array.shape if isinstance(side, Var)), None)


def _bits(array: Array) -> int:
    """Of all of it, where it is not as long as a size says: of one element along that side."""
    return prod(int(side.value) for side in array.shape if isinstance(side, Const)) * array.dtype.bits
