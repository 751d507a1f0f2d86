"""The outermost loops of a C file, each with the pragmas of a region around it, and what the front end says of it.

    #pragma omp parallel for                #pragma scop
    for (i = 0; i < n; i++)         ->      for (i = 0; i < n; i++)
        a[i] = b[i];                            a[i] = b[i];
                                            #pragma endscop

Directives for the loops are left out: a kernel takes their place. Headers are looked for in all of the repository.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from clang.cindex import CursorKind, Index

from polysched.errors import InputError, PolyschedError
from polysched.frontend.c.file.clang import Node, children
from polysched.frontend.c.file.source import Source, compiler_headers, functions, parse
from polysched.frontend.c.read import CFile, open_c
from polysched.opt.regions import Job, outcome_of

_OURS = rb"omp|acc|unroll|simd|ivdep|GCC|scop|endscop"
_DIRECTIVE = re.compile(rb"^[ \t]*#[ \t]*pragma[ \t]+(?:" + _OURS + rb")\b(?:\\\r?\n|[^\n])*", re.M)
_MISSING = re.compile(r"'([^']+)' file not found")


@dataclass(frozen=True)
class Found:
    """The loops of a file, as regions of `data`."""

    path: str
    include: tuple[str, ...]
    data: bytes
    lines: tuple[int, ...]  # of the loops
    wrong: str = ""  # why it cannot be parsed


def find(path: str, root: str, given: tuple[str, ...] = ()) -> Found:
    """The outermost loops, also with headers in `given`; without those that the preprocessor leaves out."""
    data = _DIRECTIVE.sub(lambda found: re.sub(rb"[^\n]", b" ", found[0]), Path(path).read_bytes())
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
    spans = sorted({span for function in functions(source) for span in _outermost(function, data)})
    text, last = b"", 0
    for begin, end in spans:
        text += data[last:begin] + b"\n#pragma scop\n" + data[begin:end] + b"\n#pragma endscop\n"
        last = end
    lines = tuple(1 + data.count(b"\n", 0, begin) for begin, _ in spans)
    return Found(path, tuple(include), text + data[last:], lines, wrong)


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


def _outermost(node: Node, data: bytes) -> Iterator[tuple[int, int]]:
    """Where the loops begin and end in the file's bytes, with the semicolon of a body without braces."""
    for child in children(node):
        if child.kind == CursorKind.FOR_STMT:
            yield child.extent.start.offset, _end(child, data)
        else:
            yield from _outermost(child, data)


def _end(loop: Node, data: bytes) -> int:
    """clang ends a statement before its semicolon."""
    end = loop.extent.end.offset
    rest = re.compile(rb"\s*;").match(data, end)
    return rest.end() if rest and data[end - 1 : end] not in (b"}", b";") else end


def refused(found: Found, k: int, compiled: bool) -> str:
    """Why the k-th loop is refused, or "" if it is taken; also where it is to be `compiled`."""
    try:
        region = _opened(found).region(k)
        if compiled:
            outcome_of(region, found.data, Job())
    except PolyschedError as error:
        return str(error)
    return ""


@lru_cache(maxsize=1)
def _opened(found: Found) -> CFile:
    return open_c(found.path, found.include, (), (), found.data)
