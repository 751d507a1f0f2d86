"""`polysched verify PLACE|FILE.cu`: kernels checked, without a GPU."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from polysched.cli.knobs import Commands, knobs, options_of, sizes
from polysched.cli.places import nests_of
from polysched.errors import InputError, LaunchError
from polysched.options import LANGUAGES
from polysched.pipeline import optimize
from polysched.runtime.hand_written import check_cuda, kernels_of, named_arguments
from polysched.verify import VerificationError


def add(commands: Commands) -> None:
    parser = commands.add_parser("verify", parents=[knobs(None)], help="check kernels, of any target; needs no GPU")
    parser.add_argument("place", metavar="PLACE", help="FILE.c[:FUNCTION], FILE.py:NEST, or FILE.cu and what follows")
    parser.add_argument("--sizes", type=sizes, default={}, metavar="SIZES", help="of the nests, as in n=130,m=7")
    cuda = parser.add_argument_group("kernels written in CUDA")
    one = "which one, if the file has more than one; of a template, as in 'mm<16>'"
    cuda.add_argument("--kernel", metavar="NAME", help=one)
    cuda.add_argument("--grid", type=_extents, metavar="X[,Y[,Z]]", help="blocks; required")
    cuda.add_argument("--block", type=_extents, metavar="X[,Y[,Z]]", help="threads of a block; required")
    argument = "NAME=f32[100,20], random numbers; NAME=FILE.npy; or NAME=NUMBER"
    cuda.add_argument("--arg", action="append", default=[], metavar="NAME=VALUE", help=argument)
    cuda.add_argument("--dynamic-shared", type=int, default=0, metavar="BYTES", help="of the extern __shared__ arrays")
    parser.set_defaults(run=run)


def _extents(text: str) -> tuple[int, ...]:
    if not re.fullmatch(r"\d+(,\d+){0,2}", text):
        raise argparse.ArgumentTypeError(f"'{text}' is not one to three numbers, as in 8,4")
    return tuple(int(extent) for extent in text.split(","))


def run(given: argparse.Namespace) -> int:
    """1 if something is wrong with the nests at a place on any target, or with a kernel in a CUDA file; 2 if one of the
    nests cannot be run."""
    if given.place.endswith(".cu"):
        return _verify_cuda(given)
    if given.arg or given.kernel or given.grid or given.block or given.dynamic_shared:
        names = "--arg, --kernel, --grid, --block and --dynamic-shared"
        raise InputError(f"{names} are for CUDA files", hint="of nests, --sizes can be given")
    status = 0
    for nest in nests_of(given):
        for target in LANGUAGES if given.target is None else (given.target,):
            done = optimize(nest, target, options=options_of(given))
            try:
                verdict = str(done.verify(**given.sizes))
            except VerificationError as error:
                verdict, status = str(error), max(status, 1)
            except LaunchError as error:  # the other nests may be smaller
                print(f"{done.nest.name}, {LANGUAGES[target]}: {error}", file=sys.stderr)
                status = 2
                continue
            print(f"{done.nest.name}, {LANGUAGES[target]}: {verdict}")
    return status


def _verify_cuda(given: argparse.Namespace) -> int:
    if given.include or given.define:
        raise InputError("-I and -D are for C", hint="what a CUDA file includes by quotes is read beside it")
    if given.sizes:
        raise InputError("--sizes is for nests", hint="of a CUDA file, sizes are arguments: --arg n=100")
    path = Path(given.place)
    kernel = given.kernel or only_kernel(path)
    if given.grid is None or given.block is None:
        missing = " and ".join(f"--{name}" for name in ("grid", "block") if vars(given)[name] is None)
        raise InputError(f"{missing} must be given", hint=f"as in {path} --grid 4 --block 32,8")
    arguments = named_arguments(given.arg)
    report = check_cuda(path, kernel, given.grid, given.block, dynamic_shared_bytes=given.dynamic_shared, **arguments)
    print(report)
    return 0 if report.is_silent else 1
