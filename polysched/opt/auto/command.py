"""A command of a C compiler: which files it compiles, and how these are read.

    gcc -O3 -Iinclude -DN=8 -MMD -c cg.c -o cg.o        sources  ("cg.c",)
                                                        flags    ("-Iinclude", "-DN=8")
    gcc cg.o -o cg -lm                                  sources  (), so that it runs as it is

What a compiler does by default, and what its other options mean, it tells itself, by the macros that it defines.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

_WITH_VALUE = {
    *("-o", "-I", "-D", "-U", "-L", "-l", "-x", "-T", "-u", "-z", "-e", "-A", "-B", "-MF", "-MT", "-MQ", "-include"),
    *("-imacros", "-isystem", "-iquote", "-idirafter", "-iprefix", "-iwithprefix", "-isysroot", "--sysroot"),
    *("-Xlinker", "-Xassembler", "-Xpreprocessor", "-aux-info", "--param", "-specs", "-wrapper", "-dumpbase"),
}
_READ = re.compile(
    r"-(I|D|U|include|imacros|isystem|iquote|idirafter|isysroot|std=|ansi$|m32$|m64$|mx32$|march=|mavx|msse|mfma|f(un)?signed-char$"
    r"|fshort-enums$|pthread$)"
)
_DEPENDENCES = re.compile(r"-(M|MM|MD|MMD|MG|MP)$|-M[FTQ]|-Wp,-M")
# Options that give C another meaning than the reader's, or the compiler's work another purpose.
_OTHER = re.compile(
    r"-(fwrapv|fno-strict-overflow|ftrapv|fno-strict-aliasing|ffreestanding|fno-builtin|fshort-wchar|nostdinc"
    r"|fsingle-precision-constant|fpack-struct|malign-double|mlong-double|traditional|fopenacc"
    r"|frounding-math|ffixed-|finstrument-functions|fprofile|ftest-coverage|-coverage|save-temps|fsyntax-only"
    r"|fsanitize|fpermissive|fms-extensions|fplan9-extensions|finput-charset|fexec-charset|trigraphs"
    r"|E$|M$|MM$|x|m32$|mx32$|fpreprocessed|fdirectives-only|fplugin|dumpbase|wrapper|###$)|-$|@"
)


@dataclass(frozen=True)
class Command:
    """As it is given, the compiler first."""

    words: tuple[str, ...]

    @cached_property
    def options(self) -> tuple[tuple[str, ...], ...]:
        """Each with its value, and each file."""
        return tuple(self._options())

    def _options(self) -> Iterator[tuple[str, ...]]:
        words = iter(self.words[1:])
        for word in words:
            value = next(words, None) if word in _WITH_VALUE else None
            yield (word,) if value is None else (word, value)

    @property
    def sources(self) -> tuple[str, ...]:
        return tuple(o[0] for o in self.options if _is_source(o))

    @property
    def links(self) -> bool:
        """Does it make a program or a library?"""
        return not any(option[0] in ("-c", "-S", "-E", "-M", "-MM", "-fsyntax-only") for option in self.options)

    @property
    def flags(self) -> tuple[str, ...]:
        """What its sources are read with."""
        return tuple(word for option in self.options if _READ.match(option[0]) for word in option)

    @property
    def left(self) -> str:
        """Why its sources are compiled as they are; "" if not for an option."""
        return next((option[0] for option in self.options if _OTHER.match(option[0])), "")

    def has(self, option: str) -> bool:
        return (option,) in self.options

    @cached_property
    def macros(self) -> dict[str, str]:
        """What the compiler defines with these options; nothing where it does not tell."""
        plain = (o for o in self.options if o[0].startswith("-") and not _DEPENDENCES.match(o[0]))
        kept = [word for option in plain if option[0] not in _NO_QUESTION for word in option]
        command = [self.words[0], *kept, "-dM", "-E", "-x", "c", "/dev/null"]
        run = subprocess.run(command, capture_output=True, text=True, errors="replace")
        defined = (line.split(maxsplit=2) for line in run.stdout.splitlines() if line.startswith("#define "))
        return {words[1]: words[2] if len(words) > 2 else "" for words in defined} if run.returncode == 0 else {}

    def with_sources(self, others: dict[str, Path], more: Sequence[str]) -> list[str]:
        """The command with other files in place of sources. It leaves what tells of dependences as the command itself
        has written it."""
        found = [self.words[0]]
        for option in self.options:
            if _is_source(option) and option[0] in others:
                found.append(str(others[option[0]]))
            elif not _DEPENDENCES.match(option[0]):
                found += option
        return [*found, *more]


_NO_QUESTION = {"-o", "-c", "-S", "-E", "-L", "-l", "-include", "-imacros", "-v"}


def _is_source(option: tuple[str, ...]) -> bool:
    return len(option) == 1 and not option[0].startswith("-") and option[0].endswith(".c")
