"""`polysched show STAGE PLACE`: one stage of each nest at a place."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from polysched.cli.attempts import Attempts
from polysched.cli.knobs import Commands, in_flags, knobs, options_of, sizes_in
from polysched.cli.places import nests_of, own_sizes
from polysched.codegen.expression_report import annotated
from polysched.errors import InputError
from polysched.frontend.op.op import Op
from polysched.frontend.python import Nest
from polysched.ir.nodes import Function
from polysched.pipeline import Compiled, optimize
from polysched.plan.prepare import function_of
from polysched.schedule.schedule import Schedule


def add(commands: Commands) -> None:
    parser = commands.add_parser("show", parents=[knobs()], help="print one stage of each nest")
    parser.add_argument(
        "what",
        choices=["tree", "script", "decisions", "deps", "source", "explain", "expr", "ssa", "tensor", "nest"],
        help="the mapped schedule, the edits that make it, what they could be instead, the exact dependences, the "
        "kernel's text, why loops are parallel or not, what became of index arithmetic and conditions; of an operator "
        "the graph, or the tensor expressions; the loop nest",
    )
    expr = parser.add_argument_group("show expr")
    expr.add_argument("--before", action="store_true", help="the loops before the passes, with operation counts")
    expr.add_argument("--after", action="store_true", help="the loops after them")
    expr.add_argument("--report", action="store_true", help="what the passes did; so without --before and --after")
    at = "count what is executed at these sizes, as in n=512,m=64"
    expr.add_argument("--sizes", type=sizes_in, default={}, metavar="SIZES", help=at)
    parser.add_argument("place", metavar="PLACE", help="FILE.c[:FUNCTION], or FILE.py:NEST, a @polysched.nest")
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """One stage of the nests at FILE.c, FILE.c:FUNCTION or FILE.py:NEST, one after the other; 2 if one is refused."""
    if given.what != "expr" and (given.sizes or _parts_of_expr(given)):
        raise InputError("--before, --after, --report and --sizes are for show expr", hint="leave them out")
    attempts = Attempts()
    nests = nests_of(given, attempts)
    for k, (nest, sizes) in enumerate(zip(nests, own_sizes(nests, given), strict=True)):
        with attempts:
            stage = _stage(nest, given, sizes)
            if len(nests) > 1:
                print(f"{'' if k == 0 else chr(10)}{function_of(nest).name}:")
            print(stage)
    return attempts.status


def _stage(nest: Nest | Op | Function, given: argparse.Namespace, sizes: dict[str, int]) -> object:
    if given.what in _BEFORE:
        return _stage_before(nest, given.what)
    if given.what in ("script", "decisions"):
        schedule = _schedule(nest, given)
        if given.what == "script":
            return schedule.script
        return "\n".join(map(str, schedule.decisions)) or f"there are no decisions: {schedule.unwritten or _NOTHING}"
    done = optimize(nest, given.target, options=options_of(given))
    return _STAGES[given.what](done) if given.what in _STAGES else _expressions(done, given, sizes)


def _schedule(nest: Nest | Op | Function, given: argparse.Namespace) -> Schedule:
    """The automatic one, or that of the database where --tuned asks for it."""
    options = options_of(given)
    if options.tuned != "ignore":
        return optimize(nest, given.target, options=options).schedule
    return Schedule.auto(nest, given.target, options=options)


_BEFORE = ("ssa", "tensor", "nest")
_STAGES: dict[str, Callable[[Compiled], object]] = {
    "tree": lambda done: done.tree,
    "deps": lambda done: done.dependences,
    "source": lambda done: done.source.text,
    "explain": lambda done: in_flags(done.explain()),
}


def _stage_before(nest: Nest | Op | Function, what: str) -> str:
    """A stage that leads to the nest."""
    if what == "nest":
        return str(function_of(nest))
    if not isinstance(nest, Op):
        raise InputError(f"show {what} is for operators, and this is a nest", hint="write show nest")
    return str(nest.ssa if what == "ssa" else nest.tensor)


_NOTHING = "nothing can be done otherwise"


def _parts_of_expr(given: argparse.Namespace) -> list[str]:
    return [part for part in ("before", "after", "report") if getattr(given, part, False)]


def _expressions(done: Compiled, given: argparse.Namespace, sizes: dict[str, int]) -> str:
    """The loops before and after the passes over expressions, and what these did, as far as asked for."""
    report = done.expression_report(**sizes)
    texts = {
        "before": lambda: annotated(report.before, sizes),
        "after": lambda: annotated(report.after, sizes),
        "report": lambda: str(report),
    }
    return "\n\n".join(texts[part]() for part in _parts_of_expr(given) or ["report"])
