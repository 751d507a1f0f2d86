"""What the stage of the expressions saves: integer operations that the C code of a case executes, counted, not timed.

Each case is compiled without the stage, with `licm` alone, and with all of it; what runs is counted at the case's sizes
as `codegen/count.py` does, where both sides of a branch on data count, and no loop's own increments and compares do.
Ratios leave out cases whose code the stage does not change; an operator gains or loses by 1 % at least.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from math import inf

import polysched as ps
from benchmarks.operators.cases import Case
from benchmarks.operators.check import within
from polysched.codegen.count import integer_operations
from polysched.errors import PolyschedError

_BLOCKS = 300_000  # visits to blocks that differ, to count what a case executes
_NOTICED = 0.01  # of the operations
_SIZES = {
    "": 0
}  # none that a case has; not given any, the count guesses with both sides of all branches past its limit


@dataclass(frozen=True)
class Counted:
    """Operations that a case executes after "off", "licm" and "all"; none where they are unknown."""

    case: Case
    executed: dict[str, int] = field(default_factory=dict)
    unchanged: bool = False  # the C code is the same with all of the stage as without
    why: str = ""  # it is unknown

    def __str__(self) -> str:
        figures = ", ".join(f"{mode} {count}" for mode, count in self.executed.items())
        return f"{self.case}: {figures or f'unknown: {self.why}'}{', unchanged' * self.unchanged}"


def counted(case: Case, seconds: float, options: ps.Options) -> Counted:
    """The case compiled in all three ways and counted, in a process of its own, within a time limit."""
    try:
        return within(seconds, count_here, case, options)
    except (TimeoutError, EOFError) as error:
        return Counted(case, why=str(error))


def count_here(case: Case, options: ps.Options) -> Counted:
    """The same in this process, without a limit."""
    try:
        nest = case.function()
        off, licm, every = (
            ps.optimize(nest, "c", options=replace(options, expressions=mode)) for mode in ("off", "licm", "all")
        )
    except PolyschedError as error:
        return Counted(case, why=str(error))
    executed = {}
    for mode, done in (("off", off), ("licm", licm), ("all", every)):
        match integer_operations(done.kernel, _SIZES, most=_BLOCKS).executed:
            case int(count):
                executed[mode] = count
            case _:
                return Counted(case, why=f"data decides on loops, or they are too many to follow, with {mode!r}")
    return Counted(case, executed, unchanged=off.source.text == every.source.text)


HEADER = f"""{"":49}mean of cases     worst      in total
{"operator":28}  cases  same  unknown  off/all  licm/all  off/all  off/all  licm/all"""


def row(op: str, cases: list[Counted]) -> str:
    """A line of the table; dashes where nothing is left to compare."""
    known, changed = _known(cases), _changed(cases)
    figures = [len(cases), len(known) - len(changed), len(cases) - len(known)]
    ratios = [_mean(changed, "off"), _mean(changed, "licm"), min(_ratios(changed, "off"), default=None)]
    ratios += [_total(known, "off"), _total(known, "licm")]
    columns = "".join(f"{n:{width}}" for n, width in zip(figures, (7, 6, 9), strict=True))
    return f"{op:28}{columns}" + "".join(
        f"{'-' if ratio is None else format(ratio, '.3f'):>{width}}"
        for ratio, width in zip(ratios, (9, 10, 9, 9, 10), strict=True)
    )


def summary(operators: dict[str, list[Counted]]) -> str:
    """How many operators gain, and which lose, each in the mean of its cases."""
    means = _means(operators)
    gain = [op for op, ratio in means.items() if ratio > 1 + _NOTICED]
    lose = [op for op, ratio in means.items() if ratio < 1 - _NOTICED]
    return f"fewer operations: {len(gain)} of {len(operators)} operators; more: {', '.join(lose) or 'none'}"


def good(operators: dict[str, list[Counted]]) -> bool:
    """Is every case counted, and does no operator lose?"""
    every = [case for cases in operators.values() for case in cases]
    return len(_known(every)) == len(every) and all(ratio >= 1 - _NOTICED for ratio in _means(operators).values())


def _means(operators: dict[str, list[Counted]]) -> dict[str, float]:
    found = {op: _mean(_changed(cases), "off") for op, cases in operators.items()}
    return {op: ratio for op, ratio in found.items() if ratio is not None}


def _mean(cases: list[Counted], mode: str) -> float | None:
    """How many times as much they execute after that mode as after all of the stage; None without cases."""
    return sum(_ratios(cases, mode)) / len(cases) if cases else None


def _ratios(cases: Iterable[Counted], mode: str) -> list[float]:
    return [_ratio(each.executed[mode], each.executed["all"]) for each in cases]


def _total(cases: list[Counted], mode: str) -> float | None:
    return _ratio(*(sum(each.executed[way] for each in cases) for way in (mode, "all"))) if cases else None


def _ratio(before: int, after: int) -> float:
    return before / after if after else inf if before else 1.0


def _known(cases: list[Counted]) -> list[Counted]:
    return [each for each in cases if each.executed]


def _changed(cases: list[Counted]) -> list[Counted]:
    return [each for each in _known(cases) if not each.unchanged]
