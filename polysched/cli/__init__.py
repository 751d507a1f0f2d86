"""The command line.

polysched demo                                     the walk-through, then real nests, checked and timed
polysched opt FILE.c -o OUT.c                      the file with kernels in place of its #pragma scop regions
polysched opt FILE.c --target cuda -o OUT.cu       the same as one file for nvcc
polysched show tree|deps|source|explain|expr PLACE one stage of each nest at a place: FILE.c[:FUNCTION], FILE.py:NEST
polysched show ssa|tensor|nest|source FILE.py:OP   an operator, @polysched.op, stage by stage
polysched explain PLACE|FILE|FILE:LINE             why loops are parallel, tiled, SIMD, fused or not; operations, bytes
polysched report PLACE -o report.html              one page: code, dependences, trees and pictures, with links
polysched inspect FILE.cu|PLACE                    what nvcc makes of CUDA: loops, instructions, registers, occupancy
polysched verify PLACE                             kernels against dependences and the nest interpreted, without a GPU
polysched verify FILE.cu --grid 4 --block 32 ...   races and wrong accesses of a kernel written in CUDA
"""

from __future__ import annotations

import argparse
import os
import sys

from polysched.cli import explain, inspect, opt, report, show, verify
from polysched.demo import demo
from polysched.errors import PolyschedError
from polysched.version import __version__


def main(arguments: list[str] | None = None) -> int:
    """Runs one command; the exit status is 0, 1 if `verify` finds a fault, or 2 with a message on standard error."""
    given = _parser().parse_args(arguments)
    try:
        status: int = given.run(given)
        sys.stdout.flush()
        return status
    except PolyschedError as error:
        print(error, file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader has seen enough, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="polysched",
        description="Loop nests in, proven-legal parallel kernels out.",
        epilog="example: polysched opt kernel.c -o kernel.opt.c",
    )
    parser.add_argument("--version", action="version", version=f"polysched {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    walk = commands.add_parser("demo", help="the two-loop stencil step by step, then gemm, Jacobi and Seidel timed")
    walk.set_defaults(run=_demo)
    for command in (opt, show, explain, report, inspect, verify):
        command.add(commands)
    return parser


def _demo(given: argparse.Namespace) -> int:
    demo()
    return 0
