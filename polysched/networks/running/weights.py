"""What the calls of kernels take of their constants: what was made of them once, as packed panels, and else themselves.

    Conv(%x, %w) whose kernel has packed w      ->      {"w_prepared": the panels}
    Add(%x, %b), which reads b as it is         ->      {"b": the constant}

Calls of one kernel share its code, and each has what is made of its own constants.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from polysched.ir.nodes import Function
from polysched.networks.kernels import Kernels
from polysched.runtime.bound import bind
from polysched.runtime.cpu import CpuProgram

Weights = Mapping[str, np.ndarray]  # of one call, by the name of a parameter of the entry


def weights_of(kernels: Kernels, programs: Mapping[str, CpuProgram]) -> tuple[Weights, ...]:
    """Of each call, in order; those of equal constants are the same arrays."""
    known: dict[tuple[object, ...], Weights] = {}
    found = []
    for call in kernels.calls:
        given = {name: call.arguments[name] for name in kernels.constants[call.kernel]}
        arrays = {name: array for name, array in given.items() if isinstance(array, np.ndarray)}
        key = (call.kernel, *map(id, arrays.values()))
        if key not in known:
            known[key] = _weights(programs[call.kernel], kernels.nests[call.kernel], arrays)
        found.append(known[key])
    return tuple(found)


def _weights(program: CpuProgram, nest: Function, constants: Mapping[str, np.ndarray]) -> Weights:
    own = {array.name: tuple(int(str(extent)) for extent in array.shape) for array in nest.arrays}
    arrays = {name: np.ascontiguousarray(array).reshape(own[name]) for name, array in constants.items()}
    if program.prepares is None:
        return arrays
    arrays |= bind(program, nest, tuple(constants), arrays).prepared
    return {name: array for name, array in arrays.items() if name in program.prepares.parameters}
