"""Searches of kernels, and what the database holds of them."""

from __future__ import annotations

import polysched as ps
from benchmarks.polybench import KERNELS
from polysched.opt.tuning.learned.model import Example, example_of
from polysched.opt.tuning.learned.vector import compared, of_default
from polysched.results.tuned.database import Database, Measurement
from polysched.results.tuned.task import task_of


def search(name: str, dataset: str, trials: int, seconds: float | None) -> None:
    kernel = KERNELS[name]
    try:
        found = ps.tune(kernel.nest, trials=trials, seconds=seconds, sizes=kernel.sizes[dataset])
    except ps.PolyschedError as error:
        print(f"{name}: {error}", flush=True)
        return
    counts = ", ".join(f"{count} {what}" for what, count in found.counts.items() if count)
    print(f"{name}: {found.ratio:.2f}; noise {found.noise}; {counts}", flush=True)


def known(name: str, dataset: str) -> list[Measurement]:
    """What was measured of the kernel at these sizes, on this machine."""
    kernel = KERNELS[name]
    with Database() as database:
        return database.measured(task_of(kernel.nest.function, "c", ps.Options(), kernel.sizes[dataset]))


def examples_in(measured: list[Measurement]) -> list[Example]:
    """What a model learns from them, and that the default is as fast as itself."""
    found = [each for each in map(example_of, measured) if each]
    if found:
        default = of_default(found[0].features)
        found.append(Example(compared(default, default), 0.0))
    return found
