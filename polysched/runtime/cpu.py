"""Runs a C Source on numpy arrays, in place.

    run = load(emit_c(linearize(fn)), fn)
    run(A=a, n=4)                               sizes that the arrays show may be left out
"""

from __future__ import annotations

import ctypes
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from polysched.codegen.emit.source import ZERO_DIVISOR, Source
from polysched.codegen.emit.vector_math import MACRO
from polysched.errors import ToolchainError, ZeroDivisorError
from polysched.ir.nodes import Function
from polysched.runtime import forked
from polysched.runtime.arguments import Binder
from polysched.runtime.prepares import Prepares
from polysched.runtime.timing import Timing
from polysched.runtime.toolchain import c_flags, compile_shared
from polysched.runtime.vector_math import WITH_LIBMVEC, libmvec_has
from polysched.runtime.views import host_view
from polysched.support import isl

_KEPT_MEMORY = Path(__file__).with_name("kept_memory.h")
_RELEASE = "polysched_release"  # its function that gives back what is kept

_SCALARS = {
    "f64": ctypes.c_double,
    "f32": ctypes.c_float,
    "f16": ctypes.c_float,  # ctypes has no half; the text takes it as float
    "bool": ctypes.c_bool,
    **{f"i{bits}": getattr(ctypes, f"c_int{bits}") for bits in (8, 16, 32, 64)},
    **{f"u{bits}": getattr(ctypes, f"c_uint{bits}") for bits in (8, 16, 32, 64)},
}


class HostProgram:
    """A program that takes arrays in the host's memory; call it with the arguments of `fn` by name."""

    fn: Function  # as the user gave it: its arrays have their own dimensions
    valid_sizes: isl.Set | None  # { : ... } for which all accesses are in bounds; None: all

    def __call__(self, **arguments: Any) -> None:
        """Runs it in place; LaunchError, before anything runs, if the arguments do not fit, and where a device fails.
        ZeroDivisorError, when it has run on the CPU, if an integer was divided by zero."""
        bound = self._bind(arguments)
        self._run(bound.in_order)

    def bound(self, arguments: Mapping[str, Any]) -> Callable[[], None]:
        """A call on these arguments, which are checked now and not each time; LaunchError if they do not fit."""
        found = self._bind(arguments)
        return lambda: self._run(found.in_order)

    @property
    def written(self) -> frozenset[str]:
        """The names of the arrays that a call writes to."""
        return self._bind.written

    def time(self, arguments: Mapping[str, Any], runs: int) -> Timing:
        """Times by the clock, with copies to a device and back, always on what is in the arrays now, which stays."""
        bound = self._bind(arguments)
        originals = {name: bound.arrays[name].owner for name in self._bind.written}
        scratch = {name: original.copy() for name, original in originals.items()}
        copies = {name: host_view(copy) for name, copy in scratch.items()}
        values = replace(bound, arrays=bound.arrays | copies).in_order
        samples = []
        for _ in range(runs + 1):
            for name, copy in scratch.items():
                np.copyto(copy, originals[name])
            start = time.perf_counter()
            self._run(values)
            samples.append(1e3 * (time.perf_counter() - start))
        return Timing(tuple(samples[1:]))  # the first one has started the threads

    @cached_property
    def _bind(self) -> Binder:
        return Binder(self.fn, self.valid_sizes)

    def _run(self, values: list[Any]) -> None:
        raise NotImplementedError


