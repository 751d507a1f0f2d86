"""The command line.

polysched demo                                     the walk-through, then real nests, checked and timed
polysched opt FILE.c -o OUT.c                      the file with kernels in place of its #pragma scop regions
polysched opt FILE.c --target cuda -o OUT.cu       the same as one file for nvcc
polysched cc -- gcc -O3 -c FILE.c ...                in place of a compiler: kernels where they gain, no pragmas
polysched build MODEL.onnx -o DIR                  a network as one C file with its weights and an example
polysched show tree|script|decisions|deps|... PLACE one stage of each nest at a place: FILE.c[:FUNCTION], FILE.py:NEST
polysched show ssa|tensor|nest|source FILE.py:OP   an operator, @polysched.op, stage by stage
polysched explain PLACE|FILE|FILE:LINE             why loops are parallel, tiled, SIMD, fused or not; operations, bytes
polysched report PLACE -o report.html              one page: code, dependences, trees and pictures, with links
polysched inspect FILE.cu|PLACE                    what nvcc makes of CUDA: loops, instructions, registers, occupancy
polysched tune PLACE [--trials 50] [--sizes ...]   faster schedules, by measuring; --tuned use takes what was found
polysched db list|export|merge|prune               what was measured
polysched calibrate                                the rates of this machine, measured and kept for predictions
polysched doctor                                   compilers, libraries and devices: what is there, what is missing
polysched verify PLACE                             kernels against dependences and the nest interpreted, without a GPU
polysched verify FILE.cu --grid 4 --block 32 ...   races and wrong accesses of a kernel written in CUDA
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from polysched.cli import build, cc, demo, doctor, explain, inspect, opt, report, show, verify
from polysched.cli.measuring import calibrate, db, tune
from polysched.cli.streams import run_in_streams
from polysched.support.version import __version__


def main(arguments: list[str] | None = None) -> int:
    """Runs one command; the exit status is 0, 1 if `verify` finds a fault, 130 after a Ctrl-C, 141 if nobody reads the
    output, or 2 with a message on standard error."""
    return run_in_streams(lambda: _run(arguments))


def _run(arguments: list[str] | None) -> int:
    given = _parser().parse_args(arguments)
    status: int = given.run(given)
    return status


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="polysched",
        description="Loop nests in, proven-legal parallel kernels out.",
        epilog="example: polysched opt kernel.c -o kernel.opt.c",
    )
    parser.add_argument("--version", action="version", version=f"polysched {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    walk = commands.add_parser("demo", help="the two-loop stencil step by step, then gemm, Jacobi and Seidel timed")
    walk.set_defaults(run=_demo)
    for command in (opt, cc, show, explain, report, inspect, verify, tune, db, calibrate, doctor, build):
        command.add(commands)
    return parser


class _Parser(argparse.ArgumentParser):
    def _print_message(self, message: str, file: Any = None) -> None:
        """argparse has it that help which cannot be written was written."""
        (file or sys.stderr).write(message)


def _demo(given: argparse.Namespace) -> int:
    demo.demo()
    return 0
