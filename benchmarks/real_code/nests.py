"""The outermost loops of a C file, and what the front end says of each, without its directives: a kernel takes their
place. Headers are looked for in all of the repository."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from clang.cindex import Index

from polysched.errors import InputError, PolyschedError
from polysched.frontend.c.file.macros import Macros
from polysched.frontend.c.file.marked import pair_around
from polysched.frontend.c.file.source import Source, compiler_headers, parse
from polysched.frontend.c.read import CFile, file_of
from polysched.opt.auto.directives import blanked
from polysched.opt.auto.find import Loop, loops_of
from polysched.opt.regions import Job, outcome_of

_MISSING = re.compile(r"'([^']+)' file not found")


@dataclass(frozen=True)
class Found:
    """The loops of a file, as regions of `data`."""

    path: str
    include: tuple[str, ...]
    data: bytes
    spans: tuple[tuple[int, int], ...]
    lines: tuple[int, ...]  # of the loops
    wrong: str = ""  # why it cannot be parsed


def find(path: str, root: str, given: tuple[str, ...] = ()) -> Found:
    """The outermost loops, also with headers in `given`; without those that the preprocessor leaves out."""
    data = blanked(Path(path).read_bytes())
    include, wrong = list(given), ""
    while True:
        try:
            source = parse(path, include, (), data)
            break
        except InputError as error:
            folder = _folder_of(str(error), root, include)
            if folder is None:
                wrong = str(error).partition("\n")[0]
                arguments = ["-x", "c", *(f"-I{folder}" for folder in include), *compiler_headers()]
                source = Source(path, data, Index.create().parse(path, arguments, [(path, data)]))
                break
            include.append(folder)
    loops = list(_outermost(loops_of(source)))
    spans = tuple((loop.begin, loop.end) for loop in loops)
    return Found(path, tuple(include), data, spans, tuple(loop.line for loop in loops), wrong)


def _outermost(loops: Sequence[Loop]) -> Iterator[Loop]:
    """Those with a head of their own, also in a while."""
    for loop in loops:
        if loop.kind == "for":
            yield loop
        else:
            yield from _outermost(loop.inside)


def _folder_of(message: str, root: str, tried: list[str]) -> str | None:
    """A folder of the repository in which the missing header of a message is."""
    missing = _MISSING.search(message)
    if missing is None:
        return None
    for header in sorted(Path(root).rglob(Path(missing[1]).name)):
        folder = header.parents[len(Path(missing[1]).parts) - 1]
        if (folder / missing[1]).is_file() and str(folder) not in tried:
            return str(folder)
    return None


def reading(found: Found, k: int, compiled: bool) -> tuple[str, str]:
    """How the k-th loop is read, "taken", "in parts" if statements of it stay as they are, or "refused", and why; also
    where it is to be `compiled`."""
    try:
        region = _opened(found).region(k)
        if compiled:
            outcome_of(region, found.data, Job())
    except PolyschedError as error:
        return "refused", str(error)
    return "in parts" if region.texts else "taken", ""


@lru_cache(maxsize=1)
def _opened(found: Found) -> CFile:
    source = parse(found.path, found.include, (), found.data)
    return file_of(Macros(source), [pair_around(*span) for span in found.spans], keeps_texts=True)
