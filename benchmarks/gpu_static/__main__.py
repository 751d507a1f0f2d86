"""What the generated CUDA is worth, told without a GPU; nvcc and nvdisasm are needed: pip install "polysched[inspect]".

    python -m benchmarks.gpu_static [TABLE ...] [--kernel NAME ...] [--arch sm_90] [--jobs 2]

suite       the 30 PolyBench kernels: generation, what nvcc accepts, registers, spills, the hottest loop
integers    integer instructions for one instance of the innermost statement, without nvcc's unrolling
gemm        the hottest loop of a product of matrices, in double and in float
conv2d      the same of a convolution, NCHW, batch 8, 64 channels, 56 x 56, 3 x 3; and its blocks
threads     what a thread executes at PolyBench's medium sizes
stencils    time tiles of stencils: traffic, work done twice, launches, and the time that is predicted
traffic     sectors and bank conflicts of memory accesses, by the checker, at small sizes

Sizes are symbolic but in conv2d. nvcc may contract a * b + c, its default, so that multiply-adds can be counted. The
exit status is 1 if nvcc refuses a text, or a kernel spills.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

from benchmarks.gpu_static.integers import integers
from benchmarks.gpu_static.operators import convolution, products
from benchmarks.gpu_static.stencils import stencils
from benchmarks.gpu_static.suite import suite
from benchmarks.gpu_static.threads import threads
from benchmarks.gpu_static.traffic import traffic
from benchmarks.polybench import KERNELS

TABLES: dict[str, Callable[[argparse.Namespace], bool]] = {
    "suite": suite,
    "integers": integers,
    "gemm": products,
    "conv2d": convolution,
    "threads": threads,
    "traffic": traffic,
    "stencils": stencils,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.gpu_static", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("tables", nargs="*", default=list(TABLES), metavar="TABLE", help=", ".join(TABLES))
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
