"""The arrays that a program makes of constants, once: what they are like, and where they lie.

They belong to who binds the constants, and are read-only from then on: any number of calls, in any number of threads,
may use them at a time. Each begins at a multiple of 64 bytes, as what the C allocates by itself does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from polysched.codegen.emit.source import Prepare
from polysched.ir.interp import evaluate
from polysched.ir.nodes import Array
from polysched.runtime.aligned import aligned


@dataclass(frozen=True)
class Prepares:
    """What makes the arrays, and who takes them."""

    text: Prepare
    function: Any  # the C function
    parameters: tuple[str, ...]  # of the entry

    def empty(self, values: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """The arrays for these sizes, by name, to be filled."""
        return {array.name: _empty(array, values) for array in self.text.arrays}

    def own_values(self, values: Mapping[str, Any], made: Mapping[str, np.ndarray]) -> list[Any]:
        """The arguments of the function that fills the arrays."""
        return _in_order(self.text.parameters, values, made)

    def entry_values(self, values: Mapping[str, Any], made: Mapping[str, np.ndarray]) -> list[Any]:
        """Those of the entry."""
        return _in_order(self.parameters, values, made)


def _in_order(names: tuple[str, ...], values: Mapping[str, Any], made: Mapping[str, np.ndarray]) -> list[Any]:
    return [made[name].ctypes.data if name in made else values[name] for name in names]


def _empty(array: Array, values: Mapping[str, Any]) -> np.ndarray:
    shape = tuple(max(0, evaluate(extent, values)) for extent in array.shape)
    dtype = np.dtype(array.dtype.numpy)
    return aligned(prod(shape) * dtype.itemsize).view(dtype).reshape(shape)
