"""The operators on cases of the field.

    python -m benchmarks.operators                      all cases of cases.json: right, and how long compiling takes
    python -m benchmarks.operators --check              the same; exit status 1 if a case is not right
    python -m benchmarks.operators --cases FILE         other cases of the same form
    python -m benchmarks.operators --cuda               CUDA, run on the CPU under the race checker, at small sizes
    python -m benchmarks.operators --op dense --quick   one operator, at small sizes
    python -m benchmarks.operators --expressions        integer operations with the stage of the expressions and without
    python -m benchmarks.operators --evaluate           the same, and in CUDA and C instructions and in time: a table
    python -m benchmarks.operators --pytorch            the time of ours and of PyTorch, with oneDNN off and on
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections import Counter
from pathlib import Path

import polysched as ps
from benchmarks.operators import against_pytorch, evaluation, expressions
from benchmarks.operators.cases import CASES, Case, read
from benchmarks.operators.check import Outcome, checked, pytorch
from benchmarks.operators.expressions import Counted, counted
from polysched.operators import OPERATORS
from polysched.plan.mapped import FOR_THREADS, IN_SOURCE_ORDER


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.operators", description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", type=Path, default=CASES, help="a JSON file of cases")
    parser.add_argument("--check", action="store_true", help="exit status 1 if a case or an operator fails")
    parser.add_argument("--op", action="append", choices=sorted(OPERATORS), help="only this operator; may be repeated")
    parser.add_argument("--limit", type=int, help="at most so many cases of an operator")
    parser.add_argument("--seconds", type=float, default=120.0, help="time limit of a case")
    ways = parser.add_mutually_exclusive_group()
    ways.add_argument("--cuda", action="store_true", help="CUDA on the CPU, under the race checker; small sizes")
    ways.add_argument("--expressions", action="store_true", help="count integer operations of the C code, run nothing")
    ways.add_argument("--evaluate", action="store_true", help="what the stage of the expressions gains, in all columns")
    ways.add_argument("--pytorch", action="store_true", help="time ours and PyTorch's; of four operators by default")
    parser.add_argument("--quick", action="store_true", help="few batches and channels, little space")
    parser.add_argument("--in-order", action="store_true", help="let no sum run in another order")
    parser.add_argument("--verbose", action="store_true", help="a line for each case")
    evaluation.add_options(parser)
    args = parser.parse_args()
    wanted = args.op or (against_pytorch.OPERATORS if args.pytorch else OPERATORS)
    chosen = [case for case in read(args.cases) if case.op in wanted]
    chosen = [case.shrunk() if args.quick or args.cuda else case for case in chosen]
    operators = dict.fromkeys(case.op for case in chosen)
    groups = {op: [case for case in chosen if case.op == op][: args.limit] for op in operators}
    way = evaluation.evaluate if args.evaluate else _count if args.expressions else _check
    way = against_pytorch.contest if args.pytorch else way
    good = way(groups, args)
    if args.check and not good:
        sys.exit(1)


def _check(groups: dict[str, list[Case]], args: argparse.Namespace) -> bool:
    """Prints the table; are all cases right?"""
    every: list[Outcome] = []
    for op, cases in groups.items():
        outcomes = [_run(case, args) for case in cases]
        if not every:
            print(HEADER)
        print(_row(op, outcomes), flush=True)
        every += outcomes
    print(_row("all", every))
    return all(outcome.verdict == "right" for outcome in every)


def _count(groups: dict[str, list[Case]], args: argparse.Namespace) -> bool:
    """Prints the table of integer operations; are all cases counted, and does no operator have more with the stage?"""
    options = ps.Options(reorder_reductions=not args.in_order, machine=ps.Machine())  # the same counts everywhere
    found: dict[str, list[Counted]] = {}
    print(expressions.HEADER)
    for op, cases in groups.items():
        found[op] = [counted(case, args.seconds, options) for case in cases]
        for each in found[op]:
            if args.verbose or not each.executed:
                print(each)
        print(expressions.row(op, found[op]), flush=True)
    print(expressions.row("all", [each for some in found.values() for each in some]))
    print(expressions.summary(found))
    return expressions.good(found)


def _run(case: Case, args: argparse.Namespace) -> Outcome:
    options = ps.Options(reorder_reductions=not args.in_order)
    outcome = checked(case, args.seconds, options, "cuda" if args.cuda else "c")
    if args.verbose or outcome.verdict != "right":
        stage = max(outcome.stages, key=outcome.stages.__getitem__, default="")
        spent = f"{stage} {outcome.stages[stage]:.2f}" if stage else ""
        fallen = ", ".join(rung for name, rung in outcome.rungs.items() if rung not in _USUAL)
        print(f"{outcome.verdict}: {case}: {outcome.compile_seconds:.2f} s ({spent}), run {outcome.run_seconds:.3f} s "
              f"{fallen} {outcome.why}", flush=True)  # fmt: skip
    return outcome


_USUAL = ("exact", "pluto", "mapped", IN_SOURCE_ORDER, FOR_THREADS)
HEADER = f"{'operator':30}  cases  right  wrong  refused  late  PyTorch  compile s: median   worst"


def _row(op: str, outcomes: list[Outcome]) -> str:
    """PyTorch: in how many cases the reference was held against it, and is the same."""
    verdicts = Counter(outcome.verdict for outcome in outcomes)
    held = sum(outcome.is_held for outcome in outcomes) if pytorch() else "-"
    figures = [len(outcomes), *(verdicts[kind] for kind in ("right", "wrong", "refused", "late"))]
    seconds = [outcome.compile_seconds for outcome in outcomes] or [0.0]
    columns = "".join(f"{n:{width}}" for n, width in zip(figures, (7, 7, 7, 9, 6), strict=True))
    return f"{op:30}{columns}{held:>9}{statistics.median(seconds):19.2f}{max(seconds):8.2f}"


if __name__ == "__main__":
    main()
