"""Directives for loops in a C file: left out for reading, at the same offsets; and what those of OpenMP are for.

    #pragma omp parallel for        ->      (blanks)
    for (i = 0; i < n; i++)                 for (i = 0; i < n; i++)         here, "#pragma omp parallel for"

What a loop computes is what its text says without them. A compiler that obeys OpenMP runs what stands in a construct on
threads, or once for each of them, so that such loops are as they are meant to be.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from polysched.errors import InputError
from polysched.frontend.c.file.source import Source

_WORDS = rb"omp|acc|unroll|simd|ivdep|GCC[ \t]+(?:ivdep|unroll|novector)|clang[ \t]+loop|scop|endscop"
_REST = rb"(?:\\\r?\n|[^\n])*"
_OURS = {b"scop", b"endscop"}
_DIRECTIVE = re.compile(rb"^[ \t]*#[ \t]*pragma[ \t]+(" + _WORDS + rb")\b" + _REST, re.M)
_OPENMP = re.compile(rb"^[ \t]*(#[ \t]*pragma[ \t]+omp[ \t]+(\w+)" + _REST + rb")", re.M)
_ALONE = {b"threadprivate", b"barrier", b"flush", b"taskwait", b"taskyield", b"declare", b"end", b"cancel", b"requires"}
_BETWEEN = re.compile(rb"(?:\s|//[^\n]*|/\*.*?\*/|\\\r?\n|^[ \t]*#[ \t]*pragma\b" + _REST + rb")*", re.M | re.S)
_OF_SYSTEM = ("/usr/", "/opt/", "/lib/")


def blanked(data: bytes) -> bytes:
    """The file with spaces in place of directives for its loops."""
    return _DIRECTIVE.sub(lambda found: re.sub(rb"[^\r\n]", b" ", found[0]), data)


@dataclass(frozen=True)
class Construct:
    """A directive of OpenMP that is for a statement."""

    text: str

    @property
    def own(self) -> frozenset[str] | None:
        """The variables that its threads have for themselves, if it is one that a kernel may take the place of: whose
        loop computes what it does in order."""
        clauses = _CLAUSE.findall(self.text.removeprefix(_PARALLEL_FOR)) if self.text.startswith(_PARALLEL_FOR) else []
        rest = _CLAUSE.sub("", self.text).replace(",", " ").strip()
        if rest != _PARALLEL_FOR or any(word not in _HARMLESS for word, _ in clauses):
            return None
        return frozenset(name.strip() for word, names in clauses if word == "private" for name in names.split(","))


_PARALLEL_FOR = "#pragma omp parallel for"
_CLAUSE = re.compile(r"\b(\w+)[ ]*\(([^()]*)\)")
_HARMLESS = {"private", "shared", "default", "schedule", "collapse"}


def constructs(data: bytes) -> dict[int, Construct]:
    """The directives of OpenMP, by where their statements begin."""
    found: dict[int, Construct] = {}
    for directive in _OPENMP.finditer(data):
        if directive[2] not in _ALONE and (between := _BETWEEN.match(data, directive.end())) is not None:
            text = directive[1].decode(errors="replace").replace("\r", "").replace("\\\n", " ")
            found.setdefault(between.end(), Construct(" ".join(text.split())))
    return found


def begins(data: bytes) -> dict[int, int]:
    """Where the directives begin that stand right before a statement and are for it, by where that begins."""
    found: dict[int, int] = {}
    for directive in _DIRECTIVE.finditer(data):
        omp = _OPENMP.match(data, directive.start())
        is_for_it = omp[2] not in _ALONE if omp else directive[1] not in _OURS
        if is_for_it and (between := _BETWEEN.match(data, directive.end())) is not None:
            found.setdefault(between.end(), directive.start())
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
