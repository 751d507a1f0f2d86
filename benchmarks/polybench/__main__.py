"""PolyBench's kernels: timed against gcc and others, verified, or checked for races.

    python -m benchmarks.polybench --dataset large [--runs 5] [--threads 1 2]     timing.py
    python -m benchmarks.polybench --files DIR [--layout default c99 stack]       files.py
    python -m benchmarks.polybench --rivals [--dataset large]                     rivals.py
    python -m benchmarks.polybench --race                                         race.py
    python -m benchmarks.polybench --check [--target c|cuda|opencl]               check.py

--kernel NAME ... takes some kernels only; --set FIELD=VALUE ... sets fields of Options.
The exit status is 1 if a kernel is not right.
"""

from __future__ import annotations

import argparse
import ast
from dataclasses import fields
from pathlib import Path
from typing import Any

import polysched as ps
from benchmarks.polybench import KERNELS
from benchmarks.polybench.check import check_all
from benchmarks.polybench.files import LAYOUTS, time_files
from benchmarks.polybench.race import find_races
from benchmarks.polybench.rivals import time_rivals
from benchmarks.polybench.sizes import SETS
from benchmarks.polybench.timing import time_all

ORIGIN = "ours is compiled from the Python nest, from the C file, or is the C file as `polysched opt` rewrites it"


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.polybench", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--dataset", choices=SETS, default="large", help="the sizes to time")
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--files", type=Path, metavar="DIR", help="time PolyBench/C's own files, which are in DIR")
    mode.add_argument("--rivals", action="store_true", help="time numpy and numba too")
    mode.add_argument("--race", action="store_true", help="look for races in the generated OpenMP")
    mode.add_argument("--check", action="store_true", help="compile and verify, without timing runs")
    parser.add_argument("--kernel", choices=list(KERNELS), nargs="+", default=list(KERNELS), metavar="NAME")
    parser.add_argument("--target", choices=("c", "cuda", "opencl"), default="c", help="with --check")
    parser.add_argument("--runs", type=int, default=5, help="samples of each contestant")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="ours, on these numbers of threads")
    parser.add_argument("--from", choices=("python", "c", "opt"), default="python", dest="origin", help=ORIGIN)
    parser.add_argument("--layout", choices=LAYOUTS, nargs="+", default=["default"], help="with --files")
    parser.add_argument("--restrict", action="store_true", help="with --files: arrays are restrict, for both")
    parser.add_argument("--symbolic", action="store_true", help="gcc does not know the sizes either")
    parser.add_argument("--set", type=_setting, nargs="+", default=[], dest="settings", metavar="FIELD=VALUE")
    args = parser.parse_args()
    options = _options(args.settings)
    if args.check:
        right = check_all(args.kernel, args.target)
    elif args.race:
        right = find_races(args.kernel, options)
    elif args.files:
        right = time_files(
            args.files,
            args.kernel,
            args.dataset,
            layouts=args.layout,
            restrict=args.restrict,
            runs=args.runs,
            threads=args.threads,
        )
    elif args.rivals:
        right = time_rivals(args.kernel, args.dataset, runs=args.runs, threads=max(args.threads), options=options)
    else:
        right = time_all(
            args.kernel,
            args.dataset,
            runs=args.runs,
            threads=args.threads,
            options=options,
            origin=args.origin,
            symbolic=args.symbolic,
        )
    raise SystemExit(not right)


def _setting(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or name not in {field.name for field in fields(ps.Options)}:
        raise argparse.ArgumentTypeError(f"'{text}' is not FIELD=VALUE with a field of polysched.Options")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value


def _options(settings: list[tuple[str, Any]]) -> ps.Options:
    """gcc contracts a * b + c by itself, so ours may too."""
    known = {field.name for field in fields(ps.Options)}
    contract = {"contract_floats": True} if "contract_floats" in known else {}
    return ps.Options(**contract | dict(settings))


if __name__ == "__main__":
    main()
