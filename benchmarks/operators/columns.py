"""What a case comes to without the stage of the expressions ("off"), with LICM alone ("licm"), and with all of it.

    integers        integer operations that the C code executes, by its text
    sass            integer instructions of the hottest loop of the CUDA code, for one float operation
    instructions    that the C code executes, after the C compiler
    time            seconds of the C code, in turns
    gpu             seconds of the CUDA code, by the device's clock

Each column is a function of a case. Modes of which the program is the same, as the C compiler makes it, are measured
as one.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

import polysched as ps
from benchmarks.gpu_static.inspected import hottest, loop_or_all
from benchmarks.operators.cases import Case, shape_of
from benchmarks.operators.expressions import count_here
from benchmarks.operators.instructions import assembly, instructions
from benchmarks.operators.turns import in_turns, once
from polysched.config.options import Target
from polysched.counts.sass.counts import Counts
from polysched.errors import LaunchError
from polysched.ir.nodes import Function
from polysched.runtime.arguments import Binder
from polysched.runtime.gpu.cuda_driver import on_gpu

MODES = ("off", "licm", "all")
SHORT = 50e-6  # seconds without the stage, under which a case is not timed
_ARCH = "sm_90"
_LAUNCHES = 20


@dataclass(frozen=True)
class Found:
    """One column of one case: by mode a count, or seconds of several rounds; none where there is nothing to compare."""

    values: dict[str, list[float]] = field(default_factory=dict)
    unchanged: bool = False  # "off" and "all" have the same text
    note: str = ""  # why there are no values
    is_left_out: bool = False  # as it should be; else the values could not be found

    def median(self, mode: str) -> float:
        return statistics.median(self.values[mode])


UNCHANGED = Found(unchanged=True, note="unchanged", is_left_out=True)

Column = Callable[[Case, ps.Options, float], Found]  # of a case; the seconds are for rounds of time


def integers(case: Case, options: ps.Options, seconds: float) -> Found:
    counts = count_here(case, replace(options, machine=ps.Machine()))  # the same everywhere
    values = {mode: [float(count)] for mode, count in counts.executed.items()}
    return Found(values, counts.unchanged, counts.why)


def sass(case: Case, options: ps.Options, seconds: float) -> Found:
    done = _compiled(case, options, "cuda")
    return _of_each(done, _firsts(_texts(done)), _hottest_integers)


def instructions_of_c(case: Case, options: ps.Options, seconds: float) -> Found:
    done = _compiled(case, options, "c")
    arguments = _arguments(case, done["all"].nest)
    return _of_each(done, _firsts(_assemblies(done)), lambda one: float(instructions(one, arguments)))


def time(case: Case, options: ps.Options, seconds: float) -> Found:
    done = _compiled(case, options, "c")
    if _is_unchanged(done):
        return UNCHANGED
    arguments, first = _arguments(case, done["all"].nest), _firsts(_assemblies(done))
    programs = {mode: _call(done[mode], arguments) for mode in set(first.values())}
    if once(programs["off"]) < SHORT:
        return Found(note=f"under {SHORT * 1e6:.0f} us", is_left_out=True)
    samples = in_turns(programs, seconds)
    return Found({mode: samples[first[mode]] for mode in MODES})


def gpu(case: Case, options: ps.Options, seconds: float) -> Found:
    done = _compiled(case, options, "cuda")
    if _is_unchanged(done):
        return UNCHANGED
    arguments, first = _arguments(case, done["all"].nest), _firsts(_texts(done))
    samples = {mode: done[mode].time(runs=_LAUNCHES, **arguments).samples for mode in set(first.values())}
    return Found({mode: [1e-3 * each for each in samples[first[mode]]] for mode in MODES})


def has_gpu() -> bool:
    """Whether CUDA can be timed here; to be asked in a process of its own, which then has a context."""
    try:
        with on_gpu("cuda", {}):
            return True
    except LaunchError:
        return False


COLUMNS: dict[str, Column] = {
    "integers": integers,
    "sass": sass,
    "instructions": instructions_of_c,
    "time": time,
    "gpu": gpu,
}


def _compiled(case: Case, options: ps.Options, target: Target) -> dict[str, ps.Compiled]:
    """By mode; nvcc may contract a * b + c, so that multiply-adds can be counted."""
    options = replace(options, contract_floats=target == "cuda")
    nest = case.function()
    return {mode: ps.optimize(nest, target, options=replace(options, expressions=mode)) for mode in MODES}  # type: ignore[arg-type]


def _of_each(
    done: Mapping[str, ps.Compiled], first: Mapping[str, str], measure: Callable[[ps.Compiled], float]
) -> Found:
    if _is_unchanged(done):
        return UNCHANGED
    values = {mode: [measure(done[mode])] for mode in set(first.values())}
    return Found({mode: values[first[mode]] for mode in MODES})


def _is_unchanged(done: Mapping[str, ps.Compiled]) -> bool:
    return done["off"].source.text == done["all"].source.text


def _texts(done: Mapping[str, ps.Compiled]) -> dict[str, str]:
    return {mode: one.source.text for mode, one in done.items()}


def _assemblies(done: Mapping[str, ps.Compiled]) -> dict[str, str]:
    return {mode: assembly(one) for mode, one in done.items()}


def _firsts(programs: Mapping[str, str]) -> dict[str, str]:
    """Of each mode the first one with the same program, which stands for it: so that equal programs do not differ."""
    return {mode: next(other for other in MODES if programs[other] == programs[mode]) for mode in MODES}


def _hottest_integers(done: ps.Compiled) -> float:
    counts, _ = loop_or_all(hottest(done.inspect(arch=_ARCH)))
    return counts["integer"] / _work(counts)


def _work(counts: Counts) -> float:
    """What a loop, unrolled or not, is there for: float operations, of which an FMA is two, else words of memory."""
    words = sum(bits * number for (_, bits), number in counts.accesses.items()) / 32
    return float(counts.arithmetic + counts["fma"]) or math.ceil(words) or 1.0


def _arguments(case: Case, nest: Function) -> dict[str, np.ndarray]:
    return case.inputs(nest) | {"out": np.zeros(shape_of(nest, "out"), nest.array("out").dtype.numpy)}


def _call(done: ps.Compiled, arguments: Mapping[str, Any]) -> Callable[[], None]:
    """The C function on these arrays, with nothing checked at each call."""
    return partial(done.program.entry, *Binder(done.nest, done.scop.valid_sizes)(arguments).in_order)  # type: ignore[attr-defined]
