"""An ONNX file as an operation graph of constant shapes; nodes on constants are folded on the way.

    node {op_type: "Conv", input: ["x", "w"], output: ["y"], ...}
                                      ->    %w = Const() {content = 3fa9...} : f32[64, 3, 7, 7]
                                            %y = Conv(%x, %w) {pads = (3, 3, 3, 3)} : f32[1, 64, 112, 112]

Attributes that say what holds by default are left out. An operator that is not ours is taken apart where the standard
defines it by others; a branch with a constant condition becomes its nodes; reshapes of all kinds become `View`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from polysched.errors import InputError
from polysched.ir.dtypes import ALL, boolean
from polysched.ir.graph.operations import Builder, Graph, TensorType, Value
from polysched.networks.array import Array, dtype_of, shape_of
from polysched.networks.expressions import Expressions
from polysched.networks.node import Node
from polysched.networks.operators.all import lowered
from polysched.networks.reading.definitions import definition, nodes_of
from polysched.networks.reading.folding import folded, is_foldable
from polysched.networks.reading.schema import attributes_of, defaults, latest, package, schema, type_name

Entry = Value | np.ndarray  # of a name in the file: computed, or known

ABSENT = Value("", TensorType(boolean))  # an operand that is left out
VIEWS = ("Reshape", "Flatten", "Squeeze", "Unsqueeze")


@dataclass(frozen=True)
class Read:
    """A network as it is in the file."""

    graph: Graph
    constants: dict[str, np.ndarray]  # by the hash of their content
    outputs: tuple[str, ...]  # the names of the results, in order
    labels: dict[str, str] = field(default_factory=dict)  # of a node by its first result


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
        self.builder = Builder()
        self.contents: dict[str, np.ndarray] = {}
        self.known: dict[str, Value] = {}  # values of constants, by hash
        self.labels: dict[str, str] = {}

    def read(self, name: str) -> Read:
        onnx = package()
        scope: dict[str, Entry] = {i.name: onnx.numpy_helper.to_array(i) for i in self.graph.initializer}
        inputs = [each for each in self.graph.input if each.name not in scope]
        self._require_inputs([each.name for each in inputs])
        for each in inputs:
            scope[each.name] = self._input(each)
        self._nodes(self.graph.node, scope, self.opset)
        for each in self.graph.output:
            if each.name not in scope:
                raise InputError(f"result '{each.name}' of the graph is computed by no node")
        results = tuple(self._value(scope[each.name], each.name) for each in self.graph.output)
        graph = Graph(name, self.builder.block(*results))
        return Read(graph, self.contents, tuple(each.name for each in self.graph.output), self.labels)

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
        if kind not in ALL:
            raise InputError(f"input '{info.name}' is {kind}", hint=f"kernels have {', '.join(ALL)}")
        dims = info.type.tensor_type.shape.dim
        shape = self.shapes.get(info.name)
        shape = tuple(self._extent(info.name, k, dim) for k, dim in enumerate(dims)) if shape is None else tuple(shape)
        stated = [max(dim.dim_value, 0) for dim in dims]  # some exporters write -1 for what is open
        if len(shape) != len(stated) or any(n and n != m for n, m in zip(stated, shape, strict=True)):
            raise InputError(
                f"input '{info.name}' is given the shape {shape}, and has {tuple(n or '?' for n in stated)}"
            )
        if 0 in shape:  # then what is in it is known
            return np.zeros(shape, ALL[kind].numpy)
        value = Value(info.name, TensorType(ALL[kind], shape))
        self.builder.give(value)
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

    # --- nodes

    def _nodes(self, nodes: Iterable[Any], scope: dict[str, Entry], opset: int) -> None:
        for k, proto in enumerate(nodes):
            outputs = [name for name in proto.output if name]
            label = f"node {k} '{proto.name or (outputs or ['?'])[0]}' ({proto.op_type})"
            if proto.domain not in ("", "ai.onnx"):
                hint = "operators of the standard are, and functions that the model defines by them"
                raise InputError(f"{label}: operators of '{proto.domain}' are not supported", hint=hint)
            for name in proto.input:
                if name and name not in scope:
                    raise InputError(f"{label}: operand '{name}' is computed by no node before")
            self._node(proto, label, scope, opset)

    def _node(self, proto: Any, label: str, scope: dict[str, Entry], opset: int) -> None:
        operands = [scope[name] if name else None for name in proto.input]
        kind = proto.op_type
        if kind == "If" and isinstance(operands[0], np.ndarray):
            self._branch(proto, bool(operands[0].reshape(-1)[0]), scope, opset)
        elif operands and operands[0] is not None and (kind == "Identity" or _is_dropout(proto, operands, opset)):
            scope[proto.output[0]] = operands[0]
            if len(proto.output) > 1 and proto.output[1]:
                mask = np.ones(_extents(operands[0]), bool)
                scope[proto.output[1]] = mask if opset >= 10 else mask.astype(_numpy_type(operands[0]))
        elif kind in ("Shape", "Size") and isinstance(operands[0], Value):
            scope[proto.output[0]] = self._shape(proto, operands[0])
        elif is_foldable(proto) and all(each is None or isinstance(each, np.ndarray) for each in operands):
            self._fold(proto, label, scope, opset)
        else:
            self._lower(proto, label, scope, opset)

    def _shape(self, proto: Any, operand: Value) -> np.ndarray:
        shape = shape_of(operand)
        if proto.op_type == "Size":
            return np.array(int(np.prod(shape)), np.int64)
        given = attributes_of(proto)
        return np.array(shape[slice(given.get("start", 0), given.get("end"))], np.int64)

    def _branch(self, proto: Any, condition: bool, scope: dict[str, Entry], opset: int) -> None:
        taken = attributes_of(proto)["then_branch" if condition else "else_branch"]
        inner = dict(scope)
        inner.update({i.name: package().numpy_helper.to_array(i) for i in taken.initializer})
        self._nodes(taken.node, inner, opset)
        for name, result in zip(proto.output, taken.output, strict=True):
            scope[name] = inner[result.name]

    def _fold(self, proto: Any, label: str, scope: dict[str, Entry], opset: int) -> None:
        known = {name: entry for name in proto.input if name and isinstance(entry := scope[name], np.ndarray)}
        try:
            values = folded(proto, known, opset)
        except Exception as error:
            message = f"{label}: its operands are constants, and onnx.reference fails on them: {error}"
            raise InputError(message.partition("\n")[0]) from None
        scope.update(zip([name for name in proto.output if name], values, strict=True))

    def _lower(self, proto: Any, label: str, scope: dict[str, Entry], opset: int) -> None:
        """Adds the node; one that is not ours as its definition says."""
        try:
            self._add(proto, label, scope, opset)
        except InputError:
            body = definition(proto, [_type_proto(scope.get(name)) for name in proto.input], opset)
            if body is None:
                raise
            self._expand(proto, body, scope)

    def _add(self, proto: Any, label: str, scope: dict[str, Entry], opset: int) -> None:
        kind, outputs = proto.op_type, list(proto.output)
        while outputs and not outputs[-1]:
            outputs.pop()
        found = schema(kind, opset)
        if found is None:
            raise InputError(f"{label}: version {opset} of the standard has no operator {kind}")
        since = found.since_version
        usual = defaults(kind, since)
        given = {name: value for name, value in attributes_of(proto).items() if usual.get(name) != value}
        make = Expressions()
        arrays = [self._array(make, scope[name], label) if name else None for name in proto.input]
        results = lowered(Node(kind, label, since, given, usual, len(outputs), make), arrays)
        empty = {k: np.zeros(each.shape, each.dtype.numpy) for k, each in enumerate(results) if each.size == 0}
        if len(empty) == len(results):
            scope.update({outputs[k]: array for k, array in empty.items()})
            return
        operands = [self._value(scope[name], name) if name else ABSENT for name in proto.input]
        if since != latest(kind):
            given["version"] = since
        if kind in VIEWS:
            kind, operands, given = "View", operands[:1], {}
        names = [name if name and name not in self.builder.taken else "" for name in outputs]
        types = [TensorType(each.dtype, each.shape) for each in results]
        made = self.builder.add(kind, *operands, types=types, names=names, **given)
        self.labels[made[0].name] = label
        scope.update({name: empty.get(k, made[k]) for k, name in enumerate(outputs) if name})

    def _array(self, make: Expressions, entry: Entry, label: str) -> Array:
        if isinstance(entry, Value):
            return make.given(shape_of(entry), entry.type.dtype)
        try:
            return make.constant(entry)
        except InputError as error:
            raise InputError(f"{label}: {error.message}", hint=error.hint) from None

    def _value(self, entry: Entry, name: str) -> Value:
        """The value of an operand; a constant becomes an operation."""
        if isinstance(entry, Value):
            return entry
        content = np.ascontiguousarray(entry).reshape(entry.shape)
        key = sha256(f"{content.dtype} {content.shape} ".encode() + content.tobytes()).hexdigest()[:16]
        if key not in self.known:
            try:
                kind = TensorType(dtype_of(content), content.shape)
            except InputError as error:
                raise InputError(f"constant '{name}': {error.message}", hint=error.hint) from None
            names = [name] if name not in self.builder.taken else []
            (self.known[key],) = self.builder.add("Const", types=[kind], names=names, content=key)
            self.contents[key] = content
        return self.known[key]

    # --- definitions by other operators

    def _expand(self, proto: Any, body: Any, scope: dict[str, Entry]) -> None:
        opset = {each.domain: each.version for each in body.opset_import}.get("", self.opset)
        operands = zip(body.input, proto.input, strict=False)
        inner: dict[str, Entry] = {formal: scope[name] for formal, name in operands if name}
        self._nodes(nodes_of(body, proto, set(inner), self.opset), inner, opset)
        for formal, name in zip(body.output, proto.output, strict=False):
            if name:
                scope[name] = inner[formal]


def _is_dropout(proto: Any, operands: list[Any], opset: int) -> bool:
    """Does the node drop nothing, since it does not train?"""
    if proto.op_type != "Dropout":
        return False
    if opset < 7:
        return bool(attributes_of(proto).get("is_test", 0))
    training = operands[2] if len(operands) > 2 else None
    return training is None or (isinstance(training, np.ndarray) and not training.any())


def _numpy_type(entry: Entry) -> Any:
    return entry.dtype if isinstance(entry, np.ndarray) else entry.type.dtype.numpy


def _extents(entry: Entry) -> tuple[int, ...]:
    return entry.shape if isinstance(entry, np.ndarray) else shape_of(entry)


def _type_proto(entry: Entry | None) -> Any:
    onnx = package()
    if entry is None:
        return onnx.TypeProto()
    if isinstance(entry, np.ndarray):
        return onnx.helper.make_tensor_type_proto(onnx.helper.np_dtype_to_tensor_dtype(entry.dtype), entry.shape)
    number = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(entry.type.dtype.numpy))
    return onnx.helper.make_tensor_type_proto(number, shape_of(entry))
