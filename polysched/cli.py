"""The command line.

polysched demo                                     the walk-through, then real nests, checked and timed
polysched opt FILE.c -o OUT.c                      the file with kernels in place of its #pragma scop regions
polysched show tree|deps|source|explain PLACE      one stage of each nest at a place: FILE.c[:FUNCTION], FILE.py:NEST
polysched explain PLACE                            why each loop is parallel or not
"""

from __future__ import annotations

import argparse
import os
import re
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path

from polysched.demo import demo
from polysched.errors import InputError, Loc, PolyschedError
from polysched.frontend.c.read import read_c
from polysched.frontend.c.region import Region
from polysched.frontend.python import Nest
from polysched.ir.nodes import Function
from polysched.opt import rewrite, write
from polysched.options import LANGUAGES, Options
from polysched.pipeline import Compiled, optimize
from polysched.version import __version__


def main(arguments: list[str] | None = None) -> int:
    """Runs one command; the exit status is 0, or 2 with a message on standard error."""
    given = _parser().parse_args(arguments)
    try:
        match given.command:
            case "demo":
                demo()
            case "opt":
                _opt(given)
            case "show" | "explain":
                _show(given)
        sys.stdout.flush()
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
    commands.add_parser("demo", help="the two-loop stencil step by step, then gemm, Jacobi and Seidel timed")
    knobs = _knobs()
    opt = commands.add_parser("opt", parents=[knobs], help="replace the #pragma scop regions of a C file by kernels")
    opt.add_argument("file", metavar="FILE.c")
    opt.add_argument("-o", dest="out", metavar="OUT.c", help="the file to write; without it, standard output")
    opt.add_argument("-v", "--verbose", action="store_true", help="say on standard error what each region became")
    show = commands.add_parser("show", parents=[knobs], help="print one stage of each nest")
    show.add_argument(
        "what",
        choices=["tree", "deps", "source", "explain"],
        help="the mapped schedule, the exact dependences, the kernel's text, or why loops are parallel or not",
    )
    explain = commands.add_parser("explain", parents=[knobs], help="say why each loop is parallel or not")
    explain.set_defaults(what="explain")
    for command in (show, explain):
        command.add_argument("place", metavar="PLACE", help="FILE.c[:FUNCTION], or FILE.py:NEST, a @polysched.nest")
    return parser


def _knobs() -> argparse.ArgumentParser:
    """What every command that compiles takes."""
    knobs = argparse.ArgumentParser(add_help=False)
    knobs.add_argument("--target", choices=list(LANGUAGES), default="c", help="what to print kernels in; c has OpenMP")
    c = knobs.add_argument_group("reading C")
    c.add_argument("-I", dest="include", action="append", default=[], metavar="DIR", help="a folder of headers")
    c.add_argument("-D", dest="define", action="append", default=[], metavar="NAME[=VALUE]", help="define a macro")
    c.add_argument("--pure", action="append", default=[], metavar="NAME", help="a function without side effects")
    how = knobs.add_argument_group("compiling")
    default = Options()
    how.add_argument("--scheduler", choices=["pluto", "isl", "source"], default=default.scheduler)
    how.add_argument("--fusion", choices=["smart", "max", "none"], default=default.fusion, help="which loops to fuse")
    how.add_argument("--tile-sizes", type=_sizes, metavar="SIZES", help="as in 32,64: the last is for SIMD loops")
    for name, meaning in _SWITCHES.items():
        how.add_argument(f"--no-{name}", dest=name.replace("-", "_"), action="store_false", help=meaning)
    how.add_argument("--reorder-reductions", action="store_true", help="sums in any order: floats may differ")
    return knobs


_SWITCHES = {
    "tile": "no tiles",
    "wavefront": "no wavefronts of tiles where no loop is parallel",
    "diamond": "tiles of stencils are no diamonds",
    "register-tiles": "no blocks of elements in registers",
    "parallel": "no threads",
    "vector": "no SIMD",
}


def _sizes(text: str) -> tuple[int, ...]:
    if not re.fullmatch(r"0*[1-9]\d*(,0*[1-9]\d*)*", text):
        raise argparse.ArgumentTypeError(f"'{text}' is no list of sizes, as in 32,64")
    return tuple(int(size) for size in text.split(","))


