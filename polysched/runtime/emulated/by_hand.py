"""Kernels that somebody wrote, under the checker, and what only they can do wrong: integers that overflow, and values
that are none, of local variables that nothing has set and of shuffles from lanes that their mask does not name.

Results that depend on such a value change with what stands for it. So a text that may have some runs twice, with two
fillings of all of them; one that does not matter is no fault.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from polysched.runtime.cpu import open_library
from polysched.runtime.emulated.check import CHECKED_FLAGS, CheckedLibrary
from polysched.runtime.emulated.findings import CheckReport, Finding
from polysched.runtime.emulated.line_markers import place_of
from polysched.runtime.emulated.race_check import race_check
from polysched.runtime.toolchain import LOCALS_AS, compile_shared

# Integers of our own kernels wrap.
_FLAGS = (*(flag for flag in CHECKED_FLAGS if flag != "-fwrapv"), "-fsanitize=signed-integer-overflow")


def library_by_hand(cpp: str, text: str, texts: Mapping[str, str]) -> ByHand:
    """What `cpp` is compiled to; the kernel's `text` is in it, which is made of these files, by their names."""
    race_check()  # first: the kernels look for its functions
    path = compile_shared(cpp, next(iter(texts)), language="c++", flags=(*_FLAGS, f"{LOCALS_AS}pattern"))
    return ByHand(path, open_library(str(path)), text, texts, cpp)


def without_value(text: str, file: str = "") -> list[tuple[str, int, str]]:
    """File, line and text of declarations in a function that give a variable no value."""
    plain = re.sub(r"//[^\n]*|/\*.*?\*/", lambda found: re.sub(r"[^\n]", " ", found[0]), text, flags=re.DOTALL)
    found = []
    for match in _DECLARED.finditer(plain):
        around = plain[: match.start(1)]
        if _is_in_a_body(around) and not _NOT_LOCAL.search(match[1]):
            found.append((*place_of(text, match.start(1), file), " ".join(match[1].split())))
    return found


def _is_in_a_body(around: str) -> bool:
    """Is what follows in a function, and not in a struct or a namespace?"""
    depth = 0
    for brace in reversed([*re.finditer("[{}]", around)]):
        depth += 1 if brace[0] == "{" else -1
        if depth == 1:
            return not re.search(r"\b(struct|class|union|enum|namespace|extern)\b[^;{}()]*$", around[: brace.start()])
    return False


_TYPE = r"(?:[\w:]+(?:<[^;<>(){}]*>)?[\s*]+)+"
_NAME = r"\w+(?:\s*\[[^\]]*\])*"
_DECLARED = re.compile(rf"(?<=[;{{}}])\s*({_TYPE}{_NAME}(?:\s*,[\s*]*{_NAME})*\s*;)")
_NOT_LOCAL = re.compile(
    r"\b(return|goto|using|typedef|extern|static|struct|class|union|else|case|throw|delete|__shared__|__device__|__constant__)\b"
)


@dataclass(frozen=True)
class ByHand(CheckedLibrary):
    """Such kernels, compiled."""

    cpp: str

    def run(self, arrays: Mapping[str, np.ndarray], entry: Any, *values: Any, **limits: Any) -> CheckReport:
        """As CheckedLibrary's; what depends on values that are none is found if there is nothing else."""
        doubtful = without_value(self.text, next(iter(self.texts)))
        is_kept = bool(doubtful) or "shfl" in self.text
        before = {name: array.tobytes() for name, array in arrays.items()} if is_kept else {}
        variables = {name: memory.copy() for name, memory in self.device_variables().items()} if is_kept else {}
        report = super().run(arrays, entry, *values, **limits)
        if report.findings or not (doubtful or report.doubts):
            return report
        results = {name: array.tobytes() for name, array in arrays.items()}
        kernel = race_check().launches()[0].kernel.decode()
        other = self._with_other_locals() if doubtful else self
        for name, memory in other.device_variables().items():
            memory[:] = variables[name]
        _dynamic_bytes(other).value = _dynamic_bytes(self).value
        _copy(arrays, before)
        absent = ctypes.c_ubyte.in_dll(other.library, "polysched_absent")
        absent.value = 0
        again = CheckedLibrary.run(other, arrays, other.library[entry.__name__], *values, **limits)
        absent.value = 0xFF
        different = [name for name, array in arrays.items() if array.tobytes() != results[name]]
        _copy(arrays, results)
        if not different and again.is_silent:
            return report
        what = f"{' and '.join(different) or 'what happens'} depends on"
        if report.doubts:
            found = tuple(replace(it, kind="uninitialized", what=f"{what} {it.what}") for it in report.doubts)
            return replace(report, findings=found)
        names = {file: "" if k == 0 else f" of {file}" for k, file in enumerate(self.texts)}
        places = "; ".join(f"{declaration} in line {line}{names[file]}" for file, line, declaration in doubtful[:3])
        what = f"{what} a local variable that has no value: {places}"
        return replace(report, findings=(Finding(kind="uninitialized", kernel=kernel, what=what),))

    def _with_other_locals(self) -> ByHand:
        path = compile_shared(self.cpp, next(iter(self.texts)), language="c++", flags=(*_FLAGS, f"{LOCALS_AS}zero"))
        return replace(self, path=path, library=open_library(str(path)))


def _dynamic_bytes(kernels: CheckedLibrary) -> ctypes.c_size_t:
    return ctypes.c_size_t.in_dll(kernels.library, "polysched_dynamic")


def _copy(to: Mapping[str, np.ndarray], values: Mapping[str, bytes]) -> None:
    """Numpy would leave out what is between the fields of structs."""
    for name, array in to.items():
        array.reshape(-1).view(np.uint8)[:] = np.frombuffer(values[name], np.uint8)
