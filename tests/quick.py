"""Which cases of parametrized tests `make test` runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

QUICK = Path(__file__).with_name("quick_cases.txt")


def quick_cases() -> Iterator[tuple[str, int]]:
    """The tests of the table, and how many cases of each are quick."""
    for line in QUICK.read_text().splitlines():
        if not line.startswith("#"):
            count, name = line.split()
            yield name, int(count)
