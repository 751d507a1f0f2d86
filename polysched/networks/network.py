"""A network, compiled: call it with arrays by name, print what it runs, save it as C.

net = ps.network("model.onnx", shapes={"x": (1, 3, 224, 224)})
scores, = net(x=x)
print(net.report())
net.save("classifier")
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from polysched.config.options import Options, require_options
from polysched.errors import InputError, LaunchError
from polysched.ir.graph.cse import eliminate
from polysched.ir.graph.operations import Graph, Value
from polysched.networks.array import shape_of
from polysched.networks.batch_norm import without_batch_norms
from polysched.networks.built import Built
from polysched.networks.groups import grouped
from polysched.networks.kernels import compiled, kernels
from polysched.networks.places import places_of
from polysched.networks.plan import planned
from polysched.networks.reading.reader import read
from polysched.networks.report import report
from polysched.networks.saved import save
from polysched.runtime.aligned import aligned
from polysched.support.entry import entries, entry

FAST = Options(reorder_reductions=True, fast_math=True)


@entries
@dataclass(frozen=True, kw_only=True)
class Network(Built):
    """What `ps.network` gives."""

    def __call__(self, **inputs: Any) -> tuple[np.ndarray, ...]:
        """The results, as new arrays; LaunchError for inputs of other names, shapes or types, or places outside."""
        return self._bound.run(inputs)

    def report(self) -> str:
        """The kernels with the operations and shapes of each, and what memory is used."""
        return report(self)

    def save(self, folder: str | Path) -> Path:
        """Writes the network as one C file with one entry, its weights, a header, a Makefile and an example."""
        return save(self, Path(folder))

    @cached_property
    def _bound(self) -> _Bound:
        return _Bound(self)


@entry
def network(
    model: Any,
    shapes: Mapping[str, Sequence[int]] | None = None,
    target: str = "c",
    *,
    constants: Mapping[str, Any] | None = None,
    options: Options | None = None,
    fuse: bool = True,
) -> Network:
    """The network in an ONNX file, or in an `onnx.ModelProto`, compiled.

    `shapes` gives the inputs' where the file leaves dimensions open; `constants` are inputs whose value is known now.
    Sums of floats run in any order, unless `options` say otherwise. InputError, with the node, its operator and the
    attribute, for what is not supported.
    """
    if target != "c":
        raise InputError(f"networks are compiled for C, and target is {target!r}", hint='write target="c"')
    options = FAST if options is None else options
    require_options(options)
    found = read(model, {name: tuple(shape) for name, shape in (shapes or {}).items()}, constants)
    weights = dict(found.constants)
    stages = {"read": found.graph}
    stages["batch norm"] = without_batch_norms(stages["read"], weights)
    stages["eliminate"] = eliminate(stages["batch norm"])
    graph = stages["eliminate"]
    contents = contents_of(graph)
    places = places_of(graph)
    for fault in (each.fault(weights[contents[each.name]]) for each in places if each.name in contents):
        if fault:
            raise InputError(f"the constant {fault}")
    made = kernels(grouped(graph, fuse=fuse), weights, contents)
    return Network(
        name=graph.name,
        stages=stages,
        kernels=made,
        compiled=compiled(made.nests, options),
        plan=planned(graph, made.calls, found.outputs),
        constants={name: weights[key] for name, key in contents.items()},
        options=options,
        places=tuple(each for each in places if each.name not in contents),
    )


def contents_of(graph: Graph) -> dict[str, str]:
    """The hash of each constant by the name of its value."""
    constants = (each for each in graph.body.operations if each.kind == "Const")
    return {each.results[0].name: str(dict(each.attributes)["content"]) for each in constants}


class _Bound:
    """The buffers of a network, and its kernels bound to them: checked once, not at each call."""

    def __init__(self, net: Network):
        self.net, plan = net, net.plan
        self.arena = aligned(plan.arena.bytes)
        self.inputs = {value.name: _zeros(value) for value in plan.inputs}
        self.results = [_zeros(value) for _, value in plan.results]
        self.alone = Lock()  # calls of several threads come one after the other, since they share the buffers
        self.steps: list[Callable[[], None]] = []
        for call in net.kernels.calls:
            nest = net.kernels.nests[call.kernel]
            arrays = {
                a.name: self._array(call.arguments[a.name], _extents(a.shape), a.dtype.numpy) for a in nest.arrays
            }
            self.steps.append(net.compiled[call.kernel].program.bound(arrays))  # type: ignore[attr-defined]

    def run(self, given: Mapping[str, Any]) -> tuple[np.ndarray, ...]:
        _require(given, self.inputs)
        for fault in (each.fault(np.asarray(given[each.name])) for each in self.net.places):
            if fault:
                raise LaunchError(f"the input {fault}")
        with self.alone:
            for name, buffer in self.inputs.items():
                buffer[...] = given[name]
            for step in self.steps:
                step()
            for number, name in self.net.plan.copied:
                result = self.results[number]
                result.reshape(-1)[...] = self._array(name, (result.size,), result.dtype.name)
            return tuple(each.copy() for each in self.results)

    def _array(self, what: str | np.ndarray, shape: tuple[int, ...], dtype: str) -> np.ndarray:
        """The buffer of a value, or a constant."""
        if isinstance(what, np.ndarray):
            return np.ascontiguousarray(what).reshape(shape)
        root = self.net.plan.root(what)
        if root in self.inputs:
            return self.inputs[root].reshape(shape)
        if root in self.net.constants:
            return np.ascontiguousarray(self.net.constants[root]).reshape(shape)
        if root in self.net.plan.direct:
            return self.results[self.net.plan.direct[root]].reshape(shape)
        start, size = self.net.plan.arena.offsets[root], int(np.prod(shape)) * np.dtype(dtype).itemsize
        return self.arena[start : start + size].view(dtype).reshape(shape)


def _extents(extents: Sequence[Any]) -> tuple[int, ...]:
    return tuple(int(extent.value) for extent in extents)


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
