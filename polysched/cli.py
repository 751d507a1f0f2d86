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
import re
import runpy
import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from polysched.codegen.expression_report import annotated
from polysched.demo import demo
from polysched.errors import BudgetExceeded, InputError, LaunchError, Loc, PolyschedError
from polysched.frontend.c.cpp import require_cpp
from polysched.frontend.c.read import read_c
from polysched.frontend.c.region import Region
from polysched.frontend.op.op import Op
from polysched.frontend.python import Nest
from polysched.ir.node import walk
from polysched.ir.nodes import Function, Stmt
from polysched.opt import rewrite, write
from polysched.options import LANGUAGES, Options, Target
from polysched.pipeline import Compiled, optimize
from polysched.prepare import function_of
from polysched.report.page import page, require_report_or_none
from polysched.runtime.hand_written import check_cuda, named_arguments, only_kernel
from polysched.sass.inspect import flags_of, inspect
from polysched.sass.report import Report
from polysched.sass.toolkit import DEFAULT_ARCH
from polysched.verify import VerificationError
from polysched.version import __version__


def main(arguments: list[str] | None = None) -> int:
    """Runs one command; the exit status is 0, 1 if `verify` finds a fault, or 2 with a message on standard error."""
    given = _parser().parse_args(arguments)
    try:
        match given.command:
            case "demo":
                demo()
            case "opt":
                _opt(given)
            case "show":
                _show(given)
            case "explain":
                _explain(given)
            case "report":
                _report(given)
            case "inspect":
                _inspect(given)
            case "verify":
                return _verify(given)
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
    out_help = "the file to write; without it, standard output; with --target cuda, OUT.cu is all in one file for nvcc"
    opt.add_argument("-o", dest="out", metavar="OUT.c", help=out_help)
    opt.add_argument("-v", "--verbose", action="store_true", help="say on standard error what each region became")
    show = commands.add_parser("show", parents=[knobs], help="print one stage of each nest")
    show.add_argument(
        "what",
        choices=["tree", "deps", "source", "explain", "expr", "ssa", "tensor", "nest"],
        help="the mapped schedule, the exact dependences, the kernel's text, why loops are parallel or not, what "
        "became of index arithmetic and conditions; of an operator the graph, or the tensor expressions; the loop nest",
    )
    expr = show.add_argument_group("show expr")
    expr.add_argument("--before", action="store_true", help="the loops before the passes, with operation counts")
    expr.add_argument("--after", action="store_true", help="the loops after them")
    expr.add_argument("--report", action="store_true", help="what the passes did; so without --before and --after")
    at = "count what is executed at these sizes, as in n=512,m=64"
    expr.add_argument("--sizes", type=_values, default={}, metavar="SIZES", help=at)
    show.add_argument("place", metavar="PLACE", help="FILE.c[:FUNCTION], or FILE.py:NEST, a @polysched.nest")
    why = "say why each loop is parallel, tiled, SIMD and fused or not, and what the nests do"
    explain = commands.add_parser("explain", parents=[knobs], help=why)
    explain.add_argument("place", metavar="PLACE", help="FILE.c or FILE.py, and if not for all in it :NEST or :LINE")
    explain.add_argument("--sizes", type=_values, default={}, metavar="SIZES", help="to count for, as in n=512,m=64")
    report = commands.add_parser("report", parents=[knobs], help="write a page about the nests, for browsers")
    report.add_argument("place", metavar="PLACE", help="FILE.c[:FUNCTION], or FILE.py:NEST, a @polysched.nest")
    report.add_argument("-o", dest="out", metavar="FILE.html", default="report.html", help="else report.html")
    _add_inspect(commands)
    _add_verify(commands)
    return parser


