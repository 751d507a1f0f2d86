"""A paragraph, heading or table of the page of benchmarks."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from docs.site_parts.results_tables import Table

UNIT = r"\b(ms|us|milliseconds|microseconds|seconds|sectors)\b"


@dataclass
class Piece:
    """Its text, and what it is in and after."""

    text: str
    section: str
    context: str = ""
    tables: list[Table] = field(default_factory=list)

    def unit(self) -> str:
        found = re.search(UNIT, " ".join(line for table in self.tables for line in table.header))
        found = found or re.search(UNIT, f"{self.text.splitlines()[0]} {self.context}")
        return found[0] if found else ""
