"""Products of matrices and a convolution: their hottest loops, and the blocks of what has constant sizes.

A good product: an FMA share of 0.75, at most 0.1 integer instructions and 0.25 LDS an FMA, no branch but the jump back.
A good convolution: at least 132 blocks, one for each multiprocessor of an H100 or H200, coalesced loads, outputs in
registers.
"""

from __future__ import annotations

import argparse
from math import prod

import polysched as ps
from benchmarks.gpu_static.inspected import HOTTEST_TITLES, Inspected, figures, hottest, inspect_all
from benchmarks.operators.nests import conv2d, product_f32, product_f64
from polysched.ir.interp import evaluate


def products(args: argparse.Namespace) -> bool:
    """Prints the table; are all texts accepted, without spills?"""
    return _table({"gemm double": product_f64, "gemm float": product_f32}, args)


def convolution(args: argparse.Namespace) -> bool:
    """Prints the table; is the text accepted, without spills?"""
    return _table({"conv2d": conv2d}, args)


def _table(nests: dict[str, ps.Nest], args: argparse.Namespace) -> bool:
    rows = inspect_all(nests.values(), arch=args.arch, jobs=args.jobs)
    print(f"{'nest':15}{'blocks':>8}  registers  spills  shared{HOTTEST_TITLES}")
    for name, row in zip(nests, rows, strict=True):
        print(f"{name:15}{_blocks(row):>8}{figures(row)}")
    return all(row.is_clean for row in rows)


def _blocks(row: Inspected) -> str:
    """Of the kernel with the hottest loop, where no size is symbolic."""
    if row.report is None or row.done.nest.sizes:
        return "-"
    name = hottest(row.report).name
    grid = next(kernel.grid for kernel in row.done.source.kernels if name in (kernel.name, kernel.wide))
    return str(prod(int(evaluate(extent, {})) for extent in grid))
