"""What a nest could run as on a CPU, with the times that the cost model predicts for the loops of each.

    in windows        1.9 ms      stages of a pipeline, strip by strip
    as found          5.2 ms      the schedule of the ILP, tiled
    in source order   8.1 ms      with threads and SIMD where its own loops have them
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress

from polysched.config.heuristics.cost import ALIKE
from polysched.config.machine import Machine
from polysched.config.options import Options
from polysched.cost.prediction import Prediction, duration
from polysched.deps.coincidence import mark_coincident
from polysched.errors import BudgetExceeded, IllegalSchedule, InputError
from polysched.plan.mapped import (
    AS_FAST_IN_ORDER,
    COMPUTED_AGAIN,
    FOR_THREADS,
    IN_SOURCE_ORDER,
    IN_WINDOWS,
    Mapped,
    in_windows,
    map_to_cpu,
)
from polysched.plan.plan import Plan
from polysched.plan.predicted import predicted
from polysched.prelude.choose import leaves_order_open
from polysched.support import isl


def candidates(plan: Plan, options: Options, sizes: Mapping[str, int], machine: Machine) -> dict[str, Prediction]:
    """Those of an automatic schedule, the fastest first; what is not found in time is left out. None where the options
    have wishes about the order."""
    if not leaves_order_open(options):
        return {}
    scop, deps, found = plan.scop, plan.dependences, plan.scheduled.tree
    source = mark_coincident(scop.tree, deps)
    ways: dict[str, Callable[[], Mapped | None]] = {
        "in windows": lambda: in_windows(None, scop, deps, options),
        "as found": lambda: map_to_cpu(found, scop, deps, options),
        "in source order": lambda: map_to_cpu(source, scop, deps, options, "kept"),
    }
    times: dict[str, Prediction] = {}
    for name, way in ways.items():
        with suppress(BudgetExceeded, InputError, IllegalSchedule), isl.within(_SECONDS):
            mapped = way()
            time = predicted(mapped.tree, mapped.scop, sizes, options, machine) if mapped else None
            if time is not None:
                times[name] = time
    return dict(sorted(times.items(), key=lambda item: item[1].seconds))


_SECONDS = 5.0


def compared(times: Mapping[str, Prediction], mapping: str) -> str:
    """The candidates with their times, the fastest first, and why another one runs, if that is how it is mapped."""
    listed = ", ".join(f"{name} {duration(time.seconds)}" for name, time in times.items())
    taken, fastest = _TAKEN.get(mapping, ""), next(iter(times.values()))
    if taken not in times or times[taken].seconds == fastest.seconds:
        return listed
    is_near = times[taken].seconds * ALIKE <= fastest.seconds
    why = "which these times do not tell from the fastest" if is_near else "as rules say that it gains"
    return f"{listed}; it runs {taken}, {why}"


_TAKEN = {
    "mapped": "as found",
    FOR_THREADS: "as found",
    **dict.fromkeys((IN_WINDOWS, COMPUTED_AGAIN), "in windows"),
    **dict.fromkeys((IN_SOURCE_ORDER, AS_FAST_IN_ORDER), "in source order"),
}
