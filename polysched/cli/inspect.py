"""`polysched inspect FILE.cu|PLACE`: what nvcc makes of CUDA."""

from __future__ import annotations

import argparse
import shlex
from dataclasses import replace
from pathlib import Path

from polysched.cli.attempts import Attempts
from polysched.cli.knobs import Commands, knobs, options_of, sizes_in
from polysched.cli.places import nests_of, own_sizes
from polysched.config.target import TARGETS
from polysched.counts.sass.inspect import flags_of, inspect
from polysched.counts.sass.report import Report
from polysched.counts.sass.toolkit import DEFAULT_ARCH
from polysched.errors import InputError
from polysched.pipeline import optimize


def add(commands: Commands) -> None:
    parser = commands.add_parser("inspect", parents=[knobs("cuda")], help="say what nvcc makes of CUDA; needs no GPU")
    parser.add_argument("place", metavar="FILE.cu", help="CUDA; or FILE.c[:FUNCTION] or FILE.py:NEST, compiled to CUDA")
    parser.add_argument("--arch", default=DEFAULT_ARCH, help=f"the GPU to compile for, as in {DEFAULT_ARCH}")
    flags = "for nvcc, as in --flags='-O2 -fmad=false'; without it, those that polysched has put in the first line"
    parser.add_argument("--flags", type=shlex.split, help=flags)
    parser.add_argument("--kernel", metavar="NAME", help="one kernel, as the text calls it")
    parser.add_argument("--threads", type=int, metavar="N", help="threads of a block, for kernels that state no bound")
    at = "what a thread executes at these sizes, as in n=512,m=64; for FILE.c and FILE.py"
    parser.add_argument("--sizes", type=sizes_in, default={}, metavar="SIZES", help=at)
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """The figures of a CUDA file, or of what the nests at a place are compiled to; 2 if one of these is refused."""
    if not TARGETS[given.target].has_sass:
        raise InputError(f"inspect reads CUDA, not {TARGETS[given.target].language}", hint="leave --target out")
    if given.threads is not None and given.threads < 1:
        raise InputError(f"--threads is {given.threads}, but a block has one or more")
    if given.place.endswith(".cu"):
        if given.sizes:
            raise InputError("--sizes is for nests, whose launches are known", hint="give FILE.c or FILE.py:NEST")
        _print_report(_inspect_cuda(given), given.kernel)
        return 0
    attempts = Attempts()
    nests = nests_of(given, attempts)
    flags = None if given.flags is None else tuple(given.flags)
    found = []
    for nest, own in zip(nests, own_sizes(nests, given), strict=True):
        with attempts:
            done = optimize(nest, "cuda", options=options_of(given))
            found.append((done, done.inspect(arch=given.arch, flags=flags), own))
    if found:
        kernels = tuple(kernel for _, report, _ in found for kernel in report.kernels)
        _print_report(replace(found[0][1], kernels=kernels), given.kernel)
    for done, report, own in found if given.sizes else ():
        counted = done.count_instructions(report, **own)
        print(*(str(one) for name, one in counted.items() if given.kernel in (None, name)), sep="\n")
    return attempts.status


def _print_report(report: Report, kernel: str | None) -> None:
    print(report if kernel is None else f"{report.heading}\n\n{report[kernel]}")


def _inspect_cuda(given: argparse.Namespace) -> Report:
    path = Path(given.place)
    if not path.is_file():
        raise InputError(f"there is no file '{path}'")
    folders = [f"-I{Path(folder).resolve()}" for folder in given.include]
    text = path.read_text()
    flags = flags_of(text) if given.flags is None else given.flags
    flags = (*flags, *folders, *(f"-D{macro}" for macro in given.define))
    return inspect(text, path.name, arch=given.arch, flags=flags, threads=given.threads, include=path.parent)
