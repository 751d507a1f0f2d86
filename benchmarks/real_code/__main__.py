"""How much of C as people write it the front end takes, without pragmas: each outermost `for` of each file.

    python -m benchmarks.real_code DIR...                 a row per repository, and what keeps most loops out
    python -m benchmarks.real_code DIR... --compile       ... compiled, too
    python -m benchmarks.real_code DIR... --each          ... and a line per loop

Each DIR is a repository, or what is left of one, such as clones of github.com/karpathy/llm.c, pjreddie/darknet and
UK-MAC/CloverLeaf_Serial. Each file is read in a process of its own. A loop has one reason, the first that is found.
It is read in parts where statements that no nest can be stay as they are, in their order, around what is read.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from os import cpu_count
from pathlib import Path

from benchmarks.real_code.nests import Found, find, reading
from polysched.errors import BudgetExceeded, PolyschedError
from polysched.support.worker import Worker

_SECONDS = 30.0
_MEMORY = 8 << 30
_REASONS = 40


@dataclass(frozen=True)
class Verdict:
    """Of one loop, or of a file that has none and fails."""

    repository: str
    file: str
    line: int
    how: str  # taken, in parts, refused, crashed, late, or unread for those of a file that does not parse
    why: str = ""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.real_code", description=__doc__.partition("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR", help="repositories")
    parser.add_argument("--compile", action="store_true", help="compile what is read, too")
    parser.add_argument("--each", action="store_true", help="a line per loop")
    more = "headers that the repositories lack, as a stub of mpi.h"
    parser.add_argument("-I", dest="include", action="append", default=[], metavar="FOLDER", help=more)
    parser.add_argument("--jobs", type=int, default=cpu_count() or 1, help="processes")
    given = parser.parse_args()
    for folder in given.folders:
        if not folder.is_dir():
            print(f"there is no folder '{folder}'", file=sys.stderr)
            return 2
    files = [(folder, path) for folder in given.folders for path in sorted(folder.rglob("*.c")) if path.is_file()]
    with ThreadPoolExecutor(given.jobs) as pool:
        every = pool.map(lambda each: list(_verdicts(*each, tuple(given.include), compiled=given.compile)), files)
        verdicts = [verdict for each in every for verdict in each]
    if given.each:
        for each in verdicts:
            print(f"{each.repository}/{each.file}:{each.line}: {each.how}{': ' if each.why else ''}{each.why}")
    print("\n".join(_table(given.folders, Counter(folder.name for folder, _ in files), verdicts)))
    print("\n".join(_reasons(verdicts)))
    return 0


def _verdicts(root: Path, path: Path, include: tuple[str, ...], *, compiled: bool) -> Iterator[Verdict]:
    file = str(path.relative_to(root))
    with Worker(_MEMORY) as worker:
        try:
            found: Found = worker.call(_SECONDS, find, str(path), str(root), include)
        except (PolyschedError, RuntimeError) as error:
            yield Verdict(root.name, file, 0, _failed(error), str(error))
            return
        for k, line in enumerate(found.lines):
            if found.wrong:
                yield Verdict(root.name, file, line, "unread", f"the file does not parse: {_plain(found.wrong)}")
                continue
            try:
                how, why = worker.call(_SECONDS, reading, found, k, compiled)
                yield Verdict(root.name, file, line, how, _plain(why))
            except (PolyschedError, RuntimeError) as error:
                yield Verdict(root.name, file, line, _failed(error), str(error))


def _failed(error: Exception) -> str:
    return "late" if isinstance(error, BudgetExceeded) and "it took more than" in str(error) else "crashed"


def _plain(message: str) -> str:
    """The first line of a message, without its place."""
    return re.sub(r"^[^ ]*:\d+:\d+: ", "", message.partition("\n")[0])


def _table(folders: Sequence[Path], files: Counter[str], verdicts: Sequence[Verdict]) -> Iterator[str]:
    yield f"{'':24}{'files':>8}{'unread':>8}{'nests':>8}{'whole':>8}{'parts':>8}{'%':>6}{'crashed':>9}{'late':>6}"
    for name in [*(folder.name for folder in folders), "all"]:
        mine = [verdict for verdict in verdicts if name in (verdict.repository, "all")]
        how = Counter(verdict.how for verdict in mine)
        unread = len({(verdict.repository, verdict.file) for verdict in mine if verdict.how == "unread"})
        nests = sum(verdict.line > 0 for verdict in mine)
        count = files[name] if name != "all" else files.total()
        share = 100 * (how["taken"] + how["in parts"]) / max(nests, 1)
        row = f"{name:24}{count:8}{unread:8}{nests:8}{how['taken']:8}{how['in parts']:8}{share:6.0f}"
        yield f"{row}{how['crashed']:9}{how['late']:6}"


def _reasons(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """What keeps most loops out, what differs in quotes taken together, each with a place."""
    by_reason: dict[str, list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        if verdict.why:
            by_reason[re.sub(r"'[^']*'", "'...'", verdict.why)].append(verdict)
    yield f"\n{'nests':>6}{'files':>6}  reason, and a place"
    for reason, mine in sorted(by_reason.items(), key=lambda item: -len(item[1]))[:_REASONS]:
        files = len({(verdict.repository, verdict.file) for verdict in mine})
        first = mine[0]
        yield f"{len(mine):6}{files:6}  {reason} ({first.repository}/{first.file}:{first.line})"


if __name__ == "__main__":
    sys.exit(main())
