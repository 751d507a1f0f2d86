"""Programs timed in turns, A B C A B C, in one process, so that what else the machine does falls on all alike.

    samples = in_turns({"off": slow, "all": fast}, seconds=2.0)         each a call's seconds, one for each round
    compared(samples["off"], samples["all"])                            Ratio(1.31, of a half-width of 0.02)

A ratio is the median of the rounds' ratios, which a load that comes and goes does not move; its interval holds the
true median in at least 95 of 100 cases, by the order of the samples alone, whatever their distribution; fewer than six
rounds say nothing of that.
"""

from __future__ import annotations

import gc
import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

SAMPLE = 2e-3  # seconds of a sample at least: shorter calls repeat
_FEWEST, _MOST = 6, 200  # rounds; the fewest where a round takes long
_LONGEST = 10  # times the seconds asked for, whatever the rounds


@dataclass(frozen=True)
class Ratio:
    """How many times as long the first takes, from `low` to `high` with 95 % confidence."""

    value: float
    low: float
    high: float


def in_turns(programs: Mapping[str, Callable[[], object]], seconds: float) -> dict[str, list[float]]:
    """Seconds of a call of each program, one sample a round; rounds go on until the time is spent."""
    calls = {name: max(1, math.ceil(SAMPLE / max(once(run), 1e-9))) for name, run in programs.items()}
    samples: dict[str, list[float]] = {name: [] for name in programs}
    gc.collect()
    gc.disable()
    start = time.perf_counter()
    try:
        for taken in range(_MOST):
            spent = time.perf_counter() - start
            if taken and spent > (seconds if taken >= _FEWEST else _LONGEST * seconds):
                break
            for name, run in programs.items():
                samples[name].append(_sample(run, calls[name]))
    finally:
        gc.enable()
    return samples


def once(run: Callable[[], object]) -> float:
    """Seconds of a call, after one that has brought pages and threads."""
    run()
    return min(_sample(run, 1) for _ in range(2))


def compared(before: Sequence[float], after: Sequence[float]) -> Ratio:
    """The ratio of two programs' samples of the same rounds."""
    ratios = sorted(one / other for one, other in zip(before, after, strict=True))
    beyond = _beyond(len(ratios))
    low, high = (ratios[beyond - 1], ratios[-beyond]) if beyond else (0.0, math.inf)
    return Ratio(statistics.median(ratios), low, high)


def mean(ratios: Sequence[Ratio]) -> Ratio:
    """The arithmetic mean of the ratios of independent cases, whose errors add up as squares."""
    value = statistics.fmean(ratio.value for ratio in ratios)
    below, above = (
        math.hypot(*widths) / len(ratios)
        for widths in ([r.value - r.low for r in ratios], [r.high - r.value for r in ratios])
    )
    return Ratio(value, value - below, value + above)


def _beyond(count: int) -> int:
    """The rank, from either end, of the samples between which the median is with 95 % confidence; 0: there is none.

    Each sample is above the median or below it as a coin falls: so few heads, or tails, come once in 40 times.
    """
    chance, rank = 0.0, 0
    while rank < count and (chance := chance + math.comb(count, rank) / 2**count) <= 0.025:
        rank += 1
    return rank


def _sample(run: Callable[[], object], calls: int) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        run()
    return (time.perf_counter() - start) / calls