@dataclass(frozen=True)
class CpuProgram(HostProgram):
    """A loaded program in C."""

    fn: Function
    library: ctypes.CDLL
    entry: Any  # the C function
    valid_sizes: isl.Set | None = None
    threads: int | None = None  # None: as many as OpenMP takes by itself
    prepares: Prepares | None = None  # what fills arrays that the entry takes

    def __repr__(self) -> str:
        return f"CpuProgram({self.fn.name}, threads={self.threads})"

    @property
    def has_openmp(self) -> bool:
        """Is it linked with OpenMP? A serial text is not, nor is any by a compiler that lacks it."""
        return hasattr(self.library, "omp_set_num_threads")

    def release(self) -> None:
        """Gives back the memory of large temporaries, which it keeps from call to call; calls under way go on."""
        if hasattr(self.library, _RELEASE):
            self.library[_RELEASE]()

    @cached_property
    def zero_divisor(self) -> ctypes.c_int | None:
        """What tells that an integer was divided by zero; None where the text makes no such division."""
        return ctypes.c_int.in_dll(self.library, ZERO_DIVISOR) if hasattr(self.library, ZERO_DIVISOR) else None

    def _run(self, values: list[Any]) -> None:
        if self.prepares is None:
            return self.enter(self.entry, values)
        known = dict(zip(self._bind.order, values, strict=True))
        made = self.prepared(known)  # which lives as long as the call
        self.enter(self.entry, self.prepares.entry_values(known, made))

    def prepared(self, values: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """What is made of constants alone, given these values of parameters."""
        assert self.prepares is not None
        made = self.prepares.empty(values)
        self.enter(self.prepares.function, self.prepares.own_values(values, made))
        for array in made.values():
            array.flags.writeable = False
        return made

    def enter(self, entry: Any, values: list[Any]) -> None:
        """Calls a function of the program."""
        told = self.zero_divisor
        if told is not None:
            told.value = 0
        forked.call(self._enter, entry, values)
        if told is not None and told.value:
            raise ZeroDivisorError(f"{self.fn.name} divides an integer by zero")

    def _enter(self, entry: Any, values: list[Any]) -> None:
        if self.threads is None or not self.has_openmp:
            entry(*values)
            return
        # The number of threads is a setting of the whole process: put it back.
        before = self.library.omp_get_max_threads()
        self.library.omp_set_num_threads(self.threads)
        try:
            entry(*values)
        finally:
            self.library.omp_set_num_threads(before)


def load(
    source: Source,
    fn: Function,
    valid_sizes: isl.Set | None = None,
    *,
    threads: int | None = None,
    contract: bool = False,
    fast_math: bool = False,
    quickly: bool = False,
    libraries: tuple[str, ...] = (),
) -> CpuProgram:
    """`source` compiled and loaded; `fn` is the function as the user calls it, before `linearize`. With `contract`,
    a * b + c of floats may be rounded once; with `fast_math`, floats are reassociated; `quickly` compiled, it runs
    slower. `libraries` come before those of the system."""
    flags = (*c_flags(source.text, contract=contract, fast_math=fast_math), *source.flags)
    flags = tuple("-O1" if quickly and flag == "-O3" else flag for flag in flags)
    found = libmvec_has(source.text)
    flags = (*flags, *(f"-D{MACRO}{name}" for name in found))
    libraries = (*libraries, *(WITH_LIBMVEC if found else ("-lm",)))
    ahead = _KEPT_MEMORY.read_text() if "malloc(" in source.text else ""
    path = compile_shared(source.text, source.entry, flags=flags, libraries=libraries, ahead=ahead)
    library = open_library(str(path))
    prepares = None
    if (own := source.prepare) is not None:
        prepares = Prepares(own, _typed(library[own.entry], own.parameters, fn), source.parameters)
    program = CpuProgram(fn, library, c_function(library, source, fn), valid_sizes, threads, prepares)
    if ahead:
        weakref.finalize(program, library[_RELEASE]).atexit = False
    return program


def open_library(path: str) -> ctypes.CDLL:
    """The library at `path`; ToolchainError if a function that it calls is nowhere."""
    try:
        return ctypes.CDLL(path)
    except OSError as error:
        raise ToolchainError(
            f"the compiled program cannot be loaded: {error}; a function that it calls must be in a library "
            "that the process has loaded with ctypes.CDLL(path, ctypes.RTLD_GLOBAL)"
        ) from error


def c_function(library: ctypes.CDLL, source: Source, fn: Function) -> Any:
    """The entry of a loaded Source, with its C types."""
    return _typed(library[source.entry], source.parameters, fn)


def _typed(function: Any, parameters: Sequence[str], fn: Function) -> Any:
    """A function in C with the types of these parameters; what `fn` does not know are arrays."""
    dtypes = {scalar.name: scalar.dtype.name for scalar in fn.scalars} | dict.fromkeys(fn.sizes, "i64")
    function.argtypes = [_SCALARS[dtypes[name]] if name in dtypes else ctypes.c_void_p for name in parameters]
    function.restype = None
    return function
