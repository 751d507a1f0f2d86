"""Directives for loops in a C file: left out for reading, at the same offsets; and what those of OpenMP are for.

    #pragma omp parallel for        ->      (blanks)
    for (i = 0; i < n; i++)                 for (i = 0; i < n; i++)         here, "#pragma omp parallel for"

What a loop computes is what its text says without them. A compiler that obeys OpenMP runs what stands in a construct on
threads, or once for each of them, so that such loops are as they are meant to be.
"""

from __future__ import annotations

import re
from pathlib import Path

from polysched.errors import InputError
from polysched.frontend.c.file.source import Source

_WORDS = rb"omp|acc|unroll|simd|ivdep|GCC[ \t]+(?:ivdep|unroll|novector)|clang[ \t]+loop|scop|endscop"
_REST = rb"(?:\\\r?\n|[^\n])*"
_DIRECTIVE = re.compile(rb"^[ \t]*#[ \t]*pragma[ \t]+(?:" + _WORDS + rb")\b" + _REST, re.M)
_OPENMP = re.compile(rb"^[ \t]*(#[ \t]*pragma[ \t]+omp[ \t]+(\w+)" + _REST + rb")", re.M)
_ALONE = {b"threadprivate", b"barrier", b"flush", b"taskwait", b"taskyield", b"declare", b"end", b"cancel", b"requires"}
_BETWEEN = re.compile(rb"(?:\s|//[^\n]*|/\*.*?\*/|\\\r?\n|^[ \t]*#[ \t]*pragma\b" + _REST + rb")*", re.M | re.S)
_OF_SYSTEM = ("/usr/", "/opt/", "/lib/")


def blanked(data: bytes) -> bytes:
    """The file with spaces in place of directives for its loops."""
    return _DIRECTIVE.sub(lambda found: re.sub(rb"[^\r\n]", b" ", found[0]), data)


def constructs(data: bytes) -> dict[int, str]:
    """Where the statement of each directive of OpenMP begins, and the directive."""
    found = {}
    for directive in _OPENMP.finditer(data):
        if directive[2] not in _ALONE and (between := _BETWEEN.match(data, directive.end())) is not None:
            found[between.end()] = " ".join(directive[1].decode(errors="replace").replace("\\\n", " ").split())
    return found


def require_seen(source: Source, data: bytes, *, are_obeyed: bool) -> None:
    """InputError where directives of OpenMP may stand that are not seen in the file, `data`, itself."""
    headers = {include.include.name for include in source.unit.get_includes()}
    texts = {name: _text(name) for name in headers if not name.startswith(_OF_SYSTEM)} | {source.path: data}
    for name, text in texts.items():
        hint = "compile it as it is"
        if b"_Pragma" in text:
            raise InputError(f"{name} has _Pragma, which may be a directive of OpenMP", hint=hint)
        is_in_header = name != source.path and any(d[2] != b"threadprivate" for d in _OPENMP.finditer(text))
        if is_in_header and not are_obeyed:
            raise InputError(f"{name} has directives of OpenMP, which would count with threads", hint=hint)


def _text(name: str) -> bytes:
    try:
        return Path(name).read_bytes()
    except OSError:
        return b"_Pragma"
