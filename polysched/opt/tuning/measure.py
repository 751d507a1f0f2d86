"""A kernel timed against the default, until it is known which is faster, or said that it cannot be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from statistics import median

from polysched.config.heuristics.tuning import PAIRS, ROUNDS, SAMPLE
from polysched.errors import PolyschedError, VerificationError
from polysched.opt.tuning.alone import Turns
from polysched.opt.tuning.bench import Samples, compare
from polysched.opt.tuning.build import Built
from polysched.opt.tuning.ratio import Ratio, ratio_of
from polysched.results.tuned.database import Measurement, State
from polysched.support.worker import Worker

_FIRST = 300.0  # seconds for the default, of which nothing is known
_GRACE = 20.0  # seconds for data, and a process that starts


class Stopwatch:
    """Times kernels by a process of its own, alone on the machine, against the same default."""

    def __init__(self, worker: Worker, turns: Turns, default: Built, sizes: Mapping[str, int], seed: int):
        self._worker, self._turns = worker, turns
        self._default, self._sizes, self._seed = default, tuple(sizes.items()), seed
        self.seconds = 0.0  # of the default
        self._limit = _FIRST

    def start(self) -> Ratio:
        """Times the default against itself, which shows the noise; raises what keeps it from running."""
        found = self._samples(self._default, PAIRS)
        self.seconds = median(found.default)
        return ratio_of(found.default, found.other)

    def measure(self, kernel: Built, pairs: int = PAIRS) -> Measurement:
        """What became of it; `pairs` are doubled while they do not tell which is faster."""
        self._limit = _GRACE + 8 * ROUNDS * pairs * max(self.seconds, SAMPLE)
        try:
            return self._measured(kernel, pairs)
        except VerificationError as error:
            return Measurement(answers=(), state="wrong", note=str(error))
        except (PolyschedError, RuntimeError) as error:
            return failed(error)

    def _measured(self, kernel: Built, pairs: int) -> Measurement:
        default: list[float] = []
        other: list[float] = []
        for _ in range(ROUNDS):
            found = self._samples(kernel, pairs)
            default += found.default
            other += found.other
            ratio = ratio_of(default, other)
            if len(found.other) == 1 or ratio.is_decided:
                break
            pairs = len(other)
        state: State = "slow" if len(found.other) == 1 else "measured" if ratio.is_decided else "noisy"
        return _timed(state, ratio, default, other)

    def _samples(self, kernel: Built, pairs: int) -> Samples:
        with self._turns.alone():
            found: Samples = self._worker.call(
                self._limit, compare, self._default.kernel, kernel.kernel, self._sizes, self._seed, pairs
            )
        return found


def failed(error: Exception) -> Measurement:
    """Of a point whose kernel cannot be built or run."""
    return Measurement(answers=(), state="failed", note=str(error).partition("\n")[0])


def _timed(state: State, ratio: Ratio, default: list[float], other: list[float]) -> Measurement:
    found = Measurement(answers=(), state=state, ratio=ratio.median, low=ratio.low, high=ratio.high, pairs=ratio.pairs)
    return replace(found, milliseconds=1e3 * median(other), default_milliseconds=1e3 * median(default))
