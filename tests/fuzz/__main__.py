"""Long fuzzing of everything: `python -m tests.fuzz --hours 2`, or `--count 1000`, of all kinds or some.

    python -m tests.fuzz --count 200 --kinds c,cuda --first 1000
    python -m tests.fuzz --kinds c --first 1234 --count 1        one seed again

Kinds take turns. What is wrong, dies or takes more than 30 s is printed with its kind and seed; at the end there is a
table of counts. The exit status is 1 if anything was wrong.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from itertools import count
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.fuzz.kinds import KINDS
from tests.fuzz.runner import Ended, Task, run

_GOOD = ("right", "refused")


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--hours", type=float, help="how long, by the clock")
    parser.add_argument("--count", type=int, help="how many programs of each kind; without --hours, 100")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--kinds", default=",".join(KINDS), help="some of them, as in c,cuda; default: %(default)s")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--refusals", action="store_true", help="count the reasons of refusals, too")
    given = parser.parse_args()
    kinds = given.kinds.split(",")
    if unknown := set(kinds) - KINDS.keys():
        parser.error(f"there is no kind {', '.join(sorted(unknown))}: they are {', '.join(KINDS)}")
    reasons: Counter[str] = Counter()

    def report(ended: Ended) -> None:
        if ended.how not in _GOOD:
            print(f"{ended.how}: {ended.kind} {ended.seed}, {ended.seconds:.1f} s\n{ended.text}", flush=True)
        elif ended.how == "refused":
            reasons[f"{ended.kind}: {ended.text[:100]}"] += 1

    counts = run(_tasks(kinds, given.first, given.hours, given.count), given.jobs, report)
    if given.refusals:
        print("\n".join(f"{times:6} {reason}" for reason, times in reasons.most_common()))
    hows = [*_GOOD, *sorted({how for _, how in counts} - set(_GOOD))]
    print(f"{'':12}" + "".join(f"{how:>10}" for how in hows))
    for kind in kinds:
        print(f"{kind:12}" + "".join(f"{counts[kind, how]:10}" for how in hows))
    bad = sum(times for (_, how), times in counts.items() if how not in _GOOD)
    print(f"{counts.total()} programs, {bad} wrong, crashed or late")
    return int(bad > 0)


def _tasks(kinds: list[str], first: int, hours: float | None, most: int | None) -> Iterator[Task]:
    until = time.monotonic() + 3600 * hours if hours is not None else float("inf")
    if most is None and hours is None:
        most = 100
    for k in count():
        for kind in kinds:
            if time.monotonic() > until or (most is not None and k >= most):
                return
            yield kind, first + k


if __name__ == "__main__":
    sys.exit(main())
