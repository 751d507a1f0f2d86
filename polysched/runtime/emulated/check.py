"""Runs a Source in CUDA or OpenCL without a GPU, as emulate.py does, and finds its races and wrong accesses.

    run = check(emit_cuda(linearize(fn)), fn)
    print(run(A=a))                 runs in place; no races, uninitialized reads or accesses out of bounds
                                    scale_k0:12: reads A, 8 bytes a lane: 8 sectors a request (8 needed), ...

The text is compiled with -fsanitize=thread, but not linked with its library: race_check.cpp is told of each access
instead. It knows block, thread and barrier of each, so that what it finds is wrong, and nothing else is: a race is
found whatever the order in which threads run here, if there is one at these sizes.
"""

from __future__ import annotations

import ctypes
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from polysched.codegen.emit.source import Source
from polysched.config.target import LIMITS, TARGETS
from polysched.errors import BudgetExceeded, KernelError
from polysched.ir.nodes import Function
from polysched.runtime.arguments import Binder
from polysched.runtime.cpu import c_function, open_library
from polysched.runtime.emulated.debug_info import Variable, offset_of, variables
from polysched.runtime.emulated.declared import DeclaredArray, declared_arrays, declared_kernels, without_comments
from polysched.runtime.emulated.emulate import CPP_FLAGS, MOST_DYNAMIC, emulated_text, run_emulated
from polysched.runtime.emulated.findings import CheckReport
from polysched.runtime.emulated.race_check import GUARD, race_check
from polysched.runtime.emulated.reading import Reading
from polysched.runtime.toolchain import compile_shared
from polysched.support import isl

CHECKED_FLAGS = (
    "-Og",  # nothing moves across what it depends on, or is read that would not be
    "-g1",
    "-fsanitize=thread,bounds,integer-divide-by-zero",
    "-nodefaultlibs",
    "-DPOLYSCHED_CHECKED",
    *CPP_FLAGS,
)


@dataclass(frozen=True)
class Checked:
    """A GPU program on the CPU, under the checker; call it with the arguments of `fn` by name."""

    fn: Function
    library: CheckedLibrary = field(repr=False)
    entry: Any = field(repr=False)
    valid_sizes: isl.Set | None = None  # { : ... } for which all accesses are in bounds; None: all
    most_accesses: int | None = None  # BudgetExceeded after these
    most_blocks: int = 0  # as of `Emulated`
    wide: bool = False

    def __call__(self, **arguments: Any) -> CheckReport:
        """What a run in place shows; LaunchError, before anything runs, if the arguments do not fit."""
        bound = Binder(self.fn, self.valid_sizes)(arguments)
        arrays = {name: arguments[name] for name in bound.arrays}
        guarded = {name: guarded_copy(array) for name, array in arrays.items()}
        values = bound.in_order_at({name: array.ctypes.data for name, array in guarded.items()})
        most, blocks, wide = self.most_accesses, self.most_blocks, self.wide
        report = self.library.run(guarded, self.entry, *values, most_accesses=most, most_blocks=blocks, wide=wide)
        for name, array in arrays.items():
            if array.flags.writeable:
                np.copyto(array, guarded[name])
        return report


def check(source: Source, fn: Function, valid_sizes: isl.Set | None = None) -> Checked:
    """`source` compiled for the checker; `fn` is the function as the user calls it, before `linearize`."""
    target = TARGETS[source.target]
    kernels = source.text if target.is_single_source else source.device
    file = f"{source.entry}{target.suffix}"
    race_check()  # first: the kernels look for its functions
    path = compile_shared(emulated_text(source), file, language="c++", flags=CHECKED_FLAGS)
    library = CheckedLibrary(path, open_library(str(path)), kernels, {file: kernels})
    return Checked(fn, library, c_function(library.library, source, fn), valid_sizes)


def guarded_copy(array: np.ndarray) -> np.ndarray:
    """A copy, as a device would align it, with memory around it that is nobody's."""
    memory = np.empty(array.nbytes + 2 * GUARD + 256, np.uint8)
    start = GUARD + -(memory.ctypes.data + GUARD) % 256
    copy = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    np.copyto(copy, array)
    return copy


