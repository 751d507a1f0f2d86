"""Searches for faster schedules of PolyBench's kernels: what they gain, and what the learned model is worth.

    python -m benchmarks.tuning --dataset large --trials 100       searches, and the table; the same command goes on
    python -m benchmarks.tuning --dataset large --table            the table alone, of what the database holds
    python -m benchmarks.tuning --dataset large --learn            and trains the model that comes with polysched anew

--kernel NAME ... takes some kernels only, --seconds limits the search of each, --database names a file for all of it.
Of each kernel, the model is asked that has learned from the others alone, and held against what is no noise.
"""

from __future__ import annotations

import argparse
import os

from benchmarks.polybench import KERNELS
from benchmarks.polybench.sizes import SETS
from benchmarks.tuning.held_out import held_out
from benchmarks.tuning.searches import examples_in, known, search
from benchmarks.tuning.table import table
from polysched.opt.tuning.learned.model import fitted, write


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.tuning", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--dataset", choices=SETS, default="large", help="the sizes to tune at")
    parser.add_argument("--trials", type=int, default=100, help="kernels to have measured of each, known ones counted")
    parser.add_argument("--seconds", type=float, help="for the search of each; what is under way is finished")
    parser.add_argument("--kernel", choices=list(KERNELS), nargs="+", default=list(KERNELS), metavar="NAME")
    parser.add_argument("--database", metavar="FILE", help="else what POLYSCHED_DATABASE names, or the usual one")
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--table", action="store_true", help="measures nothing")
    mode.add_argument("--learn", action="store_true", help="measures nothing, and writes the model that is shipped")
    given = parser.parse_args()
    if given.database:
        os.environ["POLYSCHED_DATABASE"] = given.database
    if not given.table and not given.learn:
        for name in given.kernel:
            search(name, given.dataset, given.trials, given.seconds)
    measured = {name: known(name, given.dataset) for name in given.kernel}
    examples = {name: examples_in(found) for name, found in measured.items()}
    sure = {name: examples_in([each for each in found if each.state != "noisy"]) for name, found in measured.items()}
    print(table(measured, held_out(examples, sure)))
    if given.learn:
        every = [example for of in examples.values() for example in of]
        write(fitted(every))
        print(f"the model that is shipped has learned from {len(every)} kernels")


if __name__ == "__main__":
    main()
