"""`polysched opt FILE.c -o OUT.c`: the file with kernels in place of its #pragma scop regions."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from polysched.cli.knobs import Commands, knobs, options_of
from polysched.cli.places import regions_of
from polysched.errors import InputError
from polysched.frontend.c.cpp import require_cpp
from polysched.opt import rewrite, write


def add(commands: Commands) -> None:
    what = "replace the #pragma scop regions of a C file by kernels"
    parser = commands.add_parser("opt", parents=[knobs()], help=what)
    parser.add_argument("file", metavar="FILE.c")
    out_help = "the file to write; without it, standard output; with --target cuda, OUT.cu is all in one file for nvcc"
    parser.add_argument("-o", dest="out", metavar="OUT.c", help=out_help)
    parser.add_argument("-v", "--verbose", action="store_true", help="say on standard error what each region became")
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
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
    regions, data, name = regions_of(given.file, given), source.read_bytes(), target.stem if target else ""
    if in_one:
        require_cpp(given.file, data, given.include, given.define)
    out = rewrite(data, regions, given.target, name=name, in_one=in_one, options=options_of(given))
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
    return 0
