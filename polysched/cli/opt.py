"""`polysched opt FILE.c -o OUT.c`: the file with kernels in place of its #pragma scop regions; with --auto, whole files
without pragmas, into a folder with a report."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from polysched.cli import auto
from polysched.cli.knobs import Commands, knobs, options_of
from polysched.config.target import TARGETS
from polysched.errors import InputError
from polysched.frontend.c.file.source import read
from polysched.opt.by_hand import Script
from polysched.opt.output import write
from polysched.opt.regions import Job
from polysched.opt.supervised import Input, rewrite_supervised


def add(commands: Commands) -> None:
    what = "replace the #pragma scop regions of a C file by kernels"
    parser = commands.add_parser("opt", parents=[knobs()], help=what)
    parser.add_argument("file", metavar="FILE.c")
    parser.add_argument("more", nargs="*", metavar="FILE.c", help="with --auto")
    whole = "find the nests of whole files, and replace those that gain; -o names a folder, which gets a report, too"
    parser.add_argument("--auto", action="store_true", help=whole)
    flags = "with --auto: other options of the compiler that a file is read with, as in --cflags='-std=gnu99 -fopenmp'"
    parser.add_argument("--cflags", default="", metavar="OPTIONS", help=flags)
    out_help = "the file to write; without it, standard output; with --target cuda, OUT.cu is all in one file for nvcc"
    parser.add_argument("-o", dest="out", metavar="OUT.c", help=out_help)
    going = "a region that cannot be compiled keeps its text, and the others go on, as they do without --no-keep-going"
    parser.add_argument("--keep-going", action=argparse.BooleanOptionalAction, default=True, help=going)
    by_hand = "the schedule of one region: what show script FILE.c:NAME prints, edited"
    parser.add_argument("--schedule", type=_script, action="append", default=[], metavar="NAME=SCRIPT", help=by_hand)
    parser.add_argument("-v", "--verbose", action="store_true", help="say on standard error what each region became")
    parser.set_defaults(run=run)


def _script(text: str) -> tuple[str, str]:
    name, _, path = text.partition("=")
    if not path:
        raise argparse.ArgumentTypeError(f"'{text}' is not as gemm=gemm.py")
    return name, path


def run(given: argparse.Namespace) -> int:
    """2 if regions were refused and none has become another text; then nothing is written."""
    if given.auto:
        return auto.run(given)
    if given.more:
        raise InputError("several files are replaced with --auto alone", hint="polysched opt --auto FILE.c ... -o DIR")
    source, target = Path(given.file), Path(given.out) if given.out is not None else None
    kernels = TARGETS[given.target]
    if target is not None and target.exists() and source.exists() and target.samefile(source):
        raise InputError(f"-o names '{source}' itself", hint="write to another file: regions are read once")
    if target is not None and target.is_dir():
        raise InputError(f"-o names the folder '{target}'", hint=f"name a file, as in -o {target / 'OUT.c'}")
    if target is None and given.target != "c":
        one = f", or one: -o OUT{kernels.suffix}" if kernels.is_single_source else ""
        raise InputError(f"--target {given.target} writes two files", hint=f"name the first: -o OUT.c{one}")
    in_one = kernels.has_grid and target is not None and target.suffix == kernels.suffix
    if source.suffix.lower() in (".cpp", ".cc", ".cxx", ".cu", ".hpp", ".hh", ".f", ".f90", ".py"):
        raise InputError(f"'{source}' is not C", hint="regions of C files can be replaced")
    text = Input(
        path=given.file,
        data=read(given.file),
        include=tuple(given.include),
        define=tuple(given.define),
        pure=tuple(given.pure),
        is_for_cpp=in_one,
    )
    name = target.stem if target else ""
    scripts = {nest: Script(path, Path(path).read_text(errors="replace")) for nest, path in given.schedule}
    job = Job(target=given.target, name=name, in_one=in_one, options=options_of(given), scripts=scripts)
    out = rewrite_supervised(text, job, keep_going=given.keep_going)
    is_refused = any(region.is_refused for region in out.regions) and all(region.is_kept for region in out.regions)
    if target is None and not is_refused:
        sys.stdout.buffer.write(out.text)
    elif target is not None and not is_refused:
        if out.kernels:
            suffix = kernels.suffix if kernels.is_single_source else ".c"
            write(target.with_name(f"{target.stem}_kernels{suffix}"), out.kernels.encode())
        write(target, out.text)
    for region in out.regions:
        if region.is_kept or given.verbose:
            print(region, file=sys.stderr)
    if is_refused:
        print(f"no region of '{source}' could be compiled: nothing is written", file=sys.stderr)
    return 2 if is_refused else 0
