"""The nests at a place of the command line: FILE.c, FILE.c:FUNCTION, FILE.py:NEST."""

from __future__ import annotations

import argparse
import runpy
from collections.abc import Sequence
from pathlib import Path

from polysched.errors import InputError, Loc
from polysched.frontend.c.read import read_c
from polysched.frontend.op.op import Op
from polysched.frontend.python import Nest
from polysched.ir.nodes import Function


def nests_of(given: argparse.Namespace, *, all_of_python: bool = False) -> Sequence[Nest | Op | Function]:
    """The nests at the place FILE.c, FILE.c:FUNCTION or FILE.py:NEST, and FILE.py if asked for."""
    if all_of_python and given.place.endswith(".py"):
        found = _nests_in(given.place)
        if not found:
            raise InputError(f"'{given.place}' has no nest", hint="a nest is a Python function under @polysched.nest")
        return list(found.values())
    path, name = (given.place, "") if given.place.endswith(".c") else given.place.rpartition(":")[::2]
    return _c_nests(path, name, given) if path.endswith(".c") else [_nest(given.place)]


def _c_nests(path: str, name: str, given: argparse.Namespace) -> list[Function]:
    """The nest of that name, or all of the file if it is empty."""
    regions = read_c(path, include=given.include, define=given.define, pure=given.pure)
    functions = [region.function for region in regions]
    found = [function for function in functions if name in ("", function.name)]
    if not found:
        names = ", ".join(function.name for function in functions)
        raise InputError(f"'{path}' has no region '{name}'", hint=f"it has: {names}")
    return found


def _nest(place: str) -> Nest | Op:
    """The nest that FILE.py:NAME means; runs the file as an import does."""
    path, separator, name = place.rpartition(":")
    if not separator:
        raise InputError(f"'{place}' names no nest", hint="write FILE.c, FILE.c:FUNCTION or FILE.py:NAME")
    nests = _nests_in(path)
    if name not in nests:
        raise InputError(f"'{path}' has no nest '{name}'", hint=f"it has: {', '.join(sorted(nests)) or 'none'}")
    return nests[name]


def _nests_in(path: str) -> dict[str, Nest | Op]:
    """The nests and operators of a Python file, in its order."""
    if not Path(path).is_file():
        raise InputError(f"there is no file '{path}'")
    if not path.endswith(".py"):
        raise InputError(f"'{path}' is not a Python file", hint="a nest is a Python function under @polysched.nest")
    try:
        names = runpy.run_path(path)
    except SyntaxError as error:
        loc = Loc(error.filename or path, error.lineno or 1, error.offset or 1, (error.text or "").rstrip("\n"))
        raise InputError(f"this is not Python: {error.msg}", loc) from error
    return {name: value for name, value in names.items() if isinstance(value, Nest | Op)}
