"""What the stage of the expressions saves: integer operations that the C code of a case executes, counted, not timed.

Each case is compiled without the stage, with `licm` alone, and with all of it; what runs is counted at the case's sizes
as `passes.count` does, where both sides of a branch on data count, and no loop's own increments and compares do. Ratios
leave out cases whose code the stage does not change; an operator gains or loses by 1 % at least.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from math import inf

import polysched as ps
from benchmarks.operators.cases import Case
from benchmarks.operators.check import within
from polysched.codegen.passes.count import integer_operations, number
from polysched.errors import PolyschedError

_NOTICED = 0.01  # of the operations


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
        return within(seconds, _counted, case, options)
    except (TimeoutError, EOFError) as error:
        return Counted(case, why=str(error))


def _counted(case: Case, options: ps.Options) -> Counted:
    try:
        nest = case.function()
        off, licm, every = (
            ps.optimize(nest, "c", options=replace(options, expressions=mode)) for mode in ("off", "licm", "all")
        )
    except PolyschedError as error:
        return Counted(case, why=str(error))
    executed = {}
    for mode, done in (("off", off), ("licm", licm), ("all", every)):
        match integer_operations(done.kernel).executed:
            case int(count):
                executed[mode] = count
            case unknown:
                return Counted(case, why=f"the operations of {mode} are {number(unknown)}")
    return Counted(case, executed, unchanged=off.source.text == every.source.text)


HEADER = f"""{'':49}mean of cases     worst      in total
{'operator':28}  cases  same  unknown  off/all  licm/all  off/all  off/all  licm/all"""


def row(op: str, cases: list[Counted]) -> str:
    """A line of the table; dashes where nothing is left to compare."""
    known, changed = _known(cases), _changed(cases)
    figures = [len(cases), len(known) - len(changed), len(cases) - len(known)]
    ratios = [mean(changed, "off"), mean(changed, "licm"), min(_ratios(changed, "off"), default=None)]
    ratios += [_total(known, "off"), _total(known, "licm")]
    columns = "".join(f"{n:{width}}" for n, width in zip(figures, (7, 6, 9), strict=True))
    return f"{op:28}{columns}" + "".join(
        f"{'-' if ratio is None else format(ratio, '.3f'):>{width}}"
        for ratio, width in zip(ratios, (9, 10, 9, 9, 10), strict=True)
    )


def summary(operators: dict[str, list[Counted]]) -> str:
    """How many operators gain, and which lose."""
    means = {op: ratio for op, cases in operators.items() if (ratio := mean(_changed(cases), "off")) is not None}
    gain = sum(ratio > 1 + _NOTICED for ratio in means.values())
    return f"fewer operations: {gain} of {len(operators)} operators; more: {', '.join(losing(operators)) or 'none'}"


def losing(operators: dict[str, list[Counted]]) -> list[str]:
    """Those that execute more with the stage than without, in the mean of their cases."""
    means = {op: mean(_changed(cases), "off") for op, cases in operators.items()}
    return [op for op, ratio in means.items() if ratio is not None and ratio < 1 - _NOTICED]


def mean(cases: list[Counted], mode: str) -> float | None:
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
