"""What the process that times does: the default and a kernel in turns, on the same arrays, if their results are alike.

A sample is the mean of calls that take 20 ms together; the arrays are filled anew before each, which does not count.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from polysched.check.trials.data import Source
from polysched.config.heuristics.tuning import ROUNDING, SAMPLE, SLOW
from polysched.errors import LaunchError, VerificationError
from polysched.results.compiled import Compiled


@dataclass(frozen=True)
class Samples:
    """Seconds of a call, in the order in which they were taken: default, other, default, other, ..."""

    default: tuple[float, ...]
    other: tuple[float, ...]


def compare(default: bytes, other: bytes, sizes: tuple[tuple[str, int], ...], seed: int, pairs: int) -> Samples:
    """So many pairs of samples, or one if the other is much slower.

    VerificationError if its results differ by more than rounding; LaunchError if no data are known to be valid.
    """
    bench = _bench(default, sizes, seed)
    run = bench.bound(pickle.loads(other))
    bench.require_same(run)
    calls = bench.calls
    trials = [(bench.sample(bench.run, calls), bench.sample(run, 1)) for _ in range(2)]
    if all(b > SLOW * a for a, b in trials):
        return Samples(*zip(*trials[1:], strict=True))
    taken = [(bench.sample(bench.run, calls), bench.sample(run, calls)) for _ in range(pairs)]
    return Samples(*zip(*taken, strict=True))


@lru_cache(maxsize=1)
def _bench(default: bytes, sizes: tuple[tuple[str, int], ...], seed: int) -> Bench:
    return Bench(pickle.loads(default), dict(sizes), seed)


class Bench:
    """The default, data at some sizes, and what it makes of them."""

    def __init__(self, default: Compiled, sizes: Mapping[str, int], seed: int):
        drawn = Source(default.nest, seed).candidates(sizes)
        data = next((data.arguments for data in drawn if data.is_proven), None)
        if data is None:
            raise LaunchError(f"no data are known to be valid for '{default.nest.name}'")
        self.data: dict[str, Any] = data
        self.work = {name: np.copy(value) if isinstance(value, np.ndarray) else value for name, value in data.items()}
        self.written = sorted(default.program.written)  # type: ignore[attr-defined]
        self.run = self.bound(default)
        self._refill()
        self.run()
        self.expected = {name: np.copy(self.work[name]) for name in self.written}
        self.calls = max(1, round(SAMPLE / max(self.sample(self.run, 1), 1e-9)))

    def bound(self, done: Compiled) -> Callable[[], None]:
        """Its call on the arrays, of which the constants are bound before."""
        if constants := done.options.constants:
            given = {name: value for name, value in self.work.items() if name not in constants}
            return done.bind(**{name: self.work[name] for name in constants}).ready(**given)
        run: Callable[[], None] = done.program.bound(self.work)  # type: ignore[attr-defined]
        return run

    def require_same(self, run: Callable[[], None]) -> None:
        self._refill()
        run()
        for name in self.written:
            _require_near(name, self.work[name], self.expected[name])

    def sample(self, run: Callable[[], None], calls: int) -> float:
        total = 0.0
        for _ in range(calls):
            self._refill()
            start = time.perf_counter()
            run()
            total += time.perf_counter() - start
        return total / calls

    def _refill(self) -> None:
        for name in self.written:
            np.copyto(self.work[name], self.data[name])


def _require_near(name: str, actual: np.ndarray, wanted: np.ndarray) -> None:
    """VerificationError if an element differs, but for rounding: of a * b + c, say, which is done once or twice."""
    if not np.issubdtype(wanted.dtype, np.floating):
        near = actual == wanted
    else:
        with np.errstate(all="ignore"):
            finite = np.abs(wanted[np.isfinite(wanted)]).astype(np.float64)
            most = ROUNDING[8 * wanted.dtype.itemsize] * (float(finite.max()) if finite.size else 0.0)
            distance = np.abs(actual.astype(np.float64) - wanted.astype(np.float64))
            near = (actual == wanted) | (distance <= most) | (np.isnan(actual) & np.isnan(wanted))
    if not near.all():
        at = tuple(int(x) for x in np.argwhere(~near)[0])
        raise VerificationError(f"'{name}{list(at)}' is {actual[at]}, and {wanted[at]} by the default")
