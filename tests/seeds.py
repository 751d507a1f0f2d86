"""A check on many random seeds, as a command: which fail, and which take long."""

from __future__ import annotations

import argparse
import os
import sys
import time
import traceback
from collections.abc import Callable

SLOW = 10  # seconds
os.environ["POLYSCHED_RESULTS"] = "off"  # what is tested is the compiler of now


def run_seeds(check: Callable[[int], None], description: str | None, *, first: int, count: int) -> int:
    """The exit status: 1 if `check` raised for one of the seeds that the command line, or else the defaults, name."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=first, help="the first seed")
    parser.add_argument("--count", type=int, default=count, help="how many nests")
    arguments = parser.parse_args()
    failed = 0
    for seed in range(arguments.first, arguments.first + arguments.count):
        start = time.perf_counter()
        try:
            check(seed)
        except Exception:
            failed += 1
            print(f"seed {seed}:")
            traceback.print_exc(file=sys.stdout)
        if time.perf_counter() - start > SLOW:
            print(f"seed {seed} took {time.perf_counter() - start:.1f} s", flush=True)
    print(f"{arguments.count - failed} passed, {failed} failed")
    return int(failed > 0)
