"""`__device__` and `__constant__` variables of a kernel's text: set for a run, read after it, then as they were."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from polysched.errors import LaunchError
from polysched.frontend.cuda.kernel import Parameter
from polysched.runtime.argument_texts import trial_data
from polysched.runtime.emulated.check import CheckedLibrary


@contextmanager
def variables_set(library: CheckedLibrary, variables: Iterable[Parameter], given: Mapping[str, Any]) -> Iterator[None]:
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
