"""libclang's view of a CUDA file: its syntax tree, the files of its own, what they include, and their macros.

The words of a text, and where its directives stand, are not found inside of comments and strings:

>>> text = b'#define N 4 // "a"\\nint a = N; /* b */'
>>> sorted(identifiers(text, 0, len(text)))
['N', 'a', 'define', 'int']
>>> [text[start:end] for start, end in directives(text)]
[b'#define N 4 // "a"']
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from clang.cindex import Cursor, CursorKind, Index, TranslationUnit, TranslationUnitLoadError

from polysched.errors import InputError

_TOKEN = re.compile(
    rb"""(?P<space>[ \t\r\f\v]+ | \\\r?\n | //(?:\\\r?\n|[^\n])* | /\*.*?\*/)
    | (?P<line>\n)
    | (?P<text>(?:u8|[uUL])?R"(?P<mark>[^ ()\\\n]{0,16})\(.*?\)(?P=mark)" | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*')
    | (?P<name>[A-Za-z_]\w*)
    | (?P<number>\.?\d(?:[eEpP][+-]|'?\w|\.)*)
    | (?P<other><<<|.)""",
    re.VERBOSE | re.DOTALL,
)


@lru_cache(maxsize=64)
def tokens(text: bytes) -> tuple[tuple[str, int, int], ...]:
    """Kind, start and end of each: "name", "number", "text", "other", or "line" for the end of one."""
    found = ((match.lastgroup or "", *match.span()) for match in _TOKEN.finditer(text))
    return tuple(token for token in found if token[0] != "space")


def identifiers(text: bytes, start: int, end: int) -> frozenset[str]:
    """Names and keywords between two offsets."""
    part = tokens(text[start:end])
    return frozenset(text[start + first : start + last].decode() for kind, first, last in part if kind == "name")


def find(text: bytes, word: bytes, start: int, end: int) -> int:
    """Where the word stands first between two offsets; -1 if it does not."""
    places = (start + first for _, first, last in tokens(text[start:end]) if text[start + first : start + last] == word)
    return next(places, -1)


def directives(text: bytes) -> list[tuple[int, int]]:
    """Where the preprocessor's lines start and end, continuations in them, the line's end not."""
    found, begins, start = [], True, -1
    for kind, first, _ in (*tokens(text), ("line", len(text), len(text))):
        if kind == "line" and start >= 0:
            found.append((start, first))
            start = -1
        elif begins and text[first : first + 1] == b"#":
            start = first
        begins = kind == "line"
    return found


NVCC_MACROS = {
    "__NVCC__": "1",
    "__CUDACC__": "1",
    "__CUDA_ARCH__": "900",
    "CUDART_VERSION": "12090",
    "CUDA_VERSION": "12090",
}
Line = tuple[str, int]  # a file, and a line of it

_WORDS = Path(__file__).with_name("words.h")
_KEEP_GOING = 0x200  # CXTranslationUnit_KeepGoing: headers may be missing


@dataclass(frozen=True)
class Parsed:
    """A file, and what it includes that is not the system's, by clang's names."""

    tree: Cursor
    files: Mapping[str, bytes]  # the first is the file itself
    included: Mapping[Line, str]  # what a line includes of `files`
    missing: Mapping[Line, str]  # headers that are not found
    macros: Mapping[str, frozenset[str]]  # of `files`: the names that each is made of


def parse(path: str, data: bytes, include: Sequence[str], define: Sequence[str]) -> Parsed:
    """The file, which holds `data`, as nvcc reads it with `-I include` and `-D define`, whatever clang thinks of its
    bodies."""
    system = cpp_headers()
    arguments = [
        *("-x", "cuda", "--cuda-host-only", "-nocudainc", "-nocudalib", "-std=c++17", "-w", "-ferror-limit=0"),
        *("-include", str(_WORDS)),
        *(f"-I{Path(folder).resolve()}" for folder in include),
        *(f"-D{name}={value}" for name, value in NVCC_MACROS.items()),
        *(f"-D{name}" for name in define),
        *(option for folder in system for option in ("-isystem", folder)),
    ]
    try:
        options = TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD | _KEEP_GOING
        unit = Index.create().parse(path, arguments, [(path, data)], options)
    except TranslationUnitLoadError:
        raise InputError(f"clang cannot parse {path}", None, "try it with a compiler first") from None
    included = {
        (it.source.name, it.location.line): it.include.name
        for it in unit.get_includes()
        if it.source is not None and not it.include.name.startswith((*system, str(_WORDS)))
    }
    files = {path: data} | {name: read(name) for name in included.values()}
    return Parsed(
        tree=unit.cursor,
        files=files,
        included={line: name for line, name in included.items() if line[0] in files},
        missing=dict(_missing(unit)),
        macros=_macros(unit.cursor, files),
    )


def read(path: str | Path) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"'{path}' cannot be read: {error.strerror}") from error


@cache
def cpp_headers() -> tuple[str, ...]:
    """The folders where g++ looks for its headers, and the C library's."""
    for name in ("g++", "c++", "clang++"):
        if path := shutil.which(name):
            run = subprocess.run([path, "-E", "-x", "c++", "-v", "/dev/null"], capture_output=True, text=True)
            folders = re.findall(r"^ (/.*)$", run.stderr.partition("#include <...>")[2], re.MULTILINE)
            return tuple(str(Path(folder)) for folder in folders)
    return ()


def _missing(unit: TranslationUnit) -> Iterator[tuple[Line, str]]:
    for complaint in unit.diagnostics:
        if found := re.fullmatch("'(.*)' file not found", complaint.spelling):
            yield (complaint.location.file.name, complaint.location.line), found[1]


def _macros(tree: Cursor, files: Mapping[str, bytes]) -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for cursor in tree.get_children():
        start = cursor.extent.start
        if cursor.kind == CursorKind.MACRO_DEFINITION and start.file is not None and start.file.name in files:
            body = identifiers(files[start.file.name], start.offset, cursor.extent.end.offset)
            found[cursor.spelling] = found.get(cursor.spelling, frozenset()) | body
    return found
