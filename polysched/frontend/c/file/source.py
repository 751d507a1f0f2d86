"""A C file, parsed by libclang: its syntax tree, true places for messages, and clang's own complaints as ours.

    kernel.c:3:12: use of undeclared identifier 'm'
        for (i = 0; i < m; i++)
                        ^

`require_cpp` tells whether it is C++ too, so that it can be a part of a CUDA file:

    double *p = malloc(n);              no: C++ has no conversion from void *
    void f(int n, double a[n][n])       no: C++ has no arrays of variable length
    void f(double *restrict p)          yes: what C++ only spells in another way is defined in front of it
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import chain
from pathlib import Path

from clang.cindex import (
    Cursor,
    CursorKind,
    Diagnostic,
    Index,
    SourceLocation,
    TokenKind,
    TranslationUnit,
    TranslationUnitLoadError,
)

from polysched.errors import InputError, Loc
from polysched.frontend.c.file.clang import Node, stripped, walk

_ALIAS = re.compile(rb"\b(?:__)?(?:alias|weakref)(?:__)?\s*(?:\(|$)")  # attributes


@dataclass(frozen=True)
class Source:

    path: str
    data: bytes
    unit: TranslationUnit
    arguments: tuple[str, ...] = ()  # for clang
    misread: Mapping[str, str] = field(default_factory=dict)  # headers of the compiler -> what clang makes of them

    def loc(self, node: Node) -> Loc:
        """Where the node starts; inside of a macro, where that is used."""
        return self.place(node.extent.start)

    def place(self, location: SourceLocation) -> Loc:
        name = location.file.name if location.file else self.path
        lines = self.lines if name == self.path else _lines(name)
        raw = lines[location.line - 1] if 0 < location.line <= len(lines) else b""
        column = len(raw[: location.column - 1].decode(errors="replace")) + 1
        return Loc(name, location.line, column, raw.decode(errors="replace").rstrip("\r\n"))

    def at(self, offset: int) -> Loc:
        """The place of a byte of the main file."""
        return self.place(SourceLocation.from_offset(self.unit, self.unit.get_file(self.path), offset))

    def error(self, node: Node, message: str, hint: str = "") -> InputError:
        return InputError(message, self.loc(node), hint)

    def text(self, node: Node) -> str:
        """The text of the node on one line, for messages."""
        return " ".join(self.data[node.extent.start.offset : node.extent.end.offset].decode(errors="replace").split())

    def is_here(self, node: Node) -> bool:
        """Does it stand in the main file?"""
        return bool(node.location.file and node.location.file.name == self.path)

    @cached_property
    def lines(self) -> list[bytes]:
        return self.data.split(b"\n")

    @cached_property
    def has_threadprivate(self) -> bool:
        """Is there OpenMP's `threadprivate`, which clang does not tell of, in the file or in what it includes?"""
        return self._has(b"threadprivate")

    @cached_property
    def has_may_alias(self) -> bool:
        """May there be types that C's rule of effective types does not hold for?"""
        return self._has(b"may_alias")

    @cached_property
    def has_aliases(self) -> bool:
        """May a function be called by a name that is not its own?"""
        return any(_ALIAS.search(line) for line in self._every_line())

    def _has(self, word: bytes) -> bool:
        return any(word in line for line in self._every_line())

    def _every_line(self) -> Iterator[bytes]:
        headers = {include.include.name for include in self.unit.get_includes()}
        return chain(self.lines, *map(_lines, headers))

    @cached_property
    def calls(self) -> Mapping[int, list[Node] | None]:
        """Where each function is called, by its hash; None where it is named otherwise, too. Also in text that the main
        file includes."""
        found: dict[int, list[Node] | None] = {}
        callees: set[tuple[int, int]] = set()
        for node in walk(self.unit.cursor):
            if node.kind == CursorKind.CALL_EXPR and (function := node.referenced) is not None:
                callee = stripped(next(node.get_children()))
                callees.add((callee.hash, callee.extent.start.offset))
                if (calls := found.setdefault(function.canonical.hash, [])) is not None:
                    calls.append(node)
            elif node.kind == CursorKind.DECL_REF_EXPR and (function := node.referenced) is not None:
                is_call = (node.hash, node.extent.start.offset) in callees
                if function.kind == CursorKind.FUNCTION_DECL and not is_call:
                    found[function.canonical.hash] = None
        return found

    @cached_property
    def names(self) -> frozenset[str]:
        """Identifiers and keywords of the file, macros, and what the headers declare."""
        words = (TokenKind.IDENTIFIER, TokenKind.KEYWORD)
        tokens = self.unit.get_tokens(extent=self.unit.cursor.extent)
        here = {token.spelling for token in tokens if token.kind in words}
        return frozenset(here | {child.spelling for child in self.unit.cursor.get_children() if child.spelling})


