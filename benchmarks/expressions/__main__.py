"""What the stage for index arithmetic and conditions is worth; needs nvcc and nvdisasm, and valgrind for polybench-c.

    python -m benchmarks.expressions [TABLE ...] [--operator NAME ...] [--kernel NAME ...] [--arch sm_90] [--jobs 2]

operators        twelve operators with symbolic sizes: what a thread executes, naive and after the stage
winograd         four of Winograd's transforms with constant sizes: the same
polybench-cuda   the 30 PolyBench kernels: what their threads execute with the stage off, motion alone, and all of it
polybench-c      their C: instructions by callgrind, and times, with the stage off and on
stage-time       how much of the time to generate them the stage takes

The exit status is 1 if a version of an operator computes something else or takes more instructions than the naive one,
if a kernel is slower with the stage, or the stage takes more than a fifth of the time.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

from benchmarks.expressions.operators import OPERATORS, operators
from benchmarks.expressions.polybench_c import polybench_c
from benchmarks.expressions.polybench_cuda import polybench_cuda
from benchmarks.expressions.stage_time import stage_time
from benchmarks.expressions.winograd import winograd
from benchmarks.polybench import KERNELS

TABLES: dict[str, Callable[[argparse.Namespace], bool]] = {
    "operators": operators,
    "winograd": winograd,
    "polybench-cuda": polybench_cuda,
    "polybench-c": polybench_c,
    "stage-time": stage_time,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.expressions", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("tables", nargs="*", default=list(TABLES), metavar="TABLE", help=", ".join(TABLES))
    parser.add_argument("--operator", choices=list(OPERATORS), nargs="+", default=list(OPERATORS), metavar="NAME")
    parser.add_argument("--kernel", choices=list(KERNELS), nargs="+", default=list(KERNELS), metavar="NAME")
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--jobs", type=int, default=2, help="texts that are compiled at a time")
    args = parser.parse_args()
    if unknown := set(args.tables) - set(TABLES):
        parser.error(f"no table is called {', '.join(sorted(unknown))}; there are {', '.join(TABLES)}")
    right = True
    for table in args.tables:
        right &= TABLES[table](args)
        print(flush=True)
    raise SystemExit(not right)


if __name__ == "__main__":
    main()
