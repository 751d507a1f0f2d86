"""Programs timed in turns."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence

# Of a process, so that what else the machine does counts little; on several threads, by the clock.
_clock = time.process_time if os.environ.get("OMP_NUM_THREADS") == "1" else time.perf_counter


def fastest(
    calls: Sequence[Callable[[], object]], runs: int, before: Callable[[], object] = lambda: None
) -> list[float]:
    """The least milliseconds of each call; `before` is not counted."""
    least = [float("inf")] * len(calls)
    for _ in range(runs):
        for k, call in enumerate(calls):
            before()
            start = _clock()
            call()
            least[k] = min(least[k], 1e3 * (_clock() - start))
    return least
