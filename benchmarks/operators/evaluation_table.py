"""The table of an evaluation: a line for each operator, how many gain and which lose, and what must be reached.

Ratios are how many times as much a case takes without the stage ("off"), or with LICM alone ("licm"), as with all of
it: above 1 is a gain. A figure of an operator is the arithmetic mean of its cases. As in the published evaluation,
cases of unchanged code and those under 50 us are left out, and a case's time within 1 % counts as unchanged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import inf
from statistics import fmean

from benchmarks.operators.columns import COLUMNS, Found
from benchmarks.operators.turns import Ratio, compared, mean

Results = Sequence[tuple[str, Mapping[str, Found]]]  # of an operator: each case, equal ones too, and its columns
NOTICED = 0.01  # what counts as a gain or a loss
MOST_LOST = 0.02  # of the time of an operator

# What is known of the published evaluation, on a GPU: the mean of an operator's cases, and the ratio of total times.
_PUBLISHED: dict[str, tuple[float | None, float | None]] = {
    "conv2d_hwcn": (0.976, None),
    "conv3d_winograd": (1.4146, None),
    "conv3d_transpose_ncdhw": (None, 1.4291),
    "all": (1.227, None),
}
_COUNTED = {"integers": "integer operations", "sass": "integers of SASS", "instructions": "C instructions"}
_PUBLISHED_GAINS = "10 of 21 operators gain in time, 1 loses"
_GROUPS = (
    f"{'':36}{'integer operations':>20}{'integers of SASS':>20}{'C instructions':>20}{'C time':>40}{'CUDA time':>20}"
    f"{'published':>16}"
)
_PAIR = f"{'off/all':>11}{'licm/all':>9}"
HEADER = (
    f"{_GROUPS}\n{'operator':30}{'cases':>6}{_PAIR * 3}"
    f"{'cases':>6}{'off/all':>9}{'+-':>6}{'licm/all':>9}{'in total':>10}{_PAIR}{'mean':>9}{'total':>7}"
)


def lines(operators: Mapping[str, Results], is_verbose: bool = False) -> Iterator[str]:
    """The table, and below it what it says."""
    yield HEADER
    for op, results in operators.items():
        yield row(op, results)
        if is_verbose:
            yield from (f"    {case}: {_case(columns)}" for case, columns in results)
    every = [result for results in operators.values() for result in results]
    yield row("all", every)
    for column, what in _COUNTED.items():
        if means := _means(operators, column):
            yield f"{what}: {_verdict(means, len(operators))}"
    if timed := {op: _sure(ratio) for op, results in operators.items() if (ratio := speed_up(results)) is not None}:
        yield f"C time: {_verdict(timed, len(operators))}; published, on a GPU: {_PUBLISHED_GAINS}"
        lost, doubtful = _names(losing(operators)), _names(unclear(operators))
        yield f"C time, slower by over {MOST_LOST:.0%}: {lost}; unclear: {doubtful}"
    for column in COLUMNS:
        if notes := [found.note for _, columns in every if (found := columns.get(column)) and _is_unknown(found)]:
            yield f"{column}: {len(notes)} cases unknown, the first since {notes[0]}"


def row(op: str, results: Results) -> str:
    """A line of the table; dashes where nothing is left to compare."""
    time, licm = speed_up(results), speed_up(results, "licm")
    margin = max(time.high - time.value, time.value - time.low) if time else None
    cells = [
        *(_cell(ratio, width) for column in _COUNTED for ratio, width in _pair(results, column)),
        f"{len(_timed(results)):6}",
        _cell(time.value if time else None, 9),
        _cell(margin, 6),
        _cell(licm.value if licm else None, 9),
        _cell(total_ratio(results), 10),
        *(_cell(ratio, width) for ratio, width in _pair(results, "gpu")),
        *(_cell(ratio, width) for ratio, width in zip(_PUBLISHED.get(op, (None, None)), (9, 7), strict=True)),
    ]
    return f"{op:30}{len(results):6}{''.join(cells)}"


def good(operators: Mapping[str, Results], columns: Sequence[str]) -> bool:
    """Do at least half of the operators gain in integer operations, and none lose time, and is all known to tell?"""
    gains = sum(ratio > 1 + NOTICED for ratio in _means(operators, "integers").values())
    known = not any(
        _is_unknown(cells.get(column, Found()))
        for results in operators.values()
        for _, cells in results
        for column in {"integers", "time"} & set(columns)
    )
    return known and ("integers" not in columns or 2 * gains >= len(operators)) and not losing(operators)


def seems_to_lose(results: Results) -> bool:
    """Is the operator slower by more than what may be lost, for all that is measured so far?"""
    ratio = speed_up(results)
    return ratio is not None and ratio.value < 1 - MOST_LOST


def losing(operators: Mapping[str, Results]) -> list[str]:
    """Operators that are slower by more than what may be lost, beyond doubt."""
    ratios = {op: speed_up(results) for op, results in operators.items()}
    return [op for op, ratio in ratios.items() if ratio is not None and ratio.high < 1 - MOST_LOST]


def unclear(operators: Mapping[str, Results]) -> list[str]:
    """Operators that seem to lose time, where the samples do not decide it."""
    lost = losing(operators)
    return [op for op, results in operators.items() if seems_to_lose(results) and op not in lost]


def speed_up(results: Results, mode: str = "off") -> Ratio | None:
    """The mean over the cases that are timed; None if none is."""
    ratios = [compared(found.values[mode], found.values["all"]) for found in _timed(results)]
    return mean([Ratio(1.0, 1.0, 1.0) if abs(r.value - 1) < NOTICED else r for r in ratios]) if ratios else None


def total_ratio(results: Results) -> float | None:
    """Of the sums of the times of the cases that are timed; with the stage, by their ratios."""
    timed = _timed(results)
    before = [found.median("off") for found in timed]
    after = [
        time / compared(found.values["off"], found.values["all"]).value
        for time, found in zip(before, timed, strict=True)
    ]
    return sum(before) / sum(after) if timed else None


def mean_ratio(results: Results, column: str, mode: str) -> float | None:
    """The mean over the cases whose code differs; None if none does."""
    found = [cells[column] for _, cells in results if column in cells]
    ratios = [_ratio(each.median(mode), each.median("all")) for each in found if each.values and not each.unchanged]
    return fmean(ratios) if ratios else None


def _means(operators: Mapping[str, Results], column: str) -> dict[str, float]:
    means = {op: mean_ratio(results, column, "off") for op, results in operators.items()}
    return {op: ratio for op, ratio in means.items() if ratio is not None}


def _verdict(ratios: Mapping[str, float], operators: int) -> str:
    gain = sum(ratio > 1 + NOTICED for ratio in ratios.values())
    return f"{gain} of {operators} operators gain; lose: {_names([op for op, r in ratios.items() if r < 1 - NOTICED])}"


def _sure(ratio: Ratio) -> float:
    """The ratio, or none at all where the samples do not tell it from 1."""
    return ratio.value if not ratio.low <= 1 <= ratio.high else 1.0


def _timed(results: Results) -> list[Found]:
    return [found for _, cells in results if (found := cells.get("time")) and found.values]


def _pair(results: Results, column: str) -> Iterator[tuple[float | None, int]]:
    yield mean_ratio(results, column, "off"), 11
    yield mean_ratio(results, column, "licm"), 9


def _is_unknown(found: Found) -> bool:
    return not found.values and not found.is_left_out


def _case(cells: Mapping[str, Found]) -> str:
    return "; ".join(f"{column} {_figures(found)}" for column, found in cells.items())


def _figures(found: Found) -> str:
    if not found.values:
        return found.note
    return ", ".join(f"{mode} {found.median(mode):.6g}" for mode in found.values)


def _ratio(before: float, after: float) -> float:
    return before / after if after else inf if before else 1.0


def _cell(ratio: float | None, width: int) -> str:
    return f"{'-' if ratio is None else format(ratio, '.3f'):>{width}}"


def _names(operators: Sequence[str]) -> str:
    return ", ".join(operators) or "none"
