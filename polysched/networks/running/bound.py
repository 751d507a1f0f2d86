"""The buffers of a network, and its kernels bound to them: checked once, not at each call."""

from __future__ import annotations

import os
from collections.abc import Mapping
from threading import Lock
from typing import Any

import numpy as np

from polysched.errors import LaunchError
from polysched.ir.graph.operations import Value
from polysched.networks.array import shape_of
from polysched.networks.built import Built
from polysched.networks.kernels import Run
from polysched.networks.narrow import array_type, bits
from polysched.networks.running.driver import driver
from polysched.networks.running.weights import Weights
from polysched.runtime.aligned import aligned


class Bound:
    """A network with its buffers; `run` is a call."""

    def __init__(self, net: Built):
        self.net, plan = net, net.plan
        self.arena = aligned(plan.arena.bytes)
        self.inputs = {value.name: _zeros(value) for value in plan.inputs}
        self.results = [_zeros(value) for _, value in plan.results]
        # Calls of several threads come one after the other, since they share the buffers; by process, since a child of
        # fork must not wait for threads that its parent alone has.
        self.alone: dict[int, Lock] = {}
        calls = list(zip(net.kernels.calls, net.weights, strict=True))
        self.arrays = [self._arguments(call, weights) for call, weights in calls]
        self.step = driver([net.programs[call.kernel] for call, _ in calls], self.arrays)

    def run(self, given: Mapping[str, Any]) -> tuple[np.ndarray, ...]:
        """The results; LaunchError for inputs of other names, shapes or types, or places outside."""
        given = {name: self._taken(name, array) for name, array in given.items()}
        _require(given, self.inputs)
        for fault in (each.fault(np.asarray(given[each.name])) for each in self.net.places):
            if fault:
                raise LaunchError(f"the input {fault}")
        with self.alone.setdefault(os.getpid(), Lock()):
            for name, buffer in self.inputs.items():
                buffer[...] = given[name]
            self.step()
            for guard in self.net.guards:
                if self._bytes(guard.value, 1)[0]:
                    raise LaunchError(guard.message)
            for number, name in self.net.plan.copied:
                result = self.results[number]
                result.reshape(-1).view(np.uint8)[...] = self._bytes(name, result.nbytes)
            return tuple(
                self._given(name, each) for (name, _), each in zip(self.net.plan.results, self.results, strict=True)
            )

    def _taken(self, name: str, array: Any) -> np.ndarray:
        """What kernels take of an input."""
        found, kind = np.asarray(array), self.net.narrow.get(name)
        return bits(found) if kind and found.dtype == array_type(kind) else found

    def _given(self, name: str, result: np.ndarray) -> np.ndarray:
        """A result as a new array."""
        copy = result.copy()
        return copy.view(array_type(self.net.narrow[name])) if name in self.net.narrow else copy

    def _arguments(self, call: Run, weights: Weights) -> list[np.ndarray]:
        """What the entry of the kernel takes, in order."""
        found = []
        for name in self.net.compiled[call.kernel].source.parameters:
            what = weights[name] if name in weights else call.arguments[name]
            found.append(what if isinstance(what, np.ndarray) else self._bytes(what))
        return found

    def _bytes(self, name: str, count: int | None = None) -> np.ndarray:
        """The buffer of a value of the graph, from its first byte on."""
        root = self.net.plan.root(name)
        if root in self.inputs:
            found = self.inputs[root]
        elif root in self.net.constants:
            found = np.ascontiguousarray(self.net.constants[root])
        elif root in self.net.plan.direct:
            found = self.results[self.net.plan.direct[root]]
        else:
            return self.arena[self.net.plan.arena.offsets[root] :][:count]
        return found.reshape(-1).view(np.uint8)[:count]


def _zeros(value: Value) -> np.ndarray:
    return np.zeros(shape_of(value), value.type.dtype.numpy)


def _require(given: Mapping[str, Any], inputs: Mapping[str, np.ndarray]) -> None:
    """LaunchError unless there is one array for each input."""
    if set(given) != set(inputs):
        names = ", ".join(f"'{name}'" for name in inputs)
        raise LaunchError(f"the inputs are {names}, and given are {', '.join(map(repr, given)) or 'none'}")
    for name, buffer in inputs.items():
        array = np.asarray(given[name])
        if array.shape != buffer.shape or array.dtype != buffer.dtype:
            wanted = f"{buffer.dtype.name} of shape {buffer.shape}"
            raise LaunchError(f"input '{name}' is {array.dtype.name} of shape {array.shape}, but is {wanted}")
