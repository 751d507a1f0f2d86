"""`ps.tune`: a search for a faster schedule of a nest, by measuring, whose results stay in the database."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import inf
from types import MappingProxyType

from polysched.config.machine import machine
from polysched.config.options import Options, Target, require_options
from polysched.config.target import TARGETS, require_known
from polysched.cost.sizes import typical_sizes
from polysched.counts.count import require_sizes
from polysched.errors import InputError
from polysched.frontend.op.op import Op
from polysched.frontend.python import Nest
from polysched.ir.defaults import without_contents
from polysched.ir.nodes import LARGEST_SIZE, Function
from polysched.opt.tuning.build import Job, space_with
from polysched.opt.tuning.cluster.crew import Cluster, OnCluster
from polysched.opt.tuning.crew import AtHome, Crew
from polysched.opt.tuning.report import Progress, Tuning
from polysched.opt.tuning.static import Static, nowhere
from polysched.opt.tuning.tuner import Tuner
from polysched.plan.prepare import function_of
from polysched.results.tuned.database import Database
from polysched.results.tuned.task import Place, task_of
from polysched.strategy.decision import Value
from polysched.support import isl
from polysched.support.clock import Deadline
from polysched.support.entry import entry

_NO_PINS: Mapping[str, Value] = MappingProxyType({})


@entry
def tune(
    nest: Nest | Op | Function,
    target: Target = "c",
    *,
    trials: int = 50,
    seconds: float | None = None,
    sizes: Mapping[str, int] | None = None,
    pinned: Mapping[str, Value] = _NO_PINS,
    seed: int = 0,
    options: Options | None = None,
    progress: Callable[[Progress], object] | None = None,
    cluster: Cluster | None = None,
) -> Tuning:
    """The fastest schedule for the nest that a search finds, kept for `optimize` with `Options(tuned="use")`.

    Kernels are built side by side and timed alone, in turns with the default, at `sizes`; those not given are large.
    Each is kept in the database as soon as it is measured. `trials` counts those there, so that the same call goes on
    where another one was stopped, by `seconds` or a Ctrl-C. `seed` decides what is drawn, and `pinned` has answers that
    stay as they are. The winner is measured again; only if it is faster for sure then, too, it is the best. With a
    `ps.Cluster`, its workers build and time, for their machine; the database is here.

    For CUDA, nothing is timed yet: a static estimate by what nvcc makes of kernels takes the place of time, is named as
    such, and is not taken by `optimize`.

    InputError for a nest without decisions, for sizes that it does not have, and for other GPUs; LaunchError if no data
    are known to be valid; ToolchainError without a C compiler, or without nvcc for CUDA.
    """
    given = Options() if options is None else options
    require_options(given)
    require_known(target)
    if cluster is not None and not isinstance(cluster, Cluster):
        raise InputError(f"cluster is {cluster!r}, but is a ps.Cluster")
    options, kept = _options(replace(given, tuned="ignore"), cluster)
    if TARGETS[target].has_grid and (cluster or not TARGETS[target].has_sass):
        hint = "tune it for the target 'c', or for 'cuda' by counts: ps.tune(nest, 'cuda')"
        raise InputError(f"kernels are timed on the CPU alone, and this is {TARGETS[target].language}", hint=hint)
    if isinstance(trials, bool) or not isinstance(trials, int) or trials < 0:
        raise InputError(f"trials is {trials!r}, but is a number of kernels, zero or more")
    function = without_contents(function_of(nest))
    decisions = space_with(function, target, options, pinned)
    at = _sizes(function, decisions.schedule.draft.scop.valid_sizes, options, sizes or {})
    job = Job(function, target, options, at, dict(pinned))
    with Database() as database:
        place, crew = _crew(job, seed, cluster)
        task = task_of(function, target, kept, at, place)
        tuner = Tuner(job, decisions, task, database, trials, seed, progress or _silent)
        return tuner.run(crew, Deadline.after(inf if seconds is None else seconds))


def _options(given: Options, cluster: Cluster | None) -> tuple[Options, Options]:
    """Those that schedules are made by, on a cluster for its machine; and those that they are kept for, in which a
    machine that is the usual one where kernels are timed is no option."""
    if cluster and given.machine in (machine(), cluster.advert.machine):
        return replace(given, machine=cluster.advert.machine), replace(given, machine=machine())
    return given, given


def _crew(job: Job, seed: int, cluster: Cluster | None) -> tuple[Place | None, Crew]:
    """Who works, and for which place if not for this one."""
    if TARGETS[job.target].has_grid:
        return nowhere(job.options), Static(job)
    if cluster:
        return cluster.advert.place, OnCluster(job, seed, cluster)
    return None, AtHome(job, seed)


def _sizes(nest: Function, valid: isl.Set, options: Options, given: Mapping[str, int]) -> dict[str, int]:
    """Those that are given, and large ones for the others."""
    require_sizes(nest, given)
    for name, size in given.items():
        if isinstance(size, bool) or not isinstance(size, int) or not 0 <= size <= LARGEST_SIZE:
            raise InputError(f"{name} is {size!r}, but is an integer from 0 to 2**56")
    found = typical_sizes(nest, valid, options.machine, given)
    if found is None:
        raise InputError(f"no sizes were found for which '{nest.name}' stays in its arrays")
    return {name: found[name] for name in nest.sizes}


def _silent(_: Progress) -> None:
    pass
