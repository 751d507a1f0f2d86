"""Long fuzzing: `python tests/fuzz.py --first 500 --count 5000` compiles random nests and compares every bit.

Each nest goes through the whole pipeline with random options, as in test_pipeline.py; a failure prints its seed.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback

from test_pipeline import check_random_nest


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=500, help="the first seed")
    parser.add_argument("--count", type=int, default=1000, help="how many nests")
    arguments = parser.parse_args()
    failed = 0
    for seed in range(arguments.first, arguments.first + arguments.count):
        start = time.perf_counter()
        try:
            check_random_nest(seed)
        except Exception:
            failed += 1
            print(f"seed {seed}:")
            traceback.print_exc(file=sys.stdout)
        if time.perf_counter() - start > 10:
            print(f"seed {seed} took {time.perf_counter() - start:.1f} s", flush=True)
    print(f"{arguments.count - failed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
