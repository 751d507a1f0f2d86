"""How compile time grows with a program: `python -m benchmarks.stages` compiles chains of 10, 30 and 100 stencils.

Stage s reads what stage s - 1 has written, each on a grid of its own:

    for i in range(1, n - 1):
        a3[i] = 0.25 * a2[i - 1] + 0.5 * a2[i] + 0.25 * a2[i + 1]

Prints seconds in all and in the costliest stages of the compiler, and the exponent e of time ~ length^e from each
length to the next; 2 is quadratic.
"""

from __future__ import annotations

import argparse
import math
import time
from collections import defaultdict

import polysched as ps
from polysched.ir.dtypes import f64
from polysched.ir.nodes import Array, Binary, Const, Expr, For, Function, Load, Store, Var

LENGTHS = (10, 30, 100)
STAGES = ("dependences", "schedule", "legality", "tile", "lower", "normalize", "emit")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.stages", description=__doc__.partition("\n")[0])
    parser.add_argument("--lengths", type=int, nargs="+", default=list(LENGTHS))
    parser.add_argument("--dimensions", type=int, nargs="+", choices=(1, 2), default=[1, 2])
    args = parser.parse_args()
    print(f"{'chain':>12}{'seconds':>10}{'exponent':>10}" + "".join(f"{name:>13}" for name in STAGES) + "   rungs")
    ps.optimize(chain(2, 1))  # so that what only the first compilation does is done
    for dimensions in args.dimensions:
        before: tuple[float, float] | None = None
        for length in args.lengths:
            start = time.perf_counter()
            done = ps.optimize(chain(length, dimensions))
            seconds = time.perf_counter() - start
            exponent = f"{math.log(seconds / before[1]) / math.log(length / before[0]):.2f}" if before else ""
            spent: defaultdict[str, float] = defaultdict(float)
            for event in done.events:
                spent[event.name] += event.seconds
            columns = "".join(f"{spent[name]:13.3f}" for name in STAGES)
            rungs = ", ".join(rung.partition(", since ")[0] for rung in done.rungs.values())
            print(f"{length:8} {dimensions}-d{seconds:10.2f}{exponent:>10}{columns}   {rungs}", flush=True)
            before = float(length), seconds


def chain(length: int, dimensions: int) -> Function:
    """A nest of `length` stencils on grids of n, or n by n, each of which reads the one before."""
    n = Var("n")
    arrays = tuple(Array(f"a{stage}", f64, (n,) * dimensions) for stage in range(length + 1))
    stencils = tuple(_stencil(stage, dimensions, n) for stage in range(1, length + 1))
    return Function("chain", ("n",), arrays, stencils)


def _stencil(stage: int, dimensions: int, n: Expr) -> For:
    names = ("i", "j")[:dimensions]
    here = tuple(Var(name) for name in names)

    def weighted(weight: float, axis: int, offset: int) -> Expr:
        index = tuple(
            Binary("+", var, Const(offset)) if position == axis and offset else var for position, var in enumerate(here)
        )
        return Binary("*", Const(weight, f64), Load(f"a{stage - 1}", index, f64))

    share = 0.5 / (2 * dimensions)
    value = weighted(0.5, 0, 0)
    for axis in range(dimensions):
        for offset in (-1, 1):
            value = Binary("+", value, weighted(share, axis, offset))
    loop: For | Store = Store(f"a{stage}", here, value)
    for name in reversed(names):
        loop = For(name, Const(1), Binary("-", n, Const(1)), 1, (loop,))
    assert isinstance(loop, For)
    return loop


if __name__ == "__main__":
    main()
