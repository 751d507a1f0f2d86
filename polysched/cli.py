"""The command line.

polysched demo                                     the walk-through, then real nests, checked and timed
polysched show tree|deps|source|explain FILE.py:NEST    one stage of one nest
"""

from __future__ import annotations

import argparse
import runpy
import sys
from pathlib import Path

from polysched.demo import demo
from polysched.errors import InputError, Loc, PolyschedError
from polysched.frontend.python import Nest
from polysched.pipeline import Compiled, optimize
from polysched.version import __version__


def main(arguments: list[str] | None = None) -> int:
    """Runs one command; the exit status is 0, or 2 with a message on standard error."""
    options = _parser().parse_args(arguments)
    try:
        if options.command == "demo":
            demo()
        else:
            print(_stage(optimize(_nest(options.nest), options.target), options.what))
    except PolyschedError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="polysched",
        description="Loop nests in, proven-legal parallel kernels out.",
        epilog="example: polysched show source kernel.py:gemm --target cuda",
    )
    parser.add_argument("--version", action="version", version=f"polysched {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("demo", help="the two-loop stencil step by step, then gemm, Jacobi and Seidel timed")
    show = commands.add_parser("show", help="print one stage of a nest")
    show.add_argument(
        "what",
        choices=["tree", "deps", "source", "explain"],
        help="the mapped schedule, the exact dependences, the kernel's text, or why loops are parallel or not",
    )
    show.add_argument("nest", metavar="FILE.py:NEST", help="a function decorated with @polysched.nest")
    show.add_argument("--target", choices=["c", "cuda"], default="c")
    return parser


def _nest(place: str) -> Nest:
    """The nest that FILE.py:NAME means; runs the file as an import does."""
    path, separator, name = place.rpartition(":")
    if not separator:
        raise InputError(f"'{place}' names no nest", hint="write FILE.py:NAME")
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