def _add_inspect(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("inspect", parents=[_knobs("cuda")], help="say what nvcc makes of CUDA; needs no GPU")
    parser.add_argument("place", metavar="FILE.cu", help="CUDA; or FILE.c[:FUNCTION] or FILE.py:NEST, compiled to CUDA")
    parser.add_argument("--arch", default=DEFAULT_ARCH, help=f"the GPU to compile for, as in {DEFAULT_ARCH}")
    flags = "for nvcc, as in --flags='-O2 -fmad=false'; without it, those that polysched has put in the first line"
    parser.add_argument("--flags", type=shlex.split, help=flags)
    parser.add_argument("--kernel", metavar="NAME", help="one kernel, as the text calls it")
    parser.add_argument("--threads", type=int, metavar="N", help="threads of a block, for kernels that state no bound")
    sizes = "what a thread executes at these sizes, as in n=512,m=64; for FILE.c and FILE.py"
    parser.add_argument("--sizes", type=_values, default={}, metavar="SIZES", help=sizes)


def _add_verify(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("verify", parents=[_knobs(None)], help="check kernels, of any target; needs no GPU")
    parser.add_argument("place", metavar="PLACE", help="FILE.c[:FUNCTION], FILE.py:NEST, or FILE.cu and what follows")
    parser.add_argument("--sizes", type=_values, default={}, metavar="SIZES", help="of the nests, as in n=130,m=7")
    cuda = parser.add_argument_group("kernels written in CUDA")
    one = "which one, if the file has more than one; of a template, as in 'mm<16>'"
    cuda.add_argument("--kernel", metavar="NAME", help=one)
    cuda.add_argument("--grid", type=_extents, metavar="X[,Y[,Z]]", help="blocks; required")
    cuda.add_argument("--block", type=_extents, metavar="X[,Y[,Z]]", help="threads of a block; required")
    argument = "NAME=f32[100,20], random numbers; NAME=FILE.npy; or NAME=NUMBER"
    cuda.add_argument("--arg", action="append", default=[], metavar="NAME=VALUE", help=argument)
    cuda.add_argument("--dynamic-shared", type=int, default=0, metavar="BYTES", help="of the extern __shared__ arrays")


def _extents(text: str) -> tuple[int, ...]:
    if not re.fullmatch(r"\d+(,\d+){0,2}", text):
        raise argparse.ArgumentTypeError(f"'{text}' is not one to three numbers, as in 8,4")
    return tuple(int(extent) for extent in text.split(","))


def _knobs(target: Target | None = "c") -> argparse.ArgumentParser:
    """What every command that compiles takes; `target` is the one without --target, None all of them."""
    knobs = argparse.ArgumentParser(add_help=False)
    knobs.add_argument("--target", choices=list(LANGUAGES), default=target, help="print kernels in; c has OpenMP")
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
    for name, meaning in _REQUESTS.items():
        how.add_argument(f"--{name}", action="store_true", help=meaning)
    return knobs


_SWITCHES = {
    "tile": "no tiles",
    "wavefront": "no wavefronts of tiles where no loop is parallel",
    "diamond": "tiles of stencils are no diamonds",
    "register-tiles": "no blocks of elements in registers",
    "parallel": "no threads",
    "vector": "no SIMD",
    "shared-memory": "on GPUs, no copies in shared memory",
}
_REQUESTS = {
    "reorder-reductions": "sums in any order: floats may differ",
    "fast-math": "reassociate floats: they may differ",
    "contract-floats": "let a * b + c be rounded once: floats may differ",
    "double-buffer": "on GPUs, copy the next chunk to shared memory while computing with one",
}


def _sizes(text: str) -> tuple[int, ...]:
    if not re.fullmatch(r"0*[1-9]\d*(,0*[1-9]\d*)*", text):
        raise argparse.ArgumentTypeError(f"'{text}' is no list of sizes, as in 32,64")
    return tuple(int(size) for size in text.split(","))


def _values(text: str) -> dict[str, int]:
    if not re.fullmatch(r"\w+=\d+(,\w+=\d+)*", text):
        raise argparse.ArgumentTypeError(f"'{text}' gives no sizes, as in n=512,m=64")
    return {name: int(value) for name, value in (pair.split("=") for pair in text.split(","))}


def _options(given: argparse.Namespace) -> Options:
    names = (name.replace("-", "_") for name in (*_SWITCHES, *_REQUESTS))
    switches = {name: getattr(given, name) for name in names}
    return Options(scheduler=given.scheduler, fusion=given.fusion, tile_sizes=given.tile_sizes, **switches)


def _opt(given: argparse.Namespace) -> None:
    """Nothing is written unless all regions could be compiled."""
    source, target = Path(given.file), Path(given.out) if given.out is not None else None
    if target is not None and target.exists() and source.exists() and target.samefile(source):
        raise InputError(f"-o names '{source}' itself", hint="write to another file: regions are read once")
    if target is None and given.target != "c":
        one = ", or one for nvcc: -o OUT.cu" if given.target == "cuda" else ""
        raise InputError(f"--target {given.target} writes two files", hint=f"name the first: -o OUT.c{one}")
    in_one = given.target == "cuda" and target is not None and target.suffix == ".cu"
    if source.suffix.lower() in (".cpp", ".cc", ".cxx", ".cu", ".hpp", ".hh", ".f", ".f90", ".py"):
        raise InputError(f"'{source}' is not C", hint="regions of C files can be replaced")
    regions, data, name = _regions(given.file, given), source.read_bytes(), target.stem if target else ""
    if in_one:
        require_cpp(given.file, data, given.include, given.define)
    out = rewrite(data, regions, given.target, name=name, in_one=in_one, options=_options(given))
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
    if given.what != "expr" and (getattr(given, "sizes", {}) or _parts_of_expr(given)):
        raise InputError("--before, --after, --report and --sizes are for show expr", hint="leave them out")
    nests = _nests(given)
    for k, nest in enumerate(nests):
        if len(nests) > 1:
            print(f"{'' if k == 0 else chr(10)}{function_of(nest).name}:")
        if given.what in _BEFORE:
            print(_stage_before(nest, given.what))
            continue
        done = optimize(nest, given.target, options=_options(given))
        print(_expressions(done, given) if given.what == "expr" else _stage(done, given.what))


def _explain(given: argparse.Namespace) -> None:
    """Reasons and counts for the nests at FILE, FILE:NEST or FILE:LINE, one after the other."""
    path, _, last = given.place.rpartition(":")
    line = int(last) if last.isdigit() else None
    given.place = given.place if line is None else path
    nests = [function_of(nest) for nest in _nests(given, all_of_python=True)]
    if line is not None:
        nests = [nest for nest in nests if line in _lines_of(nest)]
        if not nests:
            raise InputError(f"no nest of '{path}' has a loop or statement at line {line}")
    for k, nest in enumerate(nests):
        done = optimize(nest, given.target, options=_options(given))
        reasons, figures = done.explain(line=line), done.counts(given.sizes, line=line)
        print(f"{'' if k == 0 else chr(10)}{nest.name}\n{reasons}\n\n{figures}")


def _lines_of(nest: Function) -> set[int]:
    """The lines of its loops and statements."""
    return {node.loc.line for node in walk(nest.body) if isinstance(node, Stmt) and node.loc}


def _report(given: argparse.Namespace) -> None:
    """One page about the nests at a place."""
    target = Path(given.out)
    require_report_or_none(target)
    nests = [optimize(nest, given.target, options=_options(given)) for nest in _nests(given)]
    write(target, page(given.place, nests).encode())
    print(f"{target}: {', '.join(done.nest.name for done in nests)}")


def _inspect(given: argparse.Namespace) -> None:
    """The figures of a CUDA file, or of what the nests at a place are compiled to."""
    if given.target != "cuda":
        raise InputError(f"inspect reads CUDA, not {LANGUAGES[given.target]}", hint="leave --target out")
    if given.threads is not None and given.threads < 1:
        raise InputError(f"--threads is {given.threads}, but a block has one or more")
    if given.place.endswith(".cu"):
        if given.sizes:
            raise InputError("--sizes is for nests, whose launches are known", hint="give FILE.c or FILE.py:NEST")
        _print_report(_inspect_cuda(given), given.kernel)
        return
    compiled = [optimize(nest, "cuda", options=_options(given)) for nest in _nests(given)]
    flags = None if given.flags is None else tuple(given.flags)
    reports = [done.inspect(arch=given.arch, flags=flags) for done in compiled]
    _print_report(replace(reports[0], kernels=tuple(kernel for one in reports for kernel in one.kernels)), given.kernel)
    for done, report in zip(compiled, reports, strict=True):
        if given.sizes:
            found = done.count_instructions(report, **given.sizes)
            print(*(str(one) for name, one in found.items() if given.kernel in (None, name)), sep="\n")


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


def _verify(given: argparse.Namespace) -> int:
    """1 if something is wrong with the nests at a place on any target, or with a kernel in a CUDA file; 2 if one of the
    nests cannot be run."""
    if given.place.endswith(".cu"):
        return _verify_cuda(given)
    if given.arg or given.kernel or given.grid or given.block or given.dynamic_shared:
        names = "--arg, --kernel, --grid, --block and --dynamic-shared"
        raise InputError(f"{names} are for CUDA files", hint="of nests, --sizes can be given")
    status = 0
    for nest in _nests(given):
        for target in LANGUAGES if given.target is None else (given.target,):
            done = optimize(nest, target, options=_options(given))
            try:
                verdict = str(done.verify(**given.sizes))
            except VerificationError as error:
                verdict, status = str(error), max(status, 1)
            except (LaunchError, BudgetExceeded) as error:  # the other nests may be smaller
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


def _nests(given: argparse.Namespace, *, all_of_python: bool = False) -> Sequence[Nest | Op | Function]:
    """The nests at the place FILE.c, FILE.c:FUNCTION or FILE.py:NEST, and FILE.py if asked for."""
    if all_of_python and given.place.endswith(".py"):
        found = _nests_in(given.place)
        if not found:
            raise InputError(f"'{given.place}' has no nest", hint="a nest is a Python function under @polysched.nest")
        return list(found.values())
    path, name = (given.place, "") if given.place.endswith(".c") else given.place.rpartition(":")[::2]
    return _c_nests(path, name, given) if path.endswith(".c") else [_nest(given.place)]


def _c_nests(path: str, name: str, given: argparse.Namespace) -> list[Function]:
    """The nest of that name, or all of the file if it is empty."""
    functions = [region.function for region in _regions(path, given)]
    found = [function for function in functions if name in ("", function.name)]
    if not found:
        names = ", ".join(function.name for function in functions)
        raise InputError(f"'{path}' has no region '{name}'", hint=f"it has: {names}")
    return found


def _nest(place: str) -> Nest | Op:
    """The nest that FILE.py:NAME means; runs the file as an import does."""
    path, separator, name = place.rpartition(":")
    if not separator:
        raise InputError(f"'{place}' names no nest", hint="write FILE.c, FILE.c:FUNCTION or FILE.py:NAME")
    nests = _nests_in(path)
    if name not in nests:
        raise InputError(f"'{path}' has no nest '{name}'", hint=f"it has: {', '.join(sorted(nests)) or 'none'}")
    return nests[name]


def _nests_in(path: str) -> dict[str, Nest | Op]:
    """The nests and operators of a Python file, in its order."""
    if not Path(path).is_file():
        raise InputError(f"there is no file '{path}'")
    if not path.endswith(".py"):
        raise InputError(f"'{path}' is not a Python file", hint="a nest is a Python function under @polysched.nest")
    try:
        names = runpy.run_path(path)
    except SyntaxError as error:
        loc = Loc(error.filename or path, error.lineno or 1, error.offset or 1, (error.text or "").rstrip("\n"))
        raise InputError(f"this is not Python: {error.msg}", loc) from error
    return {name: value for name, value in names.items() if isinstance(value, Nest | Op)}


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


_BEFORE = ("ssa", "tensor", "nest")


def _stage_before(nest: Nest | Op | Function, what: str) -> str:
    """A stage that leads to the nest."""
    if what == "nest":
        return str(function_of(nest))
    if not isinstance(nest, Op):
        raise InputError(f"show {what} is for operators, and this is a nest", hint="write show nest")
    return str(nest.ssa if what == "ssa" else nest.tensor)


def _parts_of_expr(given: argparse.Namespace) -> list[str]:
    return [part for part in ("before", "after", "report") if getattr(given, part, False)]


def _expressions(done: Compiled, given: argparse.Namespace) -> str:
    """The loops before and after the passes over expressions, and what these did, as far as asked for."""
    report = done.expression_report(**given.sizes)
    texts = {
        "before": lambda: annotated(report.before, given.sizes),
        "after": lambda: annotated(report.after, given.sizes),
        "report": lambda: str(report),
    }
    return "\n\n".join(texts[part]() for part in _parts_of_expr(given) or ["report"])
