"""Nests of a place tried one by one: a refusal is said on standard error, and the others go on.

    with attempts:
        print(optimize(nest))
    return attempts.status      2 if a nest was refused
"""

from __future__ import annotations

import sys
from types import TracebackType

from polysched.errors import BudgetExceeded, InputError


class Attempts:
    """A context to be entered for each nest."""

    status = 0

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> bool:
        if not isinstance(error, InputError | BudgetExceeded):
            return False
        print(error, file=sys.stderr)
        self.status = 2
        return True
