"""The operators on cases of the field.

    python -m benchmarks.operators                      all cases of cases.json: right, and how long compiling takes
    python -m benchmarks.operators --check              the same; exit status 1 if a case is not right
    python -m benchmarks.operators --cases FILE         other cases of the same form
    python -m benchmarks.operators --cuda               CUDA, run on the CPU under the race checker, at small sizes
    python -m benchmarks.operators --op dense --quick   one operator, at small sizes
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections import Counter
from pathlib import Path

import polysched as ps
from benchmarks.operators.cases import CASES, Case, read
from benchmarks.operators.check import Outcome, checked
from polysched.operators import OPERATORS


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.operators", description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", type=Path, default=CASES, help="a JSON file of cases")
    parser.add_argument("--check", action="store_true", help="exit status 1 if a case is not right")
    parser.add_argument("--op", action="append", choices=sorted(OPERATORS), help="only this operator; may be repeated")
    parser.add_argument("--limit", type=int, help="at most so many cases of an operator")
    parser.add_argument("--seconds", type=float, default=120.0, help="time limit of a case")
    parser.add_argument("--cuda", action="store_true", help="CUDA on the CPU, under the race checker; small sizes")
    parser.add_argument("--quick", action="store_true", help="few batches and channels, little space")
    parser.add_argument("--in-order", action="store_true", help="let no sum run in another order")
    parser.add_argument("--verbose", action="store_true", help="a line for each case")
    args = parser.parse_args()
    chosen = [case for case in read(args.cases) if not args.op or case.op in args.op]
    outcomes: dict[str, list[Outcome]] = {}
    for op in dict.fromkeys(case.op for case in chosen):
        cases = [case for case in chosen if case.op == op][: args.limit]
        outcomes[op] = [_run(case.shrunk() if args.quick or args.cuda else case, args) for case in cases]
        if len(outcomes) == 1:
            print(HEADER)
        print(_row(op, outcomes[op]), flush=True)
    every = [outcome for some in outcomes.values() for outcome in some]
    print(_row("all", every))
    if args.check and any(outcome.verdict != "right" for outcome in every):
        sys.exit(1)


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


_USUAL = ("exact", "pluto", "mapped")
HEADER = f"{'operator':30}  cases  right  wrong  refused  late  compile s: median   worst"


def _row(op: str, outcomes: list[Outcome]) -> str:
    verdicts = Counter(outcome.verdict for outcome in outcomes)
    figures = [len(outcomes), *(verdicts[kind] for kind in ("right", "wrong", "refused", "late"))]
    seconds = [outcome.compile_seconds for outcome in outcomes] or [0.0]
    columns = "".join(f"{n:{width}}" for n, width in zip(figures, (7, 7, 7, 9, 6), strict=True))
    return f"{op:30}{columns}{statistics.median(seconds):19.2f}{max(seconds):8.2f}"


if __name__ == "__main__":
    main()
