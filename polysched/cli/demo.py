"""The main job on real nests: the two-loop stencil step by step, then three classics checked and timed.

    polysched demo
"""

from __future__ import annotations

import statistics
import time
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np

from polysched.check.trials.data import Source
from polysched.config.options import Options
from polysched.errors import ToolchainError
from polysched.frontend.python import Nest
from polysched.ir.text import show
from polysched.model.tree.text import show_tree
from polysched.operators.examples import gemm, jacobi_2d, seidel_2d, stencil
from polysched.pipeline import Compiled, optimize

TIMED: tuple[tuple[Nest, dict[str, int]], ...] = (
    (gemm, {"n": 1024}),
    (jacobi_2d, {"tsteps": 100, "n": 1300}),
    (seidel_2d, {"tsteps": 50, "n": 1000}),
)
RUNS = 5
OURS = Options(contract_floats=False)  # every operation is rounded, so that results have the same bits
SOURCE_ORDER = replace(OURS, scheduler="source", tile=False, wavefront=False, vector=False, parallel=False)


def demo() -> None:
    """Prints the walk-through and the table; AssertionError if a result differs from source order."""
    walk_through()
    _title("real nests: ours against source order, same compiler and flags")
    print(f"{'nest':<11}{'sizes':<22}{'compile':>9}{'source order':>15}{'ours':>10}{'speed-up':>10}   result")
    for nest, sizes in TIMED:
        print(_row(nest, sizes))


def walk_through() -> None:
    """The stages of the two-loop stencil, printed."""
    done = optimize(stencil)
    _title("the nest")
    print(show(done.nest))
    _title("model: domain, accesses, source order")
    for statement in done.scop.statements:
        print(f"domain  {statement.domain}")
        for kind, accesses in (("read", statement.reads), ("write", statement.writes)):
            for access in accesses:
                print(f"{kind:<7} {access.relation}")
    print(show_tree(done.scop.tree))
    _title("dependences")
    for dependence in done.dependences.pairs:
        print(dependence)
    for k, solve in enumerate(done.scheduled.solves):
        _title(f"hyperplane {k + 1}: the ILP's rows")
        print("\n".join(solve.written))
        print(f"lexmin  {_solution(solve.solution)}")
        for distance in solve.distances:
            print(f"        {distance}")
    _title("schedule")
    print(show_tree(done.scheduled.tree))
    print(done.explain())
    _title("schedule, tiled in diamonds, with wavefronts of tiles on threads")
    print(done.tree)
    _title("C")
    print(done.source)
    print(f"verified: {done.verify()}")
    _title("CUDA")
    cuda = optimize(stencil, target="cuda")
    print(cuda.source)
    try:
        print(f"verified on the CPU: {cuda.verify()}")
    except ToolchainError as error:  # C is enough for all else
        print(f"not verified on the CPU: {error}")


def _solution(values: Any) -> str:
    return "(" + ", ".join(values) + ") = (" + ", ".join(str(value) for value in values.values()) + ")"


def _row(nest: Nest, sizes: dict[str, int]) -> str:
    """One line of the table: medians of interleaved runs."""
    ours = optimize(nest, options=OURS)
    compiled = sum(event.seconds for event in ours.events)  # also where an earlier process has done it
    theirs = optimize(nest, options=SOURCE_ORDER)
    arguments = next(Source(ours.nest).candidates(sizes)).arguments
    results = [_timed(program, arguments)[1] for program in (theirs, ours)]  # also the warm-up
    same = all(np.array_equal(one, other) for one, other in zip(*(result.values() for result in results), strict=True))
    assert same, f"{nest.name}: results differ from source order"
    times = [[_timed(program, arguments)[0] for program in (theirs, ours)] for _ in range(RUNS)]
    source_order, optimized = (statistics.median(column) for column in zip(*times, strict=True))
    shown = ", ".join(f"{name}={value}" for name, value in sizes.items())
    return (
        f"{nest.name:<11}{shown:<22}{1e3 * compiled:>6.0f} ms{source_order:>13.3f} s{optimized:>8.3f} s"
        f"{source_order / optimized:>9.2f}x   bit-equal"
    )


def _timed(program: Compiled, arguments: dict[str, Any]) -> tuple[float, dict[str, Any]]:
    """Seconds of one run on copies, and the copies after it."""
    copies = deepcopy(arguments)
    start = time.perf_counter()
    program(**copies)
    return time.perf_counter() - start, copies


def _title(text: str) -> None:
    print(f"\n=== {text}\n")
