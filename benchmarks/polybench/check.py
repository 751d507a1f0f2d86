"""What polysched makes of a kernel, without timing it: `python -m benchmarks.polybench --check [--target TARGET]`.

One line a kernel: milliseconds to compile it, and in dependences, scheduling and lowering; which rungs were taken other
than the usual ones; how many of its loop nests run in parallel as a whole, `outer`, in parts, `inner`, and not at all;
and whether the program computes what the interpreted nest does.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

import polysched as ps
from benchmarks.polybench import KERNELS, Kernel, small_odd_sizes
from polysched.config.options import Target
from polysched.errors import PolyschedError
from polysched.ir.nodes import For, If, Stmt

STAGES = {"deps": "dependences", "schedule": "schedule", "lower": "lower"}


def check_all(names: Iterable[str], target: Target) -> bool:
    """Prints the lines; are all kernels right?"""
    names = list(names)
    print(
        f"{'kernel':15}{'ms':>7}"
        + "".join(f"{stage:>10}" for stage in STAGES)
        + "   nests: outer inner serial   result"
    )
    failed = 0
    for name in names:
        line, right = check(name, KERNELS[name], target)
        failed += not right
        print(line, flush=True)
    print(f"{len(names) - failed} of {len(names)} verified")
    return not failed


def check(name: str, kernel: Kernel, target: Target) -> tuple[str, bool]:
    """A line on the kernel, and whether it computes the right thing."""
    start = time.perf_counter()
    try:
        done = ps.optimize(kernel.nest, target)
    except PolyschedError as error:
        return f"{name:15}not compiled: {error}", False
    total = time.perf_counter() - start
    seconds: defaultdict[str, float] = defaultdict(float)
    for event in done.events:
        seconds[event.name] += event.seconds
    stages = "".join(f"{1e3 * seconds[step]:10.0f}" for step in STAGES.values())
    kinds = Counter(nests(done.kernel.body))
    counts = f"{kinds['outer']:12}{kinds['inner']:6}{kinds['serial']:7}"
    rungs = "".join(f", {stage}: {rung}" for stage, rung in done.fallbacks.items())
    try:
        done.verify()
        done.verify(**small_odd_sizes(kernel))
        result = "right"
    except PolyschedError as error:
        result = f"{type(error).__name__}: {error}"
    return f"{name:15}{1e3 * total:7.0f}{stages}{counts}   {result}{rungs}", result == "right"


def nests(body: tuple[Stmt, ...]) -> Iterator[str]:
    """For every outermost loop, or kernel, of a program: what of it runs in parallel."""
    for stmt in body:
        match stmt:
            case For(kind="serial"):
                yield "inner" if any(parallel(inner) for inner in stmt.body) else "serial"
            case For():
                yield "outer"
            case If(then=then, other=other):
                yield from nests((*then, *other))


def parallel(stmt: Stmt) -> bool:
    match stmt:
        case For(kind=kind, body=body):
            return kind not in ("serial", "vector") or any(parallel(inner) for inner in body)
        case If(then=then, other=other):
            return any(parallel(inner) for inner in (*then, *other))
    return False
