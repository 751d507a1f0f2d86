"""A CUDA file as nvcc takes it, kernels and host code in one: its kernels, and for each the text that it needs.

    read_cuda(Path("reduce.cu")).kernels             what can be launched, and with which parameters
    read_cuda(Path("reduce.cu")).text_of(kernel)     the kernel and what it uses, without host code

The text keeps lines, directives and macros; the files that it includes from its folder or by -I stand in it.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from os.path import relpath
from pathlib import Path

from clang.cindex import Cursor, CursorKind

from polysched.errors import InputError, Loc
from polysched.frontend.cuda.declarations import Declaration, declarations, kernels
from polysched.frontend.cuda.kernel import Kernel, Parameter, kernel_of, parameter_of
from polysched.frontend.cuda.parse import Parsed, directives, find, identifiers, parse, read


def read_cuda(source: str | Path, include: Sequence[str] = (), define: Sequence[str] = ()) -> CudaFile:
    """The file, or a text, as nvcc reads it with `-I include` and `-D define`; InputError if it cannot be read."""
    if isinstance(source, str):
        return CudaFile("kernel.cu", parse("/kernel.cu", source.encode(), include, define))
    return CudaFile(source.name, parse(str(source.absolute()), read(source), include, define))


@dataclass(frozen=True)
class CudaFile:

    name: str
    parsed: Parsed

    @cached_property
    def kernels(self) -> tuple[Kernel, ...]:
        """What can be launched, in order of the text; of several declarations of one name, those with a body."""
        files = self.parsed.files
        placed = ((it, it.extent.start.file.name) for it in kernels(self.parsed.tree))
        ours = ((it, file) for it, file in placed if file in files)
        return tuple(kernel_of(it, files[file], self._loc(file, it.location.offset)) for it, file in ours)

    def kernel(self, name: str) -> Kernel:
        """The one that is called "f", "space::f" or "f<float, 4>"; InputError if there is none, or more than one."""
        plain, _, arguments = (part.strip() for part in name.partition("<"))
        found = [kernel for kernel in self.kernels if plain in (kernel.name, kernel.qualified)]
        if not found:
            names = ", ".join(dict.fromkeys(kernel.name for kernel in self.kernels)) or "none"
            raise InputError(f"the text has no kernel '{plain}'", hint=f"it has: {names}")
        templates = [kernel for kernel in found if kernel.template]
        if len(templates or found) > 1:
            hint = "rename one of them, so that one is meant"
            raise InputError(f"'{plain}' is the name of {len(found)} kernels", found[1].loc, hint)
        return replace((templates or found)[0], arguments=arguments.removesuffix(">"))

    def text_of(self, kernel: Kernel) -> str:
        """The lines that the kernel needs; all others are empty."""
        kept = self.needs(kernel)
        for it in kept:
            launch = find(self.parsed.files[it.file], b"<<<", it.start, it.end)
            if launch >= 0:
                raise InputError("a kernel that launches kernels cannot be checked", self._loc(it.file, launch))
        # There may be nothing else of a namespace that is opened.
        opened = dict.fromkeys(f"namespace {it.opens} {{}}\n" for it in kept if it.opens)
        head = f'{"".join(opened)}#line 1 "{self.name}"\n' if opened else ""
        return head + self._merged(self._main, kept).decode(errors="replace")

    def variables_of(self, kernel: Kernel) -> tuple[Parameter, ...]:
        """What the kernel uses of `__device__` and `__constant__` memory."""
        return tuple(self._variable(cursor, it) for it in self.needs(kernel) for cursor in it.variables)

    def is_dynamic(self, kernel: Kernel) -> bool:
        """Has it an `extern __shared__` array, whose size a launch gives?"""
        return any({"extern", "__shared__"} <= it.uses for it in self.needs(kernel))

    def why_unknown(self, name: str, known_headers: Container[str] = ()) -> str:
        """Why the text of a kernel may lack a name; "" if the file does not say."""
        for it in self._declarations:
            if name in it.names and it.side == "host":
                place = self._loc(it.file, it.start)
                return f"'{name}' of {place.file}:{place.line} belongs to the host: a kernel cannot use it"
        return self.missing_headers(known_headers)

    def missing_headers(self, known: Container[str] = ()) -> str:
        """That a name may be in a header that was not found, and is not known; "" if there is none."""
        missing = ", ".join(dict.fromkeys(f"'{it}'" for it in self.parsed.missing.values() if it not in known))
        return f"it may be in a header that was not found, {missing}: give its folder with -I" if missing else ""

    @cached_property
    def texts(self) -> dict[str, str]:
        """The files as they are, by the names that messages have for them."""
        return {self._display[path]: data.decode(errors="replace") for path, data in self.parsed.files.items()}

    @property
    def _main(self) -> str:
        return next(iter(self.parsed.files))

    @cached_property
    def _display(self) -> dict[str, str]:
        """How messages call the files: as seen from the folder of the first."""
        folder = Path(self._main).parent
        return {path: relpath(path, folder) for path in self.parsed.files}

    @cached_property
    def _declarations(self) -> list[Declaration]:
        return declarations(self.parsed.tree, self.parsed.files)

    def _loc(self, path: str, offset: int) -> Loc:
        data = self.parsed.files[path]
        start = data.rfind(b"\n", 0, offset) + 1
        line = data[start:].partition(b"\n")[0].decode(errors="replace")
        column = len(data[start:offset].decode(errors="replace")) + 1
        return Loc(self._display[path], data.count(b"\n", 0, offset) + 1, column, line)

    def _variable(self, cursor: Cursor, around: Declaration) -> Parameter:
        text, place = self.parsed.files[around.file], (cursor.location.offset, around.end)
        is_filled = any(find(text, word, *place) >= 0 for word in (b"=", b"{"))
        is_constant = any(child.kind == CursorKind.CUDACONSTANT_ATTR for child in cursor.get_children())
        return replace(parameter_of(cursor, cursor.spelling), is_empty=is_constant and not is_filled)

    def needs(self, kernel: Kernel) -> list[Declaration]:
        """The kernel, and what is declared by a name that one of these or its template's arguments use."""
        arguments = kernel.arguments.encode()
        wanted, kept = {kernel.name} | self._spelled_out(identifiers(arguments, 0, len(arguments))), set[int]()
        own = [it for it in self._declarations if it.side != "kernel" or kernel.name in it.names]
        usable = [(k, it) for k, it in enumerate(own) if it.side != "host"]
        while new := {k for k, it in usable if k not in kept and (it.always or not wanted.isdisjoint(it.names))}:
            kept |= new
            wanted |= self._spelled_out(name for k in new for name in own[k].uses)
        return [own[k] for k in sorted(kept)]

    def _spelled_out(self, names: Iterable[str]) -> set[str]:
        """The names, and those that they stand for as macros."""
        found, rest = set[str](), list(names)
        while rest:
            name = rest.pop()
            if name not in found:
                found.add(name)
                rest += self.parsed.macros.get(name, ())
        return found

    def _merged(self, path: str, kept: Sequence[Declaration]) -> bytes:
        """The file with what is kept of it and of what it includes, line by line."""
        data = self.parsed.files[path]
        out = bytearray(_blank(data))
        for file, start, end in (part for it in kept for part in (*it.around, (it.file, it.start, it.end))):
            if file == path:
                out[start:end] = data[start:end]
        for start, end in (hole for it in kept if it.file == path for hole in it.holes):
            out[start:end] = _blank(data[start:end])
        left_out = _ONCE if any(it.file == path for it in kept) else _ONCE_OR_ERROR
        for start, end in directives(data):
            out[start:end] = _blank(data[start:end]) if left_out.match(data, start) else data[start:end]
        lines = bytes(out).split(b"\n")
        for number, line in enumerate(lines, 1):
            if re.match(rb"\s*#\s*include", line):
                lines[number - 1] = self._include(path, number, line, kept)
        return b"\n".join(lines)

    def _include(self, path: str, number: int, line: bytes, kept: Sequence[Declaration]) -> bytes:
        """What stands for a line that includes a file: the file, if it is the user's and clang has entered it here."""
        inside, missing = self.parsed.included.get((path, number)), self.parsed.missing.get((path, number))
        if inside is not None:
            text = f'#line 1 "{self._display[inside]}"\n'.encode() + self._merged(inside, kept)
        elif missing is not None:  # for clang, but the emulation may have it
            text = f"#if __has_include(<{missing}>)\n#include <{missing}>\n#endif".encode()
        elif (name := _INCLUDED.search(line)) and any(it.endswith(f"/{name[1].decode()}") for it in self.parsed.files):
            return b""  # of ours, it has been included before, or is under a condition
        else:
            return line
        return text + f'\n#line {number + 1} "{self._display[path]}"'.encode()


_INCLUDED = re.compile(rb'[<"](?:[^">]*/)?([^/">]+)[">]')  # the last part of its name
# A file's #error may be about what only its host code needs, as where a header is missing that defines its macros.
_ONCE, _ONCE_OR_ERROR = re.compile(rb"#\s*pragma\s+once"), re.compile(rb"#\s*(?:pragma\s+once|error)\b")


def _blank(data: bytes) -> bytes:
    return re.sub(rb"[^\n]", b" ", data)
