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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from polysched.errors import InputError, LaunchError, ToolchainError
from polysched.frontend.cuda.kernel import Kernel, Parameter
from polysched.frontend.cuda.parse import NVCC_MACROS
from polysched.frontend.cuda.read import CudaFile, read_cuda
from polysched.runtime.argument_texts import trial_data
from polysched.runtime.emulated.by_hand import library_by_hand
from polysched.runtime.emulated.check import CheckedLibrary, guarded_copy
from polysched.runtime.emulated.declared import dynamic_arrays
from polysched.runtime.emulated.emulate import HEADERS, MOST_DYNAMIC, hand_written_text
from polysched.runtime.emulated.findings import CheckReport
from polysched.runtime.emulated.refusals import refusal, refused_arguments
from polysched.runtime.struct_arguments import arrays_in, struct_bytes
from polysched.support.entry import entry

Extent = int | Sequence[int]  # along x, then y, then z


@entry
def check_cuda(
    source: str | Path,
    kernel: str,
    grid: Extent,
    block: Extent,
    /,
    *,
    dynamic_shared_bytes: int = 0,
    include: Sequence[str] = (),
    define: Sequence[str] = (),
    **arguments: Any,
) -> CheckReport:
    """What a launch of `kernel` on the CPU shows: races, uninitialized reads, accesses out of bounds, and the cost of
    its memory accesses; arrays are changed in place, as the kernel does.

    `source` is CUDA's text, or the path of a file that ends in .cu, which is read with `-I include` and `-D define`;
    what it has for the host is left out. Of a template, `kernel` is as in "scale<float>". The arguments are numpy
    arrays, numbers and structs, by the names that the kernel's parameters have. `__constant__` and `__device__`
    variables may be given too; constant memory that is neither given nor initialized is filled with trial data.
    InputError if there is no such kernel, LaunchError if the arguments do not fit, ToolchainError if g++ cannot compile
    the text.
    """
    is_path = isinstance(source, Path) or (source.endswith(".cu") and "\n" not in source)
    file = read_cuda(Path(source) if is_path else source, include, define)
    chosen = _kernel(file, kernel)
    names = [parameter.name for parameter in chosen.parameters]
    variables = {variable.name: variable for variable in file.variables_of(chosen)}
    _require_names(chosen.name, names, list(variables), list(arguments))
    sizes = (ctypes.c_uint32 * 6)(*_extents("grid", grid), *_extents("block", block))
    if not 0 <= dynamic_shared_bytes <= MOST_DYNAMIC:
        raise LaunchError(f"dynamic_shared_bytes is {dynamic_shared_bytes}, but a block has 0 to {MOST_DYNAMIC}")
    library = _compiled(file, chosen, kernel, define)
    if dynamic_shared_bytes and not dynamic_arrays(library.text):
        raise LaunchError(f"dynamic_shared_bytes is {dynamic_shared_bytes}, but there is no `extern __shared__` array")
    expected = _described(library, len(names))
    arrays = dict[str, np.ndarray]()
    for name, parameter in zip(names, expected, strict=True):
        found = {name: arguments[name]} if parameter.is_pointer else arrays_in(name, arguments[name])
        arrays |= {inner: _array(inner, array, parameter if inner == name else None) for inner, array in found.items()}
    guarded = {name: guarded_copy(array) for name, array in arrays.items()}
    values, structs = (_Argument * max(1, len(names)))(), list[np.ndarray]()
    for k, (name, parameter) in enumerate(zip(names, expected, strict=True)):
        if parameter.is_pointer:
            values[k].pointer = guarded[name].ctypes.data
        elif parameter.kind == "o":
            at = {inner: copy.ctypes.data for inner, copy in guarded.items()}
            structs.append(struct_bytes(name, chosen.parameters[k].dtype, parameter.size, arguments[name], at))
            values[k].pointer = structs[-1].ctypes.data
        else:
            _set_number(values[k], name, arguments[name], parameter)
    ctypes.c_size_t.in_dll(library.library, "polysched_dynamic").value = dynamic_shared_bytes
    with _variables_set(library, variables.values(), arguments):
        report = library.run(guarded, library.library.polysched_enter, sizes, values)
    for name, copy in guarded.items():
        if arrays[name].flags.writeable:
            np.copyto(arrays[name], copy)
    return report


def _require_names(kernel: str, names: Sequence[str], variables: Sequence[str], given: Sequence[str]) -> None:
    if set(given) - set(variables) != set(names):
        also = f", and {', '.join(variables)} of the device" if variables else ""
        takes, gives = ", ".join(names) or "nothing", ", ".join(given) or "none"
        raise LaunchError(f"{kernel} takes {takes}{also}; given are {gives}")


def _kernel(file: CudaFile, name: str) -> Kernel:
    """The kernel; of a template, the one whose arguments the name has."""
    kernel = file.kernel(name)
    if "<" not in name and not kernel.example.endswith("<>") and kernel.template:
        hint = f"name one of its kernels, as in '{kernel.example}'"
        raise InputError(f"'{kernel.name}' is a template, <{', '.join(kernel.template)}>", hint=hint)
    return kernel


