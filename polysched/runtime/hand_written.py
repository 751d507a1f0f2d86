"""Checks a kernel that somebody wrote in CUDA: runs it without a GPU, and finds its races and wrong accesses.

>>> text = '''
... __global__ void flip(float *a) {
...     __shared__ float tile[64];
...     tile[threadIdx.x] = a[threadIdx.x];
...     a[threadIdx.x] = tile[63 - threadIdx.x];
... }'''
>>> report = check_cuda(text, "flip", 1, 64, a=np.zeros(64, np.float32))
>>> print(report.findings[1])
flip: race: tile[32], without a barrier in between (64 times)
  thread (32, 0, 0) of block (0, 0, 0) writes in line 4: tile[threadIdx.x] = a[threadIdx.x];
  thread (31, 0, 0) of block (0, 0, 0) reads in line 5: a[threadIdx.x] = tile[63 - threadIdx.x];
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from polysched.errors import InputError, LaunchError, ToolchainError
from polysched.ir.dtypes import ALL
from polysched.runtime.by_hand import library_by_hand
from polysched.runtime.check import CheckedLibrary, guarded_copy
from polysched.runtime.declared import declared_kernels, dynamic_arrays, template_parameters, without_comments
from polysched.runtime.emulate import MOST_DYNAMIC, hand_written_text
from polysched.runtime.findings import CheckReport

Extent = int | Sequence[int]  # along x, then y, then z


def check_cuda(
    source: str | Path, kernel: str, grid: Extent, block: Extent, /, *, dynamic_shared_bytes: int = 0, **arguments: Any
) -> CheckReport:
    """What a launch of `kernel` on the CPU shows: races, uninitialized reads, accesses out of bounds, and the cost of
    its memory accesses; arrays are changed in place, as the kernel does.

    `source` is CUDA's text, or the path of a file that ends in .cu; of a template, `kernel` is as in "scale<float>".
    The arguments are numpy arrays and numbers, by the names that the kernel's parameters have. InputError if there is
    no such kernel, LaunchError if the arguments do not fit, ToolchainError if g++ cannot compile the text.
    """
    text, file = _read(source)
    names = _parameters(text, kernel)
    if set(arguments) != set(names):
        raise LaunchError(f"{kernel} takes {', '.join(names) or 'nothing'}; given are {', '.join(arguments) or 'none'}")
    sizes = (ctypes.c_uint32 * 6)(*_extents("grid", grid), *_extents("block", block))
    if dynamic_shared_bytes and not dynamic_arrays(text):
        raise LaunchError(f"dynamic_shared_bytes is {dynamic_shared_bytes}, but there is no `extern __shared__` array")
    if not 0 <= dynamic_shared_bytes <= MOST_DYNAMIC:
        raise LaunchError(f"dynamic_shared_bytes is {dynamic_shared_bytes}, but a block has 0 to {MOST_DYNAMIC}")
    library = _compiled(text, file, kernel)
    expected = _described(library, len(names))
    guarded = {
        name: guarded_copy(_array(name, arguments[name], parameter))
        for name, parameter in zip(names, expected, strict=True)
        if parameter.is_pointer
    }
    values = (_Argument * max(1, len(names)))()
    for k, (name, parameter) in enumerate(zip(names, expected, strict=True)):
        if name in guarded:
            values[k].pointer = guarded[name].ctypes.data
        else:
            _set_number(values[k], name, arguments[name], parameter)
    ctypes.c_size_t.in_dll(library.library, "polysched_dynamic").value = dynamic_shared_bytes
    report = library.run(guarded, library.library.polysched_enter, sizes, values)
    for name, copy in guarded.items():
        if arguments[name].flags.writeable:
            np.copyto(arguments[name], copy)
    return report


def only_kernel(path: Path) -> str:
    """The name of the file's kernel; InputError if there is not exactly one."""
    names = list(_kernels(without_comments(_read(path)[0])))
    if len(names) != 1:
        raise InputError(f"'{path}' has {len(names)} kernels: {', '.join(names)}", hint="name one: --kernel NAME")
    return names[0]


def named_arguments(texts: Sequence[str]) -> dict[str, Any]:
    """Arguments as the command line has them: "a=f32[100,20]", random numbers, "a=FILE.npy", "n=100"."""
    rng = np.random.default_rng(0)
    return dict(_named_argument(text, rng) for text in texts)