def _options(given: argparse.Namespace) -> Options:
    return Options(
        scheduler=given.scheduler,
        fusion=given.fusion,
        tile_sizes=given.tile_sizes,
        tile=given.tile,
        wavefront=given.wavefront,
        diamond=given.diamond,
        register_tiles=given.register_tiles,
        parallel=given.parallel,
        vector=given.vector,
        reorder_reductions=given.reorder_reductions,
    )


def _opt(given: argparse.Namespace) -> None:
    """Nothing is written unless all regions could be compiled."""
    source, target = Path(given.file), Path(given.out) if given.out is not None else None
    if target is not None and target.exists() and source.exists() and target.samefile(source):
        raise InputError(f"-o names '{source}' itself", hint="write to another file: regions are read once")
    if target is None and given.target != "c":
        raise InputError(f"--target {given.target} writes two files", hint="name the first: -o OUT.c")
    if source.suffix.lower() in (".cpp", ".cc", ".cxx", ".cu", ".hpp", ".hh", ".f", ".f90", ".py"):
        raise InputError(f"'{source}' is not C", hint="regions of C files can be replaced")
    regions = _regions(given.file, given)
    out = rewrite(
        source.read_bytes(), regions, given.target, name=target.stem if target else "", options=_options(given)
    )
    if target is None:
        sys.stdout.buffer.write(out.text)
    else:
        if out.kernels:
            suffix = ".cu" if given.target == "cuda" else ".c"
            write(target.with_name(f"{target.stem}_kernels{suffix}"), out.kernels.encode())
        write(target, out.text)
    for region in out.regions:
        if region.is_kept or given.verbose:
            print(region, file=sys.stderr)


def _regions(path: str, given: argparse.Namespace) -> tuple[Region, ...]:
    return read_c(path, include=given.include, define=given.define, pure=given.pure)


def _show(given: argparse.Namespace) -> None:
    """One stage of the nests at FILE.c, FILE.c:FUNCTION or FILE.py:NEST, one after the other."""
    path, name = (given.place, "") if given.place.endswith(".c") else given.place.rpartition(":")[::2]
    nests: Sequence[Nest | Function] = _c_nests(path, name, given) if path.endswith(".c") else [_nest(given.place)]
    for k, nest in enumerate(nests):
        done = optimize(nest, given.target, options=_options(given))
        if len(nests) > 1:
            print(f"{'' if k == 0 else chr(10)}{done.nest.name}:")
        print(_stage(done, given.what))


def _c_nests(path: str, name: str, given: argparse.Namespace) -> list[Function]:
    """The nest of that name, or all of the file if it is empty."""
    functions = [region.function for region in _regions(path, given)]
    found = [function for function in functions if name in ("", function.name)]
    if not found:
        names = ", ".join(function.name for function in functions)
        raise InputError(f"'{path}' has no region '{name}'", hint=f"it has: {names}")
    return found


def _nest(place: str) -> Nest:
    """The nest that FILE.py:NAME means; runs the file as an import does."""
    path, separator, name = place.rpartition(":")
    if not separator:
        raise InputError(f"'{place}' names no nest", hint="write FILE.c, FILE.c:FUNCTION or FILE.py:NAME")
    if not Path(path).is_file():
        raise InputError(f"there is no file '{path}'")
    if not path.endswith(".py"):
        raise InputError(f"'{path}' is not a Python file", hint="a nest is a Python function under @polysched.nest")
    try:
        names = runpy.run_path(path)
    except SyntaxError as error:
        loc = Loc(error.filename or path, error.lineno or 1, error.offset or 1, (error.text or "").rstrip("\n"))
        raise InputError(f"this is not Python: {error.msg}", loc) from error
    nest = names.get(name)
    if not isinstance(nest, Nest):
        nests = sorted(key for key, value in names.items() if isinstance(value, Nest))
        raise InputError(f"'{path}' has no nest '{name}'", hint=f"it has: {', '.join(nests) or 'none'}")
    return nest


def _stage(done: Compiled, what: str) -> str:
    match what:
        case "tree":
            return str(done.schedule)
        case "deps":
            return str(done.dependences)
        case "source":
            return done.source.text
        case "explain":
            return done.explain()
    raise AssertionError(what)
