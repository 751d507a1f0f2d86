"""What became of a loop of a file, as a line of a report.

    cg.c:12:5: for in conj_grad: taken: 3 loops, 1 parallel; predicted 1.2 ms in place of 3.1 ms
    cg.c:30:5: for in main: refused: a call of 'f', which may write memory
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from polysched.opt.auto.find import Loop


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Of one loop."""

    line: int
    column: int
    kind: str
    function: str
    # taken; left, though it can be compiled; refused; or inside of one that is taken or left
    how: Literal["taken", "left", "refused", "inside"] = "left"
    why: str = ""
    seconds: float = 0.0  # that it took to tell

    @staticmethod
    def of(loop: Loop) -> Verdict:
        return Verdict(line=loop.line, column=loop.column, kind=loop.kind, function=loop.function)

    def __str__(self) -> str:
        how = "left as it is" if self.how == "left" else self.how
        return f"{self.line}:{self.column}: {self.kind} in {self.function}: {how}{': ' if self.why else ''}{self.why}"
