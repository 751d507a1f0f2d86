"""`polysched report PLACE -o report.html`: one page about the nests at a place."""

from __future__ import annotations

import argparse
from pathlib import Path

from polysched.cli.attempts import Attempts
from polysched.cli.knobs import Commands, knobs, options_of
from polysched.cli.places import nests_of
from polysched.cli.report_page.measured import measured
from polysched.cli.report_page.page import page, require_report_or_none
from polysched.opt.output import write
from polysched.pipeline import optimize


def add(commands: Commands) -> None:
    parser = commands.add_parser("report", parents=[knobs()], help="write a page about the nests, for browsers")
    parser.add_argument("place", metavar="PLACE", help="FILE.c[:FUNCTION], or FILE.py:NEST, a @polysched.nest")
    parser.add_argument("-o", dest="out", metavar="FILE.html", default="report.html", help="else report.html")
    parser.add_argument("--time", action="store_true", help="run each kernel, and its source order, on random data")
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """One page about the nests at a place that are not refused; 2 if one is."""
    target = Path(given.out)
    require_report_or_none(target)
    attempts, nests = Attempts(), []
    for nest in nests_of(given, attempts):
        with attempts:
            nests.append(optimize(nest, given.target, options=options_of(given)))
    if nests:
        took = [measured(done) for done in nests] if given.time else []
        write(target, page(given.place, nests, took).encode())
        print(f"{target}: {', '.join(done.nest.name for done in nests)}")
    return attempts.status
