"""`__device__` and `__constant__` variables of a kernel's text: set before a run, read after it, and as they were again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from polysched.errors import LaunchError
from polysched.frontend.cuda.kernel import Parameter
from polysched.ir.dtypes import ALL
from polysched.runtime.check import CheckedLibrary


@contextmanager
def variables_set(library: CheckedLibrary, variables: Iterable[Parameter], given: Mapping[str, Any]) -> Iterator[None]:
    """Within it the variables hold what is given for them, and empty constant memory trial data; arrays that were given
    hold what a kernel has made of them at the end. LaunchError if a value does not fit."""
    found = {it.name: (it, memory) for it in variables if (memory := library.variable(it.name)) is not None}
    before = {name: memory.copy() for name, (_, memory) in found.items()}
    try:
        for name, (variable, memory) in found.items():
            if name in given:
                memory[:] = _bytes(variable, given[name], memory.size)
            elif variable.is_empty and variable.element and not variable.is_pointer:
                memory[:] = _trial(variable, memory.size)
        yield
        for name, (_, memory) in found.items():
            if isinstance(given.get(name), np.ndarray) and given[name].flags.writeable:
                np.copyto(given[name], memory.view(given[name].dtype).reshape(given[name].shape))
    finally:
        for name, (_, memory) in found.items():
            memory[:] = before[name]


def _bytes(variable: Parameter, value: Any, size: int) -> np.ndarray:
    array = value if isinstance(value, np.ndarray) else np.asarray(value, _dtype(variable))
    if variable.element and array.dtype != _dtype(variable):
        raise LaunchError(f"{variable.name} is of {variable.element}, but the array given is of {array.dtype}")
    if array.nbytes != size:
        raise LaunchError(f"{variable.name}, {variable.type}, has {size} bytes, but {array.nbytes} are given")
    return np.frombuffer(np.ascontiguousarray(array).tobytes(), np.uint8)


def _trial(variable: Parameter, size: int) -> np.ndarray:
    rng, dtype = np.random.default_rng(0), _dtype(variable)
    count = size // dtype.itemsize
    numbers = rng.uniform(0.5, 1.5, count) if dtype.kind == "f" else rng.integers(0, 2, count)
    return numbers.astype(dtype).view(np.uint8)


def _dtype(variable: Parameter) -> np.dtype:
    return np.dtype(ALL[variable.element].numpy) if variable.element else np.dtype(np.uint8)
