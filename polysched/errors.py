"""What can go wrong, one class a kind, and where in the user's source it did.

    kernel.py:12:5: subscript 'i * n + j' of 'A' is not affine: i * n
          A[i * n + j] = 0
          ^
    hint: use a dimension for each index, as in A[i, j] for A[i * n + j]; ...
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Loc:
    """A place in the user's source; `line` and `column` count from 1."""

    file: str
    line: int
    column: int
    text: str = ""  # the whole source line, without its newline

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"

    def caret(self) -> str:
        """The source line and a caret under the column; empty when the text is unknown. What would control a terminal
        is shown as U+FFFD."""
        if not self.text:
            return ""
        line = "".join(c if c.isprintable() or c == "\t" else "\N{REPLACEMENT CHARACTER}" for c in self.text)
        blank = "".join("\t" if character == "\t" else " " for character in line[: self.column - 1])
        return f"  {line}\n  {blank}^"


class PolyschedError(Exception):
    """Base of every error that polysched raises on purpose."""


class InputError(PolyschedError):
    """The nest given by the user cannot be compiled: what is wrong, where, and what would be right."""

    def __init__(self, message: str, loc: Loc | None = None, hint: str = ""):
        self.message, self.loc, self.hint = message, loc, hint
        lines = [f"{loc}: {message}" if loc else message, loc.caret() if loc else "", f"hint: {hint}" if hint else ""]
        super().__init__("\n".join(line for line in lines if line))


class IllegalSchedule(PolyschedError):
    """A schedule or an edit of one breaks a dependence; the message names a violated pair of instances."""

    def __init__(self, message: str, *, violation: object = None, hint: str = "", tree: object = None):
        self.violation, self.hint = violation, hint  # a `Violation`, where a pair of instances is known
        self.tree = tree  # the `Tree` that was refused
        super().__init__(f"{message}\nhint: {hint}" if hint else message)


class BudgetExceeded(PolyschedError):
    """A solve outgrew its budget; callers answer with their named fallback."""


class CannotLower(BudgetExceeded):
    """isl's loops for a tree cannot be used, however long it may take; another tree is tried."""


class ToolchainError(PolyschedError):
    """A compiler is missing or failed: the command, its message, the line of ours that it names."""


class LaunchError(PolyschedError):
    """A compiled kernel cannot run with these arguments, or on this machine; nothing has been run."""


class KernelError(PolyschedError):
    """A kernel did what CUDA and OpenCL leave undefined; the message names the kernel, the threads and the line."""


class ZeroDivisorError(PolyschedError, ZeroDivisionError):
    """A kernel on the CPU has divided an integer by zero; it has run to its end, with 1 for the zero."""


class VerificationError(PolyschedError):
    """A schedule or a kernel of ours is wrong, and please report it; or a claim of yours is."""
