"""`polysched tune PLACE`: a search for faster schedules of the nests there, by measuring."""

from __future__ import annotations

import argparse
import ast
import re
from collections.abc import Mapping
from pathlib import Path

from polysched.cli.attempts import Attempts
from polysched.cli.knobs import Commands, knobs, options_of, sizes_in
from polysched.cli.measuring.progress import Bar
from polysched.cli.places import nests_of, own_sizes
from polysched.cli.report_page.tuned import require_report, write_report
from polysched.cli.streams import INTERRUPTED
from polysched.frontend.op.op import Op
from polysched.frontend.python import Nest
from polysched.ir.nodes import Function
from polysched.opt.tuning.cluster.crew import Cluster
from polysched.opt.tuning.report import Tuning
from polysched.opt.tuning.seen.history import History
from polysched.opt.tuning.tune import tune
from polysched.plan.prepare import function_of
from polysched.results.tuned.database import Database
from polysched.results.tuned.task import Task
from polysched.strategy.decision import Value


def add(commands: Commands) -> None:
    what = "search for faster schedules by measuring, and keep them for --tuned use"
    parser = commands.add_parser("tune", parents=[knobs()], help=what)
    parser.add_argument("place", metavar="PLACE", help="FILE.c or FILE.py, and if not for all in it :NEST")
    count = "kernels to have measured in all, of each nest; the same command goes on where one was stopped"
    parser.add_argument("--trials", type=_count, default=50, metavar="N", help=count)
    parser.add_argument("--seconds", type=float, metavar="S", help="for each nest; what is under way is finished")
    at = "of the nests, as in n=1000,m=512; those not given are large"
    parser.add_argument("--sizes", type=sizes_in, default={}, metavar="SIZES", help=at)
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="which schedules are drawn")
    stay = "a decision that stays as it is, as in tile.i=32; may be given again"
    parser.add_argument("--pin", type=_answer, action="append", default=[], metavar="KEY=VALUE", help=stay)
    page = "a page about what was measured by now, and pictures; with --trials 0, nothing new is"
    parser.add_argument("--report", metavar="FILE.html", help=page)
    where = "of the scheduler of a Dask cluster, whose workers measure, as in tcp://127.0.0.1:8786"
    parser.add_argument("--cluster", metavar="ADDRESS", help=where)
    kind = "part of the description of the machine to tune for, if the cluster has several kinds"
    parser.add_argument("--on", default="", metavar="MACHINE", help=kind)
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """What is found for each nest, one after the other; 2 if one is refused, 130 after a Ctrl-C."""
    attempts = Attempts()
    nests = nests_of(given, attempts, all_of_python=True)
    tasks: list[Task] = []
    if given.report:
        require_report(Path(given.report))
    cluster = Cluster(given.cluster, on=given.on) if given.cluster else None
    for k, (nest, sizes) in enumerate(zip(nests, own_sizes(nests, given), strict=True)):
        with attempts:
            with Bar(function_of(nest).name) as bar:
                found = _found(given, nest, sizes, cluster, bar)
            print(f"{'' if k == 0 else chr(10)}{found}", flush=True)
            tasks.append(found.task)
            if found.is_interrupted:
                return INTERRUPTED
    if given.report and tasks:
        with attempts, Database() as database:
            files = write_report(Path(given.report), given.place, [History.of(database, task) for task in tasks])
            print(f"\n{', '.join(map(str, files))}")
    return attempts.status


def _found(
    given: argparse.Namespace, nest: Nest | Op | Function, sizes: Mapping[str, int], cluster: Cluster | None, bar: Bar
) -> Tuning:
    return tune(
        nest,
        given.target,
        trials=given.trials,
        seconds=given.seconds,
        sizes=sizes,
        pinned=dict(given.pin),
        seed=given.seed,
        options=options_of(given),
        progress=bar.shown,
        cluster=cluster,
    )


def _count(text: str) -> int:
    if not re.fullmatch(r"\d+", text):
        raise argparse.ArgumentTypeError(f"'{text}' is no number of kernels, as in 50")
    return int(text)


def _answer(text: str) -> tuple[str, Value]:
    """tile.i=32, vectorize.j=False, parallel.i=j_o; '' is parallel.i=."""
    key, separator, value = text.partition("=")
    if not separator:
        raise argparse.ArgumentTypeError(f"'{text}' is no answer to a decision, as in tile.i=32")
    known: Value = ast.literal_eval(value) if re.fullmatch(r"\d+|True|False", value) else value
    return key, known
