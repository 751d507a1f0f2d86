"""`polysched verify PLACE|FILE.cu`: kernels checked, without a GPU."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from polysched.cli.attempts import Attempts
from polysched.cli.knobs import Commands, knobs, options_of, sizes_in
from polysched.cli.places import nests_of, own_sizes
from polysched.config.target import TARGETS
from polysched.errors import BudgetExceeded, InputError, LaunchError, VerificationError
from polysched.frontend.cuda.kernel import Kernel
from polysched.frontend.cuda.read import CudaFile, read_cuda
from polysched.pipeline import Compiled, optimize
from polysched.runtime.argument_texts import example_call, named_arguments
from polysched.runtime.emulated.emulate import HEADERS
from polysched.runtime.emulated.hand_written import check_cuda


def add(commands: Commands) -> None:
    parser = commands.add_parser("verify", parents=[knobs()], help="check kernels: in C, or of --target without a GPU")
    parser.add_argument("place", metavar="PLACE", help="FILE.c[:FUNCTION], FILE.py:NEST, or FILE.cu and what follows")
    parser.add_argument("--sizes", type=sizes_in, default={}, metavar="SIZES", help="of the nests, as in n=130,m=7")
    cuda = parser.add_argument_group("kernels written in CUDA")
    one = "which one, if the file has more than one; of a template, as in 'mm<16>'"
    cuda.add_argument("--kernel", metavar="NAME", help=one)
    cuda.add_argument("--grid", type=_extents, metavar="X[,Y[,Z]]", help="without, the kernels are listed")
    cuda.add_argument("--block", type=_extents, metavar="X[,Y[,Z]]", help="threads of a block")
    argument = "NAME=f32[100,20], random; NAME=[100], of its own type; NAME=FILE.npy; NAME=NUMBER; NAME.FIELD=..."
    cuda.add_argument("--arg", action="append", default=[], metavar="NAME=VALUE", help=argument)
    cuda.add_argument("--dynamic-shared", type=int, default=0, metavar="BYTES", help="of the extern __shared__ arrays")
    parser.set_defaults(run=run)


def _extents(text: str) -> tuple[int, ...]:
    if not re.fullmatch(r"\d+(,\d+){0,2}", text):
        raise argparse.ArgumentTypeError(f"'{text}' is not one to three numbers, as in 8,4")
    return tuple(int(extent) for extent in text.split(","))


def run(given: argparse.Namespace) -> int:
    """1 if something is wrong with the nests at a place, or with a kernel in a CUDA file; 2 if one of the
    nests cannot be run."""
    if given.place.endswith(".cu"):
        return _verify_cuda(given)
    if ".cu:" in given.place:
        path, _, kernel = given.place.replace(".cu:", ".cu\0", 1).partition("\0")
        if given.kernel not in (None, kernel):
            raise InputError(f"'{given.place}' names a kernel, and so does --kernel", hint="name it once")
        given.place, given.kernel = path, kernel
        return _verify_cuda(given)
    if given.arg or given.kernel or given.grid or given.block or given.dynamic_shared:
        names = "--arg, --kernel, --grid, --block and --dynamic-shared"
        raise InputError(f"{names} are for CUDA files", hint="of nests, --sizes can be given")
    status, attempts = 0, Attempts()
    nests = nests_of(given, attempts)
    for nest, sizes in zip(nests, own_sizes(nests, given), strict=True):
        with attempts:
            done = optimize(nest, given.target, options=options_of(given))
            status = max(status, _verify(done, TARGETS[given.target].language, sizes))
    return max(status, attempts.status)


def _verify(done: Compiled, language: str, sizes: dict[str, int]) -> int:
    """1 if something is wrong with the kernel, 2 if it cannot be run."""
    name = f"{done.nest.name}, {language}"
    try:
        print(f"{name}: {done.verify(**sizes)}")
        return 0
    except VerificationError as error:
        print(f"{name}: {error}")
        return 1
    except (LaunchError, BudgetExceeded) as error:  # the other nests may be smaller
        print(f"{name}: {error}", file=sys.stderr)
        return 2


def _verify_cuda(given: argparse.Namespace) -> int:
    """1 if something is wrong with the kernel; without a call of one, the kernels are listed."""
    if given.sizes:
        raise InputError("--sizes is for nests", hint="of a CUDA file, sizes are arguments: --arg n=100")
    path = Path(given.place)
    file = read_cuda(path, given.include, given.define)
    if not (given.kernel or given.grid or given.block or given.arg) and file.kernels:
        print(_listed(path, file))
        return 0
    kernel = file.kernel(given.kernel or _only_kernel(path, file))
    if given.grid is None or given.block is None:
        missing = " and ".join(f"--{name}" for name in ("grid", "block") if vars(given)[name] is None)
        raise InputError(f"{missing} must be given", hint=f"as in {_call(path, file, kernel)}")
    arguments = named_arguments(given.arg, (*kernel.parameters, *file.variables_of(kernel)))
    report = check_cuda(
        path,
        given.kernel or kernel.qualified,
        given.grid,
        given.block,
        dynamic_shared_bytes=given.dynamic_shared,
        include=given.include,
        define=given.define,
        **arguments,
    )
    print(report)
    return 0 if report.is_silent else 1


def _only_kernel(path: Path, file: CudaFile) -> str:
    if len(file.kernels) != 1:
        names = ", ".join(kernel.name for kernel in file.kernels) or "none"
        hint = "name one: --kernel NAME" if file.kernels else file.missing_headers(HEADERS)
        raise InputError(f"'{path}' has {len(file.kernels)} kernels: {names}", hint=hint)
    return file.kernels[0].qualified


def _listed(path: Path, file: CudaFile) -> str:
    """The kernels, and how each is checked."""
    count = f"{len(file.kernels)} kernel{'s' * (len(file.kernels) != 1)}"
    lines = [f"{path} has {count}; with --grid and --block, one is checked"]
    for kernel in file.kernels:
        variables = ", ".join(f"{it.type} {it.name}" for it in file.variables_of(kernel))
        lines += ["", f"{kernel.loc.file}:{kernel.loc.line}: {kernel}", f"  {_call(path, file, kernel)}"]
        lines += [f"  --arg also for variables of the device: {variables}"] if variables else []
    return "\n".join(lines)


def _call(path: Path, file: CudaFile, kernel: Kernel) -> str:
    for parameter in kernel.parameters:
        if parameter.is_deep:
            return f"cannot be checked: {parameter.name} points to pointers"
    return f"polysched verify {path} {' '.join(example_call(kernel, is_dynamic=file.is_dynamic(kernel)))}"
