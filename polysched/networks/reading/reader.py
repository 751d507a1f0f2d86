"""An ONNX file as an operation graph of constant shapes; nodes on constants are folded on the way.

    node {op_type: "Conv", input: ["x", "w"], output: ["y"], ...}
                                      ->    %w = Const() {content = 3fa9...} : f32[64, 3, 7, 7]
                                            %y = Conv(%x, %w) {pads = (3, 3, 3, 3)} : f32[1, 64, 112, 112]

Attributes that say what holds by default are left out. `nodes.py` has what becomes of nodes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from polysched.errors import InputError
from polysched.ir.dtypes import ALL, DType
from polysched.ir.graph.operations import Graph, TensorType, Value
from polysched.networks.narrow import NARROW, array_type, storage
from polysched.networks.reading.entries import Entry
from polysched.networks.reading.nodes import Nodes
from polysched.networks.reading.schema import package, type_name


@dataclass(frozen=True)
class Read:
    """A network as it is in the file."""

    graph: Graph
    constants: dict[str, np.ndarray]  # by the hash of their content
    outputs: tuple[str, ...]  # the names of the results, in order
    labels: dict[str, str] = field(default_factory=dict)  # of a node by its first result
    narrow: dict[str, str] = field(default_factory=dict)  # the types of inputs and results that are narrow


def read(
    source: Any, shapes: Mapping[str, tuple[int, ...]] | None = None, constants: Mapping[str, Any] | None = None
) -> Read:
    """The graph of a file, or of an `onnx.ModelProto`; `shapes` and `constants` bind inputs by name."""
    onnx = package()
    model = source if isinstance(source, onnx.ModelProto) else _loaded(source)
    if model.functions:
        model = package("onnx.inliner").inline_local_functions(model)
    name = Path(source).stem if isinstance(source, str | Path) else model.graph.name or "net"
    return _Reader(model, dict(shapes or {}), dict(constants or {})).read(name)


def _loaded(path: Any) -> Any:
    try:
        return package().load(str(path))
    except OSError as error:
        raise InputError(f"'{path}' cannot be read: {error.strerror or error}") from None
    except Exception as error:  # of protobuf, which is not ours to import
        raise InputError(f"'{path}' is no ONNX model: {error}") from None


class _Reader:
    def __init__(self, model: Any, shapes: dict[str, tuple[int, ...]], constants: dict[str, Any]):
        self.graph, self.shapes, self.given = model.graph, shapes, constants
        self.opset = {each.domain: each.version for each in model.opset_import}.get("", 1)
        self.nodes = Nodes(self.opset)

    def read(self, name: str) -> Read:
        onnx = package()
        scope: dict[str, Entry] = {i.name: onnx.numpy_helper.to_array(i) for i in self.graph.initializer}
        inputs = [each for each in self.graph.input if each.name not in scope or each.name in self.given]
        self._require_inputs([each.name for each in inputs])
        for each in inputs:
            scope[each.name] = self._input(each)
        self.nodes.read(self.graph.node, scope, self.opset)
        for each in self.graph.output:
            if each.name not in scope:
                raise InputError(f"result '{each.name}' of the graph is computed by no node")
        results = tuple(self.nodes.value(scope[each.name], each.name) for each in self.graph.output)
        graph = Graph(name, self.nodes.builder.block(*results))
        names = [each.name for each in (*inputs, *self.graph.output)]
        narrow = {name: kind for name in names if (kind := self.nodes.kind(scope[name]))}
        return Read(
            graph, self.nodes.contents, tuple(each.name for each in self.graph.output), self.nodes.labels, narrow
        )

    def _require_inputs(self, names: list[str]) -> None:
        for given in (*self.shapes, *self.given):
            if given not in names:
                raise InputError(f"there is no input '{given}'", hint=f"the inputs are {', '.join(names)}")

    def _input(self, info: Any) -> Entry:
        if not info.type.HasField("tensor_type"):
            raise InputError(f"input '{info.name}' is no tensor", hint="kernels have arrays alone")
        kind = type_name(info.type.tensor_type.elem_type)
        if info.name in self.given:
            return self._bound(info, kind)
        if kind not in ALL and kind not in NARROW:
            raise InputError(f"input '{info.name}' is {kind}", hint=f"networks have {', '.join((*ALL, *NARROW))}")
        dims = info.type.tensor_type.shape.dim
        shape = self.shapes.get(info.name)
        shape = tuple(self._extent(info.name, k, dim) for k, dim in enumerate(dims)) if shape is None else tuple(shape)
        stated = [max(dim.dim_value, 0) for dim in dims]  # some exporters write -1 for what is open
        if len(shape) != len(stated) or any(n and n != m for n, m in zip(stated, shape, strict=True)):
            raise InputError(
                f"input '{info.name}' is given the shape {shape}, and has {tuple(n or '?' for n in stated)}"
            )
        value = Value(info.name, TensorType(_stored(kind), shape))
        if kind in NARROW:
            self.nodes.narrow[info.name] = kind
        self.nodes.builder.give(value)
        if 0 in shape:  # then what is in it is known
            return np.zeros(shape, array_type(kind) if kind in NARROW else ALL[kind].numpy)
        return value

    def _bound(self, info: Any, kind: str) -> np.ndarray:
        """The value that an input is given for good."""
        array, stated = np.asarray(self.given[info.name]), info.type.tensor_type.shape.dim
        wanted = (
            [max(dim.dim_value, 0) for dim in stated] if info.type.tensor_type.HasField("shape") else [0] * array.ndim
        )
        fits = len(wanted) == array.ndim and all(n in (0, m) for n, m in zip(wanted, array.shape, strict=True))
        if not fits or (kind in ALL and array.dtype != ALL[kind].numpy):
            shape = ", ".join(str(n or "?") for n in wanted)
            raise InputError(
                f"the constant '{info.name}' is {array.dtype} of shape {array.shape}, but the input {kind}[{shape}]"
            )
        return array

    def _extent(self, name: str, axis: int, dim: Any) -> int:
        if not dim.HasField("dim_value") or dim.dim_value < 0:
            called = f" '{dim.dim_param}'" if dim.dim_param else ""
            hint = f'give all of them, as in shapes={{"{name}": (1, ...)}}'
            raise InputError(f"dimension {axis}{called} of input '{name}' is not known", hint=hint)
        return int(dim.dim_value)


def _stored(kind: str) -> DType:
    """What kernels have for a type of the format."""
    return ALL[kind] if kind in ALL else storage(kind)
