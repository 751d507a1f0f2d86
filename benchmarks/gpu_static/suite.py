"""The kernels of PolyBench, one a line."""

from __future__ import annotations

import argparse
from math import prod

from benchmarks.gpu_static.inspected import HOTTEST_TITLES, figures, inspect_all
from benchmarks.polybench import KERNELS
from polysched.codegen.emit.source import Kernel
from polysched.ir.nodes import Const


def suite(args: argparse.Namespace) -> bool:
    """Prints the table; are all texts accepted, without spills?"""
    rows = inspect_all((KERNELS[name].nest for name in args.kernel), arch=args.arch, jobs=args.jobs)
    print(f"{'kernel':15}{'ms':>6}{'kernels':>9}{'1 thread':>10}  registers  spills  shared{HOTTEST_TITLES}")
    for name, row in zip(args.kernel, rows, strict=True):
        kernels = row.done.source.kernels
        print(f"{name:15}{1e3 * row.seconds:6.0f}{len(kernels):9}{sum(map(is_one_thread, kernels)):10}{figures(row)}")
    accepted = sum(row.report is not None for row in rows)
    kernels = [kernel for row in rows for kernel in row.done.source.kernels]
    print(
        f"{accepted} of {len(rows)} accepted by nvcc -arch={args.arch}, {sum(row.is_clean for row in rows)} without "
        f"spills; {len(kernels)} kernels, {sum(map(is_one_thread, kernels))} of one thread; "
        f"generation {sum(row.seconds for row in rows):.1f} s"
    )
    return all(row.is_clean for row in rows)


def is_one_thread(kernel: Kernel) -> bool:
    """Whether it is launched as one thread, whatever the sizes are."""
    return prod(kernel.block) == 1 and all(extent == Const(1) for extent in kernel.grid)
