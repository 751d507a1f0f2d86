"""TSVC-2's loops through `polysched opt`, against gcc -O3 -march=native on the source, all functions aligned alike.

    python -m benchmarks.tsvc --source tsvc.c                       all loops, on one thread
    python -m benchmarks.tsvc --source tsvc.c --loop s115 s351      these
    python -m benchmarks.tsvc --source tsvc.c --threads 2           ... and means over loops of 20 us or more

FILE is src/tsvc.c of github.com/UoB-HPC/TSVC_2, with what is beside it. Prints each loop's time as it was and as it
became, compiled with -fopenmp too, and the ratio: below 1, ours is slower. A loop that is `kept` is the same text in
both: how far its ratio is from 1 says how far others may be trusted. Pin it with taskset. The exit status is 1 if a
result is wrong.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.tsvc.race import Row, build, in_turns, is_equal
from benchmarks.tsvc.source import NotTsvc, prepare
from polysched.opt.regions import Job
from polysched.opt.supervised import Input, rewrite_supervised
from polysched.runtime.toolchain import find_compiler

_LONG = 20e-6  # seconds, from which a loop counts in the second mean


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tsvc", description=__doc__.partition("\n")[0])
    parser.add_argument("--source", type=Path, required=True, metavar="FILE", help="TSVC-2's src/tsvc.c")
    parser.add_argument("--threads", type=int, nargs="+", default=[1], metavar="N")
    parser.add_argument("--loop", nargs="+", default=[], metavar="NAME", help="only these loops")
    parser.add_argument("--samples", type=int, default=31, metavar="N", help="of each program")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="where texts and programs stay")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="polysched-tsvc-") as temporary:
        folder = given.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        try:
            names = prepare(given.source, folder, given.loop)
        except NotTsvc as error:
            print(error, file=sys.stderr)
            return 2
        return _measured(folder, names, given.threads, given.samples)


def _measured(folder: Path, names: Sequence[str], threads: Sequence[int], samples: int) -> int:
    path = folder / "marked.c"
    rewritten = rewrite_supervised(Input(path=str(path), data=path.read_bytes(), include=(str(folder),)), Job())
    (folder / "ours.c").write_bytes(rewritten.text)
    refused = [name for name, region in zip(names, rewritten.regions, strict=True) if region.is_refused]
    kept = [n for n, r in zip(names, rewritten.regions, strict=True) if r.is_kept and not r.is_refused]
    loops = [name for name in names if name not in refused]
    programs = build(folder, folder / "ours.c")
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; {find_compiler().version}; {samples} samples")
    print(
        f"{len(loops)} loops; refused: {', '.join(refused) or 'none'}; kept as they were: {', '.join(kept) or 'none'}"
    )
    wrong = [name for name in loops if not all(is_equal(programs, name, count) for count in threads)]
    for count in threads:
        rows = []
        print(f"{'us':8}{'source':>10}{f'ours, {count}':>10}{'ratio':>8}")
        for loop in loops:
            rows.append(row := in_turns(programs, loop, count, samples))
            note = "  WRONG" if loop in wrong else ""
            print(f"{loop:8}{1e6 * row.source:10.3f}{1e6 * row.ours:10.3f}{row.ratio:8.2f}{note}", flush=True)
        title = f"{count} thread{'s' if count > 1 else ''}"
        _summary(title, rows)
        _summary(f"{title}, loops of {1e6 * _LONG:.0f} us or more", [r for r in rows if r.source >= _LONG])
        _summary(f"{title}, loops that changed", [row for row in rows if row.loop not in kept])
    if wrong:
        print(f"WRONG: {', '.join(wrong)}")
    return 1 if wrong else 0


def _summary(title: str, rows: Sequence[Row]) -> None:
    if not rows:
        return
    mean = math.exp(statistics.fmean(math.log(row.ratio) for row in rows))
    below = [f"{sum(row.ratio < limit for row in rows)} below {limit}" for limit in (0.95, 0.8)]
    slow = ", ".join(f"{row.loop} {row.ratio:.2f}" for row in sorted(rows, key=lambda r: r.ratio) if row.ratio < 0.95)
    print(f"{title}: {len(rows)} loops, geometric mean {mean:.2f}, {', '.join(below)}{': ' if slow else ''}{slow}")


if __name__ == "__main__":
    sys.exit(main())
