"""The stage of the expressions, evaluated on all cases: `python -m benchmarks.operators --evaluate`.

Each column of a case (columns.py) is found in a process of its own, within a time limit. Findings are lines of a file
(--json), added as they come: a run that is stopped, or made in parts, goes on from there, and the table is of all that
the file has. Lines of the same case and column add up: samples of time from several processes are one sample.

An operator that seems to lose time is measured again, longer, before it counts.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import polysched as ps
from benchmarks.operators.cases import Case
from benchmarks.operators.check import within
from benchmarks.operators.columns import COLUMNS, Found, has_gpu
from benchmarks.operators.evaluation_table import Results, good, lines, seems_to_lose
from polysched.errors import PolyschedError

_AGAIN = 2  # times that what seems to lose is measured again
_LONGER = 4  # each of them


def add_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("--evaluate")
    group.add_argument("--columns", nargs="*", choices=list(COLUMNS), default=list(COLUMNS), help="find only these")
    group.add_argument("--json", type=Path, help="add what is found to this file, and do not find again what it has")
    group.add_argument("--sass-cases", type=int, default=2, help="of an operator, the first so many go through nvcc")
    group.add_argument("--rounds", type=float, default=1.0, help="seconds to spend on rounds of a case's time")


def evaluate(groups: Mapping[str, Sequence[Case]], args: argparse.Namespace) -> bool:
    """Prints the table; does the stage reach what it must?"""
    findings = Findings(args.json, ps.Options(reorder_reductions=not args.in_order), args.seconds)
    columns = [column for column in args.columns if column != "gpu" or within(args.seconds, has_gpu)]
    done, total = 0, sum(map(len, groups.values()))
    for op, cases in groups.items():
        for number, case in enumerate(cases):
            for column in columns:
                if not findings.has(case, column) and (column != "sass" or number < args.sass_cases):
                    findings.find(case, column, args.rounds)
            done += 1
            print(f"{done}/{total} {case}", file=sys.stderr, flush=True)
        for again in range(1, _AGAIN + 1):
            if "time" in columns and seems_to_lose(findings.of(cases)):
                print(f"{op} seems to lose time, and is measured again", file=sys.stderr, flush=True)
                for case in {str(case): case for case in cases}.values():  # equal ones share their samples
                    if findings.is_timed(case):
                        findings.find(case, "time", args.rounds * _LONGER**again)
    results = {op: findings.of(cases) for op, cases in groups.items()}
    print("\n".join(lines(results, args.verbose)))
    return good(results, args.columns)


@dataclass
class Findings:
    """What is known of cases, in a file and here."""

    path: Path | None
    options: ps.Options
    seconds: float  # that a column of a case may take
    known: dict[tuple[str, str], Found] = field(default_factory=dict)  # by case and column

    def __post_init__(self) -> None:
        if self.path and self.path.exists():
            for line in self.path.read_text().splitlines():
                entry = json.loads(line)
                self._add(entry.pop("case"), entry.pop("column"), Found(**entry))

    def has(self, case: Case, column: str) -> bool:
        """Is something known that trying again would not change?"""
        found = self.known.get((str(case), column))
        return found is not None and (bool(found.values) or found.is_left_out)

    def is_timed(self, case: Case) -> bool:
        return bool(self.known.get((str(case), "time"), Found()).values)

    def of(self, cases: Sequence[Case]) -> Results:
        """Of each case its columns."""
        return [
            (name, {column: self.known[name, column] for column in COLUMNS if (name, column) in self.known})
            for name in map(str, cases)
        ]

    def find(self, case: Case, column: str, rounds: float) -> None:
        """A column of a case, in a process of its own; what fails is a note."""
        try:
            found = within(self.seconds + rounds, _found, column, case, self.options, rounds)
        except (TimeoutError, EOFError) as error:
            found = Found(note=str(error))
        self._add(str(case), column, found)
        if self.path:
            with self.path.open("a") as file:
                file.write(json.dumps({"case": str(case), "column": column, **asdict(found)}) + "\n")

    def _add(self, case: str, column: str, found: Found) -> None:
        before = self.known.get((case, column))
        if before and before.values and found.values:
            values = {mode: before.values[mode] + found.values[mode] for mode in found.values}
            found = Found(values, found.unchanged)
        if found.values or found.is_left_out or not (before and before.values):
            self.known[case, column] = found


def _found(column: str, case: Case, options: ps.Options, rounds: float) -> Found:
    try:
        return COLUMNS[column](case, options, rounds)
    except PolyschedError as error:
        return Found(note=f"{type(error).__name__}: {str(error).splitlines()[0]}")
