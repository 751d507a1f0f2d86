"""Every pass over expressions on random programs: `python tests/fuzz_expressions.py --cases 20000 --seed 0`.

Each case is one program and one pass, or the whole stage, held against the interpreter as tests/codegen/soundness.py
says; what the stage makes for C is compiled and run, too. A failure is printed with its seed and a smaller program that
fails alike; `--pass NAME` tests that one alone. The default takes about 6 minutes on two processors.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.codegen.soundness import PASSES, SOURCE, Case, case, check_compiled, failure
from tests.shrink import shrink

CHUNK = 100
COMPILED = "stage for c"


def run(seeds: range, name: str | None) -> tuple[Counter[str], list[str]]:
    """How many cases of each pass were run, and a report of each that failed."""
    cases = [case(seed, name) for seed in seeds]
    reports = [_report(one, why) for one in cases if (why := failure(one))]
    reports += _failures_in_c([one for one in cases if one.name == COMPILED])
    return Counter(one.name for one in cases), reports


def _report(one: Case, why: str) -> str:
    def fails_alike(fn) -> bool:
        other = failure(replace(one, fn=fn))
        return other is not None and _kind(other) == _kind(why)

    small = replace(one, fn=shrink(one.fn, fails_alike, one.stage))
    option = f'--seed {one.seed} --cases 1 --pass "{one.name}"'
    return f"{option}\n{why.splitlines()[0]}\nshrunk:\n{small.fn}\n{failure(small)}\n"


def _kind(why: str) -> str:
    """What it is about, whatever the values."""
    return why[:28]


def _failures_in_c(cases: list[Case]) -> Iterator[str]:
    try:
        check_compiled(cases)
    except Exception as error:
        yield f"{error}\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0, help="of the first case")
    parser.add_argument("--pass", dest="name", choices=PASSES, help="test this one alone")
    parser.add_argument("--jobs", type=int, help="processes; all processors by default")
    given = parser.parse_args()
    start, ran, failed, end = time.perf_counter(), Counter(), 0, given.seed + given.cases
    with ProcessPoolExecutor(given.jobs) as pool:
        chunks = [range(first, min(first + CHUNK, end)) for first in range(given.seed, end, CHUNK)]
        for counts, reports in pool.map(run, chunks, [given.name] * len(chunks)):
            ran += counts
            failed += len(reports)
            for report in reports:
                print(report, flush=True)
    for name, count in ran.items():
        print(f"{count:6} {name}{' (source)' if name in SOURCE else ''}")
    print(f"{ran.total()} cases, {failed} failures, {time.perf_counter() - start:.0f} s")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