@dataclass(frozen=True)
class CheckedLibrary:
    """Kernels compiled for the checker."""

    path: Path
    library: ctypes.CDLL
    text: str  # of the kernels
    texts: Mapping[str, str]  # the files that it is made of, by their names, the first is the one that is checked

    def run(
        self,
        arrays: Mapping[str, np.ndarray],
        entry: Any,
        *values: Any,
        most_accesses: int | None = None,
        most_blocks: int = 0,
        wide: bool = False,
    ) -> CheckReport:
        """What a call of `entry` shows; `arrays` are guarded copies, and all that it may access of the host's.
        BudgetExceeded if it takes more accesses than `most_accesses`."""
        checker = race_check()
        checker.reset()
        checker.limit(_MOST_ACCESSES if most_accesses is None else most_accesses)
        names: dict[int, str] = {}
        declared: dict[int, DeclaredArray] = {}
        for name, array in arrays.items():
            names[checker.add_array(array.ctypes.data, array.nbytes, array.itemsize)] = name
        kernels, arrays_of_text = declared_kernels(without_comments(self.text)), declared_arrays(self.text)
        for variable in variables(self.path):
            if variable.is_guard:
                checker.add_ignored(variable.offset, variable.size)
                continue
            for kernel, known in _declarations(variable, kernels, arrays_of_text):
                if not variable.shared:
                    region = checker.add_variable(self._base + variable.offset, variable.size)
                else:
                    is_dynamic = known is not None and known.is_dynamic
                    region = checker.add_shared(variable.offset, None if is_dynamic else variable.size, kernel)
                names[region] = variable.name
                if known is not None:
                    declared[region] = known
        fault = self._too_much_shared(kernels)
        try:
            if not fault:
                run_emulated(self.library, False, entry, *values, most_blocks=most_blocks, wide=wide)
        except KernelError as error:
            fault = str(error)
        except BudgetExceeded:  # what has been found counts
            if not checker.findings():
                raise
        if most_accesses is not None and checker.accesses() > most_accesses and not checker.findings():
            raise BudgetExceeded(f"more than {most_accesses} accesses to memory")
        return Reading(checker, self.path, self._base, self.texts, names, declared, arrays).report(fault)

    def device_variables(self) -> dict[tuple[str, str], np.ndarray]:
        """The bytes of each variable of the device, by its name and the function that it is in."""
        found = [it for it in variables(self.path) if not it.shared]
        memory = ((ctypes.c_uint8 * it.size).from_address(self._base + it.offset) for it in found)
        return {(it.function, it.name): np.ctypeslib.as_array(at) for it, at in zip(found, memory, strict=True)}

    def _too_much_shared(self, kernels: Collection[str]) -> str:
        """What is wrong with the shared memory that kernels declare and get; "" if nothing is."""
        dynamic = ctypes.c_size_t.in_dll(self.library, "polysched_dynamic").value
        known = [it for it in variables(self.path) if it.shared and not it.is_guard and it.size < MOST_DYNAMIC]
        for kernel in kernels:
            static = sum(it.size for it in known if it.function == kernel)
            if static > LIMITS.shared:
                limit = f"CUDA compiles at most {LIMITS.shared}: take more from the launch, as extern __shared__"
                return f"{kernel}: declares {static} bytes of shared memory, but {limit}"
            if static + dynamic > MOST_DYNAMIC:
                has = f"declares {static} bytes of shared memory and gets {dynamic}"
                return f"{kernel}: {has}, but a block has {MOST_DYNAMIC}"
        return ""

    @property
    def _base(self) -> int:
        """Where the library is loaded."""
        symbol = "polysched_fault"
        return ctypes.addressof(ctypes.c_char.in_dll(self.library, symbol)) - offset_of(self.path, symbol)


_MOST_ACCESSES = 1 << 30  # a minute


def _declarations(
    variable: Variable, kernels: Collection[str], declared: Sequence[DeclaredArray]
) -> list[tuple[str, DeclaredArray | None]]:
    """The kernel that alone has the variable, "" if others may have it too, and how it is declared, if that is found; a
    dynamic array is one for each kernel that declares it."""
    named = [array for array in declared if array.name == variable.name]
    dynamic = [array for array in named if array.is_dynamic]
    if dynamic and not variable.function:
        of_kernels = [array for array in dynamic if array.function in kernels]
        others = [array for array in dynamic if array.function not in kernels]
        return [*((array.function, array) for array in of_kernels), *(("", array) for array in others[:1])]
    fitting = (array for array in named if array.function in (variable.function, "") and array.shape(variable.size))
    return [(variable.function if variable.function in kernels else "", next(fitting, None))]
