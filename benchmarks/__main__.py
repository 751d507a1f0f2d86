"""All tables again: `python -m benchmarks [WORD ...]`, or `make bench`, runs the commands that head RESULTS.md.

    make bench                    all of them, which takes a day
    make bench ONLY=stages        those with this word
    python -m benchmarks --list   their names

What each prints goes to benchmarks/results/, as text and as tables, with the machine, its load and the date. The site
plots these in place of what RESULTS.md has. Commands that need files from elsewhere (FILE, DIR) are left out.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from benchmarks.record import record

HERE = Path(__file__).parent
NEEDS_FILES = r"\b[A-Z]{3,}\b|\.so\b"


def commands() -> list[str]:
    """Those of RESULTS.md, in its order."""
    found = re.findall(r"^## `(python -m benchmarks\.[^`]+)`$", (HERE / "RESULTS.md").read_text(), re.MULTILINE)
    return [command for command in dict.fromkeys(found) if not re.search(NEEDS_FILES, command)]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("words", nargs="*", metavar="WORD", help="only commands with one of these in them")
    parser.add_argument("--list", action="store_true", help="print the commands, and run none")
    given = parser.parse_args(arguments)
    chosen = [each for each in commands() if not given.words or any(word in each for word in given.words)]
    if given.list:
        print("\n".join(chosen))
        return 0
    failed = [command for command in chosen if not record(command, HERE / "results")]
    print("\n".join(f"failed: {command}" for command in failed) or f"{len(chosen)} tables made")
    return int(bool(failed or not chosen))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
