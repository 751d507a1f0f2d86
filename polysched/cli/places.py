"""The nests at a place of the command line: FILE.c, FILE.c:FUNCTION, FILE.py:NEST."""

from __future__ import annotations

import argparse
import runpy
from collections.abc import Sequence
from contextlib import AbstractContextManager
from itertools import chain
from pathlib import Path

from polysched.errors import InputError, Loc
from polysched.frontend.c.read import CFile, open_c
from polysched.frontend.op.op import Op
from polysched.frontend.python import Nest
from polysched.ir.nodes import Function
from polysched.plan.prepare import function_of
from polysched.support.entry import entry


def nests_of(
    given: argparse.Namespace,
    attempts: AbstractContextManager[object],
    *,
    all_of_python: bool = False,
    line: int | None = None,
) -> Sequence[Nest | Op | Function]:
    """The nests at the place FILE.c, FILE.c:FUNCTION or FILE.py:NEST, and FILE.py if asked for.

    Of a C file with `line`, those of the region around it. `attempts` is entered to read each region.
    """
    if all_of_python and given.place.endswith(".py"):
        found = _nests_in(given.place)
        if not found:
            raise InputError(f"'{given.place}' has no nest", hint="a nest is a Python function under @polysched.nest")
        return list(found.values())
    path, name = (given.place, "") if given.place.endswith(".c") else given.place.rpartition(":")[::2]
    return _c_nests(path, name, line, given, attempts) if path.endswith(".c") else [_nest(given.place)]


def own_sizes(nests: Sequence[Nest | Op | Function], given: argparse.Namespace) -> list[dict[str, int]]:
    """For each nest those of --sizes that it has; InputError for one that none has."""
    sizes = [function_of(nest).sizes for nest in nests]
    known = list(dict.fromkeys(chain.from_iterable(sizes)))
    if nests and (unknown := [name for name in given.sizes if name not in known]):
        hint = f"the sizes are: {', '.join(known) or 'none'}"
        raise InputError(f"no nest of '{given.place}' has a size {', '.join(unknown)}", hint=hint)
    return [{name: value for name, value in given.sizes.items() if name in own} for own in sizes]


def _c_nests(
    path: str, name: str, line: int | None, given: argparse.Namespace, attempts: AbstractContextManager[object]
) -> list[Function]:
    """The nest of that name and around that line, or all of the file if neither is given; no other region is read."""
    file = entry(open_c)(path, tuple(given.include), tuple(given.define), tuple(given.pure), None)
    asked = [k for k, span in enumerate(file.spans) if name in ("", span[2]) and line in (None, *_lines(file, k))]
    if name and not asked:
        names = ", ".join(name for _, _, name in file.spans)
        raise InputError(f"'{path}' has no region '{name}'", hint=f"it has: {names}")
    nests = []
    for k in asked:
        with attempts:
            nests.append(entry(file.region)(k).function)
    return nests


def _lines(file: CFile, k: int) -> range:
    """The numbers of the lines of a region."""
    first, last = (1 + file.macros.source.data.count(b"\n", 0, offset) for offset in file.spans[k][:2])
    return range(first, last)


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
