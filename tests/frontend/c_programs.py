"""C functions run both ways: as gcc compiles them, and as their region, optimised; then every bit is compared."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from nests import _random_value

from polysched.frontend.c.read import read_c
from polysched.frontend.c.region import Region
from polysched.ir.dtypes import DType
from polysched.ir.interp import evaluate
from polysched.ir.nodes import Function
from polysched.pipeline import optimize
from polysched.runtime.cpu import CpuProgram, c_function, open_library
from polysched.runtime.toolchain import EXACT, compile_shared

FLAGS = ("-std=gnu11", "-O0", "-fopenmp", *EXACT)  # short to compile; exact, as always


class Programs:
    """The functions of one text, each with one region; arguments of a function are the parameters of its nest."""

    def __init__(self, text: str, folder: Path, pure: tuple[str, ...] = ()):
        path = folder / "programs.c"
        path.write_text(text)
        self.regions = {region.function.name: region for region in read_c(path, pure=pure)}
        library = compile_shared(text, "programs", flags=FLAGS)
        self.original = ctypes.CDLL(str(library), ctypes.RTLD_GLOBAL)  # what is called by name must be found
        self.programs: dict[str, CpuProgram] = {}

    def program(self, name: str) -> CpuProgram:
        if name not in self.programs:
            function = self.regions[name].function
            done = optimize(function)
            library = open_library(str(compile_shared(done.source.text, done.source.entry, flags=FLAGS)))
            entry = c_function(library, done.source, function)
            self.programs[name] = CpuProgram(function, library, entry, done.scop.valid_sizes)
        return self.programs[name]

    def check(
        self,
        name: str,
        sizes: Mapping[str, int],
        given: Mapping[str, Any] | None = None,
        run: Callable[..., None] | None = None,
        order: Sequence[str] = (),
    ) -> None:
        """Same bits for random arguments; `given` are arguments that must not be random. `run` runs the nest."""
        region = self.regions[name]
        if not assumed(region, sizes):
            return
        arguments = random_arguments(region.function, sizes, given or {}, random.Random(f"{name}{sizes}"))
        expected = {key: np.copy(value) if isinstance(value, np.ndarray) else value for key, value in arguments.items()}
        (run or self.program(name))(**arguments)
        self.run_original(region, expected, order)
        for array in region.function.arrays:
            message = f"{array.name} of {name}{dict(sizes)}"
            np.testing.assert_array_equal(arguments[array.name], expected[array.name], err_msg=message, strict=True)

    def run_original(self, region: Region, arguments: Mapping[str, Any], order: Sequence[str] = ()) -> None:
        """Globals are set before the call, and read after it; `order`: the C parameters, if the nest lacks some."""
        passed: list[Any] = []
        shared: list[tuple[np.ndarray, np.ndarray]] = []
        for name in order or region.function.params:
            value = arguments.get(name, 0)
            if isinstance(value, np.ndarray) and name.startswith("global_"):
                memory = (ctypes.c_char * value.nbytes).in_dll(self.original, name)
                view = np.frombuffer(memory, value.dtype).reshape(value.shape)
                view[...] = value
                shared.append((view, value))
            elif isinstance(value, np.ndarray):
                passed.append(ctypes.c_void_p(value.ctypes.data))
            elif not name.endswith("_extent"):
                passed.append(_C_TYPES[_dtype(region.function, name)](value))
        self.original[region.function.name](*passed)
        for view, value in shared:
            value[...] = view


def assumed(region: Region, sizes: Mapping[str, int]) -> bool:
    """Do the assumptions hold? They are C, and short."""
    texts = [text.replace("(long long)", "").replace("||", "or").replace("&&", "and") for text in region.assumptions]
    return all(eval(text, {}, {"n": 0, "m": 0, **sizes}) for text in texts)


def random_arguments(
    fn: Function, sizes: Mapping[str, int], given: Mapping[str, Any], rng: random.Random
) -> dict[str, Any]:
    arguments: dict[str, Any] = {**sizes, **given}
    for scalar in fn.scalars:
        arguments.setdefault(scalar.name, scalar.dtype(_random_value(scalar.dtype, rng)).item())
    for array in fn.arrays:
        if array.name not in given:
            shape = tuple(evaluate(extent, arguments) for extent in array.shape)
            values = [_random_value(array.dtype, rng) for _ in range(int(np.prod(shape, dtype=int)))]
            arguments[array.name] = np.array(values, array.dtype.numpy).reshape(shape)
        elif array.shape and f"{array.name}_extent" in fn.sizes:
            arguments[f"{array.name}_extent"] = len(given[array.name])
    return arguments


_C_TYPES = {"i": ctypes.c_longlong, "f64": ctypes.c_double, "f32": ctypes.c_float}


def _dtype(fn: Function, name: str) -> str:
    dtypes: dict[str, DType] = {scalar.name: scalar.dtype for scalar in fn.scalars}
    return dtypes[name].name if name in dtypes and dtypes[name].is_float else "i"
