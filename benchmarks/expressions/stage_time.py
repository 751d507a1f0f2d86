"""The share of the stage for index arithmetic and conditions in the time that a kernel takes to generate."""

from __future__ import annotations

import argparse
import time
from collections import defaultdict

import polysched as ps
from benchmarks.expressions.threads import OPTIONS
from benchmarks.polybench import KERNELS
from polysched.config.options import Target
from polysched.support.trace import Event

_MOST = 0.2  # of all time
_RUNS = 3
_BEFORE = frozenset({"structure"})  # the stage's steps that are elsewhere


def stage_time(args: argparse.Namespace) -> bool:
    """Prints the table; does the stage take at most a fifth of the time, of all kernels?"""
    right = True
    targets: tuple[Target, ...] = ("c", "cuda")
    for target in targets:
        print(f"{target}: milliseconds in all and of the stage, the fastest of {_RUNS}; its costliest passes")
        total = spent = 0.0
        for name in args.kernel:
            seconds, passes = min((_timed(name, target) for _ in range(_RUNS)), key=lambda timed: timed[0])
            mine = sum(passes.values())
            total, spent = total + seconds, spent + mine
            costliest = ", ".join(
                f"{step} {1e3 * each:.1f}" for step, each in sorted(passes.items(), key=lambda one: -one[1])[:4]
            )
            print(f"{name:15}{1e3 * seconds:9.1f}{1e3 * mine:9.1f}{mine / seconds:8.1%}   {costliest}")
        print(f"{'all':15}{1e3 * total:9.1f}{1e3 * spent:9.1f}{spent / total:8.1%}   asked for: at most {_MOST:.0%}")
        right &= spent <= _MOST * total
    return right


def _timed(name: str, target: Target) -> tuple[float, dict[str, float]]:
    start = time.perf_counter()
    done = ps.optimize(KERNELS[name].nest, target, options=OPTIONS)
    seconds = time.perf_counter() - start
    passes: defaultdict[str, float] = defaultdict(float)
    for event in stage_events(done.events):
        passes[event.name] += event.seconds
    return seconds, passes


def stage_events(events: tuple[Event, ...]) -> list[Event]:
    """The steps of the stage: all between `linearize` and `emit`, and those that work on the nest before."""
    names = [event.name for event in events]
    first, last = names.index("linearize") + 1, names.index("emit")
    return [*(event for event in events[:first] if event.name in _BEFORE), *events[first:last]]
