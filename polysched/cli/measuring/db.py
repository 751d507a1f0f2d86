"""`polysched db list|export|merge|prune`: what was measured, and is kept for `optimize`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from polysched.cli.knobs import Commands
from polysched.errors import InputError
from polysched.results.tuned.database import Database, Measurement, Row
from polysched.results.tuned.exchange import exported, merged
from polysched.schedule.space import Point
from polysched.support.version import __version__


def add(commands: Commands) -> None:
    parser = commands.add_parser("db", help="list, export, merge or prune what `tune` has measured")
    actions = parser.add_subparsers(dest="action", required=True)
    listing = actions.add_parser("list", help="for each nest and its sizes, how many kernels, and the best")
    listing.set_defaults(run=_list)
    export = actions.add_parser("export", help="all measurements, as a line of JSON each")
    export.add_argument("-o", dest="out", metavar="FILE", help="without it, standard output")
    export.set_defaults(run=_export)
    merge = actions.add_parser("merge", help="add the measurements of another database, or of an export")
    merge.add_argument("file", metavar="FILE", type=Path)
    merge.set_defaults(run=_merge)
    prune = actions.add_parser("prune", help="forget what other versions of polysched have measured")
    prune.add_argument("--nest", metavar="NAME", help="all measurements of nests of this name, and no others")
    prune.set_defaults(run=_prune)


def _list(_: argparse.Namespace) -> int:
    with Database() as database:
        rows = database.rows()
    if not rows:
        print(f"nothing is in '{database.path}'")
    for task in dict.fromkeys(row.task for row in rows):
        found = [row.measurement for row in rows if row.task == task]
        print(f"{task.name} at {task.sizes or 'its sizes'}: {len(found)} kernels, {_best(found)}")
        print(f"  {task.target}, {task.options}; {task.machine}; {task.compiler}; polysched {task.version}")
    return 0


def _best(found: Sequence[Measurement]) -> str:
    best = next((each for each in found if each.state == "confirmed"), None)
    if best:
        return f"{best.ratio:.2f} times as fast by {Point(best.answers)}"
    return "judged by a static estimate" if found[0].state == "static" else "none is faster than the default"


def _export(given: argparse.Namespace) -> int:
    with Database() as database:
        text = exported(database)
    if given.out is None:
        sys.stdout.write(text)
    else:
        Path(given.out).write_text(text)
    return 0


def _merge(given: argparse.Namespace) -> int:
    if not given.file.is_file():
        raise InputError(f"there is no file '{given.file}'")
    with Database() as database:
        print(f"{merged(database, given.file)} measurements are new or newer")
    return 0


def _prune(given: argparse.Namespace) -> int:
    def goes(row: Row) -> bool:
        return row.task.name == given.nest if given.nest is not None else row.task.version != __version__

    with Database() as database:
        rows = [row for row in database.rows() if goes(row)]
        for task in dict.fromkeys(row.task for row in rows):
            database.drop(task)
    print(f"{len(rows)} measurements are forgotten")
    return 0
