"""How long a kernel takes here, beside its nest in source order with SIMD, on random data of a typical size."""

from __future__ import annotations

import os
from dataclasses import replace

from polysched.check.trials.data import Source
from polysched.config.target import TARGETS
from polysched.cost.prediction import duration
from polysched.cost.sizes import typical_sizes
from polysched.errors import BudgetExceeded, InputError, LaunchError, ToolchainError
from polysched.ir.text import in_words
from polysched.pipeline import optimize
from polysched.results.compiled import Compiled


def measured(done: Compiled) -> str:
    """As in `at n = 128: as found 1.02 ms, in source order 4.1 ms`, or why there is no such figure."""
    if TARGETS[done.source.target].has_grid:
        return "not for GPUs"
    sizes = typical_sizes(done.nest, done.valid_sizes, done.options.machine)
    drawn = (data.arguments for data in Source(done.nest, 0).candidates(sizes or {}) if data.is_proven)
    if sizes is None or (data := next(drawn, None)) is None:
        return "no: no data are known to be valid"
    plain = replace(done.options, scheduler="source", tile=False, wavefront=False, register_tiles=False, parallel=False)
    try:
        ours, source = done.time(**data), optimize(done.nest, options=plain).time(**data)
    except (BudgetExceeded, InputError, LaunchError, ToolchainError) as error:
        return f"no: {error}"
    at = f"at {in_words(sizes)}: " if sizes else ""
    found, in_order = duration(1e-3 * ours.min), duration(1e-3 * source.min)
    return f"{at}as found {found}, in source order {in_order}, the least of ten runs each, at a load of {_load()}"


def _load() -> str:
    """Of the machine: threads that wait for a processor make others wait at each barrier."""
    return f"{os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
