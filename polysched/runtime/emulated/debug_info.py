"""What a compiled library says about itself, by the tools that come with the compiler.

variables(library)                    [Variable("As", "mm", offset=0, size=1024, shared=True), ...]
lines(library, [0x1139], ["tile.cu"]) {0x1139: ("tile.cu", 14)}
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from os.path import normpath
from pathlib import Path

from polysched.errors import ToolchainError

# Of our headers, and of the linker; the kernels of OpenCL are in a namespace, which is polysched_kernels.
_OURS = re.compile(r"polysched_|_ZZ?N9polysched|_ZZ?L?\d+polysched_|_DYNAMIC|_GLOBAL_|completed|DW\.")


@dataclass(frozen=True)
class Variable:
    """A variable with static storage."""

    name: str  # as the text has it
    function: str  # that it is in; "": none
    offset: int  # in bytes, from the library's first byte, or that of its thread-local variables
    size: int
    shared: bool  # thread-local, which is what __shared__ makes it
    is_guard: bool = False  # of g++'s: whether that variable, an array of a class, has been initialized


@cache
def variables(library: Path) -> list[Variable]:
    """The variables of `library`, but not those of our headers."""
    found: dict[str, tuple[int, int, bool]] = {}
    for words in _symbols(library):
        match words:
            case [_, value, size, ("TLS" | "OBJECT") as kind, _, _, section, symbol] if section != "UND":
                if not _OURS.match(symbol.removeprefix("_ZGV")) and (kind == "TLS" or not symbol.startswith("__")):
                    found[symbol] = int(value, 16), int(size, 0), kind == "TLS"
    names = _run("c++filt", *found).splitlines() if found else []
    result = [
        Variable(*_plain(name), offset, size, shared, symbol.startswith("_ZGV"))
        for name, (symbol, (offset, size, shared)) in zip(names, found.items(), strict=True)
    ]
    return sorted(result, key=lambda variable: (not variable.shared, variable.offset))


def offset_of(library: Path, symbol: str) -> int:
    """Where a symbol of ours is, from the library's first byte."""
    return next(int(words[1], 16) for words in _symbols(library) if words[-1:] == [symbol])


@cache
def _symbols(library: Path) -> list[list[str]]:
    """The words of each line of its table."""
    return [line.split() for line in _run("readelf", "-sW", str(library)).splitlines()]


def lines(library: Path, addresses: Iterable[int], files: Iterable[str]) -> dict[int, tuple[str, int]]:
    """File and line that the instructions at these offsets belong to, where they were inlined last; ("", 0): none.
    The files are those of the text, by the names that it has for them, folders may be in front."""
    wanted = sorted(set(addresses))
    if not wanted:
        return {}
    text = _run("addr2line", "-a", "-i", "-e", str(library), *(hex(address) for address in wanted))
    known = {normpath(name): name for name in files}
    result: dict[int, tuple[str, int]] = {}
    address = 0
    for line in text.splitlines():
        if line.startswith("0x"):
            address = int(line, 16)
            result[address] = "", 0
        elif (place := re.match(r"(.*):(\d+)", line)) and not result[address][1]:
            path = normpath(place[1])
            fitting = (known[end] for end in known if path == end or path.endswith(f"/{end.removeprefix('../')}"))
            if name := max(fitting, key=len, default=""):
                result[address] = name, int(place[2])
    return result


def _plain(name: str) -> tuple[str, str]:
    """The variable and the function in "space::mm<16>(float const*)::As"."""
    function = re.search(r"(\w+)(?:<.*?>)?\(.*\)::", name.replace("(anonymous namespace)", ""))
    return name.rpartition("::")[2], function[1] if function else ""


def _run(*command: str) -> str:
    if shutil.which(command[0]) is None:
        raise ToolchainError(f"{command[0]} is not installed; it comes with the compiler, in the package binutils")
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
