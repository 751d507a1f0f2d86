"""A C file for another folder, from which it includes what it did.

    src/cg.c    #include "cg.h"     ->      /tmp/cg.c    #include "/home/me/src/cg.h"       if there is one in src
                #include "lib.h"    ->                   #include "lib.h"                   if it is elsewhere

An option for the folder, such as -iquote, would count for what headers include, and for the command's other sources.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from polysched.errors import InputError

_LINE = rb"(?:[^\n]*\\\r?\n)*[^\n]*"
_WORDS = re.compile(rb"\b(?:include|include_next|import|embed|__has_include|__has_include_next|__has_embed)\b")
_MARKS = re.compile(rb"#|%:|\?\?=|__has_")
_SPLICE = re.compile(rb"\\\r?\n")
_OTHERWISE = re.compile(rb"[ \t]*#[ \t]*(?:include|import)[ \t]*<[^>\n]*>|[ \t]*#[ \t]*(?:pragma|line|error|warning)\b")
_QUOTED = re.compile(rb'([ \t]*#[ \t]*(?:include|import)[ \t]*")([^"\n]+)(")')


def moved(text: bytes, source: Path) -> bytes:
    """The text of `source` as it can stand anywhere; InputError for what would mean another file there."""
    if b"__BASE_FILE__" in text:
        raise InputError(f"{source} names itself by __BASE_FILE__", hint="compile it as it is")
    return re.sub(_LINE, lambda line: _moved_line(line[0], source), text)


def named_as_before(sources: Iterable[Path]) -> list[str]:
    """Options by which headers that the texts name by their whole paths have the __FILE__ that they had."""
    folders = dict.fromkeys(source.parent for source in sources if not source.is_absolute())
    return [f"-fmacro-prefix-map={folder.absolute()}/={'' if folder == Path() else f'{folder}/'}" for folder in folders]


def _moved_line(line: bytes, source: Path) -> bytes:
    spliced = _SPLICE.sub(b"", line)
    if not _WORDS.search(spliced) or not _MARKS.search(spliced) or _OTHERWISE.match(line):
        return line
    quoted = _QUOTED.match(line)
    if quoted is None:
        said = " ".join(line.decode(errors="replace").split())
        raise InputError(f"what is included depends on the folder of {source}: {said}", hint="compile it as it is")
    there = source.parent.absolute() / quoted[2].decode(errors="surrogateescape")
    if not there.exists():
        return line
    return quoted[1] + str(there).encode(errors="surrogateescape") + line[quoted.end(2) :]