def parse(
    path: str,
    include: Sequence[str] = (),
    define: Sequence[str] = (),
    data: bytes | None = None,
    flags: Sequence[str] = (),
) -> Source:
    """The file, or `data` in its place, as gcc reads it with `-I include`, `-D define` and other `flags`; InputError
    with clang's message if not."""
    data = read(path) if data is None else data
    given = (*(f"-I{folder}" for folder in include), *(f"-D{name}" for name in define), *flags)
    arguments = ("-x", "c", *_AS_GCC, *given, *compiler_headers())
    record = TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD
    try:
        unit = Index.create().parse(path, arguments, [(path, data)], record)
    except TranslationUnitLoadError:
        raise InputError(f"clang cannot parse {path}", None, "try it with a compiler first") from None
    misread: dict[str, str] = {}
    source = Source(path, data, unit, arguments, misread)
    for complaint in unit.diagnostics:
        if complaint.severity < Diagnostic.Error or _is_no_error_of_gcc(complaint):
            continue
        if is_in_compiler_header(complaint) or _is_of_vectors(complaint, path):
            misread.setdefault(complaint.location.file.name, complaint.spelling)  # `require_read` asks who uses it
        else:
            hint = "name its folder with -I" if complaint.spelling.endswith("file not found") else ""
            raise InputError(complaint.spelling, source.place(complaint.location), hint)
    return source


def read(path: str) -> bytes:
    """What is in the file; a pipe gives it once. InputError if it cannot be read."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}", None, "give the path of a C file") from None


def parse_again(source: Source, data: bytes, define: Sequence[str]) -> Source:
    """The file as if it had other bytes; its complaints are left to the caller."""
    arguments = (*source.arguments, *(f"-D{name}" for name in define))
    unit = Index.create().parse(source.path, arguments, [(source.path, data)])
    return Source(source.path, data, unit, arguments)


# gcc up to 13 warns of what clang refuses unless told so, and its own headers have more than 20 such places.
_LENIENT = ("implicit-function-declaration", "implicit-int", "int-conversion", "incompatible-function-pointer-types")
_AS_GCC = ("-ferror-limit=0", "-fbracket-depth=512", *(f"-Wno-error={warning}" for warning in _LENIENT))


def is_in_compiler_header(complaint: Diagnostic) -> bool:
    """Is it an error in a header of gcc, in which all is right for gcc? Clang goes on behind it."""
    header = complaint.location.file.name if complaint.location.file else ""
    return bool(complaint.severity == Diagnostic.Error and header.startswith(compiler_headers()[1:]))


def _is_of_vectors(complaint: Diagnostic, path: str) -> bool:
    """Does a header of the user's use gcc's vectors, of which clang has other functions?"""
    file = complaint.location.file
    return file is not None and file.name != path and "vector type" in complaint.spelling


def _is_no_error_of_gcc(complaint: Diagnostic) -> bool:
    """gcc knows malloc(free), and warns of a function that is used before its declaration and does not return int."""
    is_attribute = complaint.spelling.endswith("attribute takes no arguments")
    return is_attribute or any("previous implicit declaration" in note.spelling for note in complaint.children)


@cache
def compiler_headers() -> tuple[str, ...]:
    """Options for the headers that belong to a compiler, such as stddef.h: the library comes without."""
    for name in ("gcc", "cc", "clang"):
        if path := shutil.which(name):
            run = subprocess.run([path, "-print-file-name=include"], capture_output=True, text=True)
            if run.returncode == 0 and Path(run.stdout.strip()).is_dir():
                return ("-isystem", run.stdout.strip())
    return ()


@cache
def _lines(path: str) -> list[bytes]:
    try:
        return Path(path).read_bytes().split(b"\n")
    except OSError:
        return []


def functions(source: Source) -> list[Cursor]:
    """The functions that the main file defines."""
    found = (child for child in source.unit.cursor.get_children() if child.kind == CursorKind.FUNCTION_DECL)
    return [function for function in found if function.is_definition() and source.is_here(function)]


SPELLINGS = {"restrict": "__restrict__", "_Bool": "bool", "_Static_assert": "static_assert"}

# As strict as nvcc and g++, which clang is not by itself.
_STRICT = ("-std=c++17", "-nostdinc++", "-Werror=vla-extension", "-Werror=c99-designator", "-Werror=narrowing")


def require_cpp(path: str, data: bytes, include: Sequence[str] = (), define: Sequence[str] = ()) -> None:
    """InputError, with the place, if the C file is no C++; `data` are its bytes."""
    spelled = (f"-D{name}={other}" for name, other in SPELLINGS.items())
    given = (*(f"-I{folder}" for folder in include), *(f"-D{name}" for name in define))
    try:
        arguments = ["-x", "c++", *_STRICT, *spelled, *given, *compiler_headers()]
        unit = Index.create().parse(path, arguments, [(path, data)])
    except TranslationUnitLoadError:
        raise InputError(f"clang cannot parse {path} as C++", None, _HINT) from None
    for complaint in unit.diagnostics:
        if complaint.severity >= Diagnostic.Error and not is_in_compiler_header(complaint):
            place = Source(path, data, unit).place(complaint.location)
            message = f"this is not C++, which a .cu file is: {complaint.spelling.partition(' [-W')[0]}"
            raise InputError(message, place, _HINT)


_HINT = "write it so that it is C++ too; or give an output that ends in .c, which gets a file of kernels beside it"