def _named_argument(text: str, rng: np.random.Generator) -> tuple[str, Any]:
    name, _, value = text.partition("=")
    if (found := re.fullmatch(r"(\w+)\[(\d+(?:,\s*\d+)*)\]", value)) and found[1] in ALL:
        dtype, shape = ALL[found[1]], tuple(int(extent) for extent in found[2].split(","))
        numbers = rng.uniform(0.5, 1.5, shape) if dtype.is_float else rng.integers(0, min(2, *shape), shape)
        return name, np.asarray(numbers, dtype.numpy)
    if value.endswith(".npy"):
        try:
            return name, np.load(value)
        except (OSError, ValueError) as error:
            raise InputError(f"'{value}' cannot be read as an array: {error}") from error
    for number in (int, float):
        try:
            return name, number(value)
        except ValueError:
            continue
    raise InputError(f"'{text}' is no argument", hint="write NAME=f32[100,20], NAME=FILE.npy or NAME=NUMBER")


def _read(source: str | Path) -> tuple[str, str]:
    """The text, and the name for it in messages of the compiler."""
    if isinstance(source, Path) or (source.endswith(".cu") and "\n" not in source):
        path = Path(source)
        try:
            return _with_includes(path.read_text(), path.parent, path.name, set()), path.name
        except OSError as error:
            raise InputError(f"'{source}' cannot be read: {error.strerror}") from error
    return source, "kernel.cu"


def _with_includes(text: str, folder: Path, name: str, seen: set[Path]) -> str:
    """The text with those files in it that it includes from its folder: the compiler runs elsewhere."""
    lines = []
    for number, line in enumerate(text.splitlines(), 1):
        found = re.match(r'\s*#\s*include\s*"([^"]+)"', line)
        path = folder / found[1] if found else None
        if path is None or not path.is_file():
            lines.append(line)
        elif path not in seen:
            seen.add(path)
            inside = _with_includes(path.read_text(), path.parent, path.name, seen).replace("#pragma once", "")
            lines += [f'#line 1 "{path.name}"', inside, f'#line {number + 1} "{name}"']
    return "\n".join(lines) + "\n"


# --- the kernel's signature

def _parameters(text: str, kernel: str) -> list[str]:
    """The names of the kernel's parameters."""
    plain = without_comments(text)
    found = _kernels(plain)
    name = kernel.partition("<")[0].strip()
    if name not in found:
        raise InputError(f"the text has no kernel '{name}'", hint=f"it has: {', '.join(found) or 'none'}")
    if "<" not in kernel and (template := template_parameters(plain, name)):
        kinds = [parameter.split("=")[0].split()[0] for parameter in template.split(",")]
        example = ", ".join({"class": "float", "typename": "float", "bool": "true"}.get(kind, "16") for kind in kinds)
        hint = f"name one of its kernels, as in '{name}<{example}>'"
        raise InputError(f"'{name}' is a template, <{template}>", hint=hint)
    names, depth, part = [], 0, ""
    for character in plain[plain.index("(", found[name]) + 1 :]:
        depth += (character in "(<[{") - (character in ")>]}")
        if depth < 0 or (character == "," and depth == 0):
            names.append(part)
            part = ""
            if depth < 0:
                break
        else:
            part += character
    declared = [part for part in names if part.strip() not in ("", "void")]
    return [re.findall(r"\w+", re.sub(r"=.*|\[[^\]]*\]", "", part, flags=re.DOTALL))[-1] for part in declared]


def _kernels(plain: str) -> dict[str, int]:
    """The kernels in a text without comments, and where their names end."""
    if "<<<" in plain:
        hint = "put the kernels into a file of their own, which the host's code includes"
        raise InputError("the text launches kernels with <<<...>>>, which only nvcc reads", hint=hint)
    return declared_kernels(plain)


def _compiled(text: str, file: str, kernel: str) -> CheckedLibrary:
    cpp = hand_written_text(text, file, kernel, kernel)
    try:
        return library_by_hand(cpp, text, file)
    except ToolchainError as error:
        if found := _UNKNOWN.search(str(error)):
            raise ToolchainError(_unknown(found, text)) from error
        raise


_UNKNOWN = re.compile(
    r"^(?P<place>[^\s:]+:(?P<line>\d+)):\d+: (?:fatal )?error: "
    r"(?:'(?P<name>[^']+)' (?:was not declared|has not been declared|does not name a type)|"
    r"(?P<file>\S+): No such file)",
    re.MULTILINE,
)


