"""`polysched explain PLACE`: why loops are parallel, tiled, SIMD, fused or not; operations and bytes."""

from __future__ import annotations

import argparse

from polysched.cli.attempts import Attempts
from polysched.cli.knobs import Commands, in_flags, knobs, options_of, sizes_in
from polysched.cli.places import nests_of, own_sizes
from polysched.errors import InputError
from polysched.ir.node import walk
from polysched.ir.nodes import Function, Stmt
from polysched.pipeline import optimize
from polysched.plan.prepare import function_of


def add(commands: Commands) -> None:
    why = "say why each loop is parallel, tiled, SIMD and fused or not, and what the nests do"
    parser = commands.add_parser("explain", parents=[knobs()], help=why)
    parser.add_argument("place", metavar="PLACE", help="FILE.c or FILE.py, and if not for all in it :NEST or :LINE")
    at = "to count and predict for, as in n=512,m=64"
    parser.add_argument("--sizes", type=sizes_in, default={}, metavar="SIZES", help=at)
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Reasons and counts for the nests at FILE, FILE:NEST or FILE:LINE, one after the other; 2 if one is refused."""
    path, _, last = given.place.rpartition(":")
    line = int(last) if last.isdigit() else None
    given.place = given.place if line is None else path
    attempts = Attempts()
    nests = [function_of(nest) for nest in nests_of(given, attempts, all_of_python=True, line=line)]
    if line is not None:
        nests = [nest for nest in nests if line in _lines_of(nest)]
        if not nests and not attempts.status:
            raise InputError(f"no nest of '{path}' has a loop or statement at line {line}")
    for k, (nest, sizes) in enumerate(zip(nests, own_sizes(nests, given), strict=True)):
        with attempts:
            done = optimize(nest, given.target, options=options_of(given))
            reasons, figures = in_flags(done.explain(sizes, line=line)), done.counts(sizes, line=line)
            print(f"{'' if k == 0 else chr(10)}{nest.name}\n{reasons}\n\n{figures}")
    return attempts.status


def _lines_of(nest: Function) -> set[int]:
    """The lines of its loops and statements."""
    return {node.loc.line for node in walk(nest.body) if isinstance(node, Stmt) and node.loc}
