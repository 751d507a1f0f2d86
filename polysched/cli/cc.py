"""`polysched cc -- gcc ARGS...`: a compiler that makes faster programs, in place of the one that it calls."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from polysched.cli.knobs import Commands
from polysched.errors import InputError
from polysched.opt.auto.command import Command
from polysched.opt.auto.compile import Ways, compile_with


def add(commands: Commands) -> None:
    what = 'compile with kernels in place of loops that gain: CC="polysched cc -- gcc"'
    parser = commands.add_parser("cc", help=what)
    threads = "run kernels on threads, though the command has no -fopenmp; directives of the sources count for nothing"
    parser.add_argument("--parallel", action="store_true", help=threads)
    log = "append there what became of each loop; without it, nothing is said"
    parser.add_argument("--log", type=Path, metavar="FILE", help=log)
    parser.add_argument("--keep", type=Path, metavar="DIR", help="leave the new sources there")
    parser.add_argument("--pure", action="append", default=[], metavar="NAME", help="a function without side effects")
    parser.add_argument("words", nargs=argparse.REMAINDER, metavar="-- COMPILER ...", help="a command of gcc or clang")
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """The status of the compiler."""
    words = given.words[1:] if given.words[:1] == ["--"] else given.words
    if not words:
        hint = 'write the compiler behind --, as in CC="polysched cc -- gcc"'
        raise InputError("there is no command to run", hint=hint)
    said: list[str] = []
    ways = Ways(parallel=given.parallel, keep=given.keep, pure=tuple(given.pure))
    status = compile_with(Command(tuple(words)), ways, said.append)
    if given.log is not None and said:
        try:
            with given.log.open("a") as file:  # one write for each command: others may run beside it
                file.write("".join(f"{line}\n" for line in said))
        except OSError as error:
            print(f"'{given.log}' cannot be written: {error.strerror}", file=sys.stderr)
    return status