def _compiled(file: CudaFile, kernel: Kernel, name: str, define: Sequence[str]) -> CheckedLibrary:
    text = file.text_of(kernel)
    _, bracket, arguments = name.partition("<")
    called = f"{kernel.qualified}{bracket}{arguments}" if bracket else kernel.qualified + "<>" * bool(kernel.template)
    macros = [f"#ifndef {macro}\n#define {macro} {value}\n#endif" for macro, value in NVCC_MACROS.items()]
    macros += [f"#define {it.replace('=', ' ', 1) if '=' in it else f'{it} 1'}" for it in define]
    cpp = hand_written_text(text, file.name, name, called, "".join(f"{macro}\n" for macro in macros))
    try:
        return library_by_hand(cpp, text, file.texts)
    except ToolchainError as error:
        if found := refusal(str(error), file.texts, lambda it: file.why_unknown(it, HEADERS)):
            raise ToolchainError(found) from error
        if found := refused_arguments(str(error), name, kernel.template):
            raise InputError(found) from error
        raise


# --- arguments; the structs are those of kernel_entry_on_cpu.h


class _Argument(ctypes.Structure):
    _fields_ = (
        ("real", ctypes.c_double),
        ("integer", ctypes.c_int64),
        ("pointer", ctypes.c_void_p),
    )


class _Parameter(ctypes.Structure):
    """What is passed, or pointed to; 0 bytes for void."""

    _fields_ = (
        ("_kind", ctypes.c_char),
        ("is_pointer", ctypes.c_bool),
        ("is_const", ctypes.c_bool),
        ("size", ctypes.c_int32),
    )

    @property
    def kind(self) -> str:
        """As numpy has it, "o" for a struct, "p" for pointers."""
        return str(self._kind.decode())


def _described(library: CheckedLibrary, count: int) -> list[_Parameter]:
    described = (_Parameter * max(1, count))()
    found = library.library.polysched_describe(None)
    if found != count:
        raise InputError(f"the kernel has {found} parameters, but the text names {count}", hint="name each of them")
    library.library.polysched_describe(described)
    return described[:count]


def _array(name: str, given: Any, parameter: _Parameter | None) -> np.ndarray:
    """The array, if the kernel can take it; None: as a field of a struct."""
    if parameter is not None and parameter.kind == "p":
        raise LaunchError(f"{name} points to pointers; only kernels that take each array by itself can be checked")
    if not isinstance(given, np.ndarray):
        raise LaunchError(f"{name} is a pointer: give a numpy array, not {type(given).__name__}")
    if not given.flags.c_contiguous:
        raise LaunchError(f"{name} must be in C order without gaps; pass numpy.ascontiguousarray({name})")
    if parameter is None:
        return given
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
    if not isinstance(number, bool | int | float):
        raise LaunchError(f"{name} is a number, not {type(given).__name__}")
    if isinstance(number, float) and parameter.kind != "f":
        raise LaunchError(f"{name} is an integer, not {number!r}")
    if parameter.kind == "f":
        value.real = number
        return
    limits = np.iinfo(f"{parameter.kind}{parameter.size}") if parameter.kind != "b" else None
    low, high = (limits.min, limits.max) if limits else (0, 1)
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


# --- variables of the device


@contextmanager
def _variables_set(library: CheckedLibrary, variables: Iterable[Parameter], given: Mapping[str, Any]) -> Iterator[None]:
    """Within it the variables hold what is given for them, and empty constant memory trial data; arrays that were given
    hold what a kernel has made of them at the end. LaunchError if a value does not fit."""
    known = {name: memory for (function, name), memory in library.device_variables().items() if not function}
    found = {it.name: (it, known[it.name]) for it in variables if it.name in known}
    before = {name: memory.copy() for name, (_, memory) in found.items()}
    try:
        for name, (variable, memory) in found.items():
            if name in given:
                memory[:] = _bytes(variable, given[name], memory.size)
            elif variable.is_empty and variable.dtype is not None and not variable.is_pointer:
                count = memory.size // variable.dtype.itemsize
                memory[:] = trial_data(variable.dtype, (count,), np.random.default_rng(0)).view(np.uint8)
        yield
        for name, (_, memory) in found.items():
            if isinstance(given.get(name), np.ndarray) and given[name].flags.writeable:
                np.copyto(given[name], memory.view(given[name].dtype).reshape(given[name].shape))
    finally:
        for name, (_, memory) in found.items():
            memory[:] = before[name]


def _bytes(variable: Parameter, value: Any, size: int) -> np.ndarray:
    dtype = variable.dtype
    array = value if isinstance(value, np.ndarray | np.generic) or dtype is None else np.asarray(value, dtype)
    if dtype is not None and dtype.kind in "fiub" and array.dtype != dtype.base:
        raise LaunchError(f"{variable.name} is of {dtype.base}, but what is given is of {array.dtype}")
    if array.nbytes != size:
        raise LaunchError(f"{variable.name}, {variable.type}, has {size} bytes, but {array.nbytes} are given")
    return np.frombuffer(array.tobytes(), np.uint8)
