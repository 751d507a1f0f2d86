"""Functions whose bodies are read in the place of their calls: what their names stand for, and where errors stand.

EPS = 1e-5
def norm(x): return x / np.sqrt((x * x).mean() + EPS)       known_to(norm)["EPS"]     1e-5
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cache
from types import CellType, FunctionType
from typing import Any

import numpy as np

from polysched.errors import InputError, Loc
from polysched.frontend.python_source import Source, definition_of

_KNOWN = (bool, int, float, str, tuple, list, FunctionType, np.generic, np.ndarray)


def known_to(function: FunctionType) -> dict[str, Any]:
    """What names outside of a function stand for, of what an operator can use: numbers, tuples, functions."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    enclosed = {name: cell.cell_contents for name, cell in cells if _is_filled(cell)}
    found = {**function.__globals__, **enclosed}
    values = {name: _as_function(value) for name, value in found.items()}
    return {name: value for name, value in values.items() if isinstance(value, _KNOWN)}


def _is_filled(cell: CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:  # a name that is assigned later
        return False
    return True


def _as_function(value: Any) -> Any:
    """Of an operator, the Python function that it is made of."""
    function = getattr(value, "python", None)
    return function if isinstance(function, FunctionType) else value


definition_read = cache(definition_of)


@dataclass(frozen=True)
class Elsewhere(Source):
    """Code that is not the user's: what is made of it stands where it is called, as errors from it do."""

    place: Loc | None = None

    def loc(self, node: ast.AST) -> Loc:
        assert self.place is not None
        return self.place

    def error(self, node: ast.AST, message: str, hint: str = "") -> InputError:
        return InputError(message, None, hint)