def _unknown(found: re.Match[str], text: str) -> str:
    """What the compiler does not know, in which line, and what would be right."""
    name = found["name"] or found["file"]
    lines = text.splitlines()
    line = lines[int(found["line"]) - 1].strip() if int(found["line"]) <= len(lines) else ""
    parts = [f"{found['place']}: '{name}' is not known here: neither the text nor our header of CUDA's words has it"]
    parts += [f"  {line}"] if name in line else []
    parts.append("hint: if nvcc knows it, it is not supported; put the kernels without it into a file of their own")
    return "\n".join(parts)


# --- arguments; the structs are those of kernel_entry_on_cpu.h


class _Argument(ctypes.Structure):
    _fields_ = (
        ("real", ctypes.c_double),
        ("integer", ctypes.c_int64),
        ("pointer", ctypes.c_void_p),
    )


class _RawParameter(ctypes.Structure):
    _fields_ = (
        ("kind", ctypes.c_char),
        ("is_pointer", ctypes.c_bool),
        ("is_const", ctypes.c_bool),
        ("size", ctypes.c_int32),
    )


@dataclass(frozen=True)
class _Parameter:
    """Of what is passed, or pointed to: `kind` as numpy has it, or "o" of a struct; 0 bytes of void."""

    kind: str
    is_pointer: bool
    is_const: bool
    size: int


def _described(library: CheckedLibrary, count: int) -> list[_Parameter]:
    raw = (_RawParameter * max(1, count))()
    found = library.library.polysched_describe(None)
    assert found == count, f"{found} parameters, but {count} names"
    library.library.polysched_describe(raw)
    return [_Parameter(it.kind.decode(), it.is_pointer, it.is_const, it.size) for it in raw[:count]]


def _array(name: str, given: Any, parameter: _Parameter) -> np.ndarray:
    """The array, if the kernel can take it."""
    if not isinstance(given, np.ndarray):
        raise LaunchError(f"{name} is a pointer: give a numpy array, not {type(given).__name__}")
    if not given.flags.c_contiguous:
        raise LaunchError(f"{name} must be in C order without gaps; pass numpy.ascontiguousarray({name})")
    if not parameter.is_const and not given.flags.writeable:
        raise LaunchError(f"{name} is not const, but the array given is read-only; pass {name}.copy()")
    expected = f"{parameter.kind}{parameter.size}"
    if parameter.kind == "o":
        if parameter.size and given.nbytes % parameter.size:
            raise LaunchError(f"{name} has {given.nbytes} bytes, no multiple of the {parameter.size} that it points to")
    elif f"{given.dtype.kind}{given.dtype.itemsize}" != expected:
        wanted = {"b": "bool", "f": "float", "i": "int", "u": "uint"}[parameter.kind]
        bits = "" if parameter.kind == "b" else 8 * parameter.size
        raise LaunchError(f"{name} points to {wanted}{bits}, but the array given is of {given.dtype}")
    return given


def _set_number(value: _Argument, name: str, given: Any, parameter: _Parameter) -> None:
    number = given.item() if isinstance(given, np.generic) else given
    if parameter.kind == "o":
        raise LaunchError(f"{name} is a struct, which cannot be passed here")
    if not isinstance(number, bool | int | float):
        raise LaunchError(f"{name} is a number, not {type(given).__name__}")
    if isinstance(number, float) and parameter.kind != "f":
        raise LaunchError(f"{name} is an integer, not {number!r}")
    if parameter.kind == "f":
        value.real = number
        return
    low, high = (-(1 << 8 * parameter.size - 1), (1 << 8 * parameter.size - 1) - 1)
    if parameter.kind != "i":
        low, high = 0, 1 if parameter.kind == "b" else (1 << 8 * parameter.size) - 1
    if not low <= number <= high:
        raise LaunchError(f"{name} is {number}, but must be from {low} to {high}")
    value.integer = int(number) if number < 1 << 63 else int(number) - (1 << 64)


def _extents(name: str, given: Extent) -> tuple[int, ...]:
    """Those that CUDA has no place for are refused here, and others that it does not launch when it would."""
    extents = (given,) if isinstance(given, int) else tuple(given)
    if not 1 <= len(extents) <= 3 or not all(isinstance(extent, int) and 0 <= extent < 1 << 32 for extent in extents):
        raise LaunchError(f"{name} is {given!r}, but is one to three integers, as in (4, 2)")
    if 0 in extents and name == "grid":
        raise LaunchError(f"grid is {given!r}, but CUDA launches one block or more along each side")
    return extents + (1,) * (3 - len(extents))
