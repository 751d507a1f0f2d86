"""Random operators against NumPy: `python tests/fuzz_ops.py --count 1000 --seed 0`."""

from __future__ import annotations

import argparse
import random
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[:0] = map(str, Path(__file__).parents[:2])

from op_programs import agree, random_program


def main() -> int:
    """0 if every program computes what NumPy does."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    refused = wrong = undefined = 0
    for seed in range(given.seed, given.seed + given.count):
        text, arguments, not_read = random_program(random.Random(seed))
        refused += not_read
        try:
            agree(text, **arguments)
        except OverflowError:  # a float that does not fit in the integer that it is cast to
            undefined += 1
        except Exception as error:
            wrong += 1
            print(f"seed {seed}: {type(error).__name__}: {error}\n{text}\n", flush=True)
    print(f"{given.count} programs, {wrong} wrong, {undefined} undefined; {refused} statements refused that NumPy runs")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
