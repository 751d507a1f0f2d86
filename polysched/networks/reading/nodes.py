"""The nodes of a file as operations: folded, taken apart, lowered once for the shapes of their results, and named.

An operator that is not ours is taken apart where the standard defines it by others; branches and loops become their
nodes; reshapes of all kinds become `View`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from polysched.errors import InputError
from polysched.ir.graph.operations import Builder, TensorType, Value
from polysched.networks.array import Array, dtype_of, shape_of
from polysched.networks.expressions import Expressions
from polysched.networks.narrow import kind_of
from polysched.networks.node import Node
from polysched.networks.operators.all import lowered
from polysched.networks.reading import control
from polysched.networks.reading.definitions import definition, nodes_of
from polysched.networks.reading.entries import ABSENT, Entry, extents, hash_of, numpy_type, plain, type_proto
from polysched.networks.reading.folding import folded, is_foldable
from polysched.networks.reading.schema import attributes_of, defaults, latest, schema
from polysched.networks.reading.widened import MOVES, OURS, target_of, widened

VIEWS = ("Reshape", "Flatten", "Squeeze", "Unsqueeze", "BitCast")


class Nodes:
    """Reads nodes to the operations of a graph; `scope` says what names stand for, and gets the results."""

    def __init__(self, opset: int):
        self.opset, self.builder = opset, Builder()
        self.contents: dict[str, np.ndarray] = {}
        self.known: dict[str, Value] = {}  # values of constants, by hash
        self.labels: dict[str, str] = {}
        self.narrow: dict[str, str] = {}  # of values that are bits, by name, what type they are of

    def read(self, nodes: Iterable[Any], scope: dict[str, Entry], opset: int) -> None:
        for k, proto in enumerate(nodes):
            outputs = [name for name in proto.output if name]
            label = f"node {k} '{proto.name or (outputs or ['?'])[0]}' ({proto.op_type})"
            if proto.domain not in ("", "ai.onnx", OURS):
                hint = "operators of the standard are, and functions that the model defines by them"
                raise InputError(f"{label}: operators of '{proto.domain}' are not supported", hint=hint)
            for name in proto.input:
                if name and name not in scope:
                    raise InputError(f"{label}: operand '{name}' is computed by no node before")
            self._node(proto, label, scope, opset)

    def _node(self, proto: Any, label: str, scope: dict[str, Entry], opset: int) -> None:
        operands = [scope[name] if name else None for name in proto.input]
        kind = proto.op_type
        if kind in ("If", "Loop", "Scan"):
            self._control(proto, label, scope, opset)
        elif operands and operands[0] is not None and (kind == "Identity" or _is_dropout(proto, operands, opset)):
            scope[proto.output[0]] = operands[0]
            if len(proto.output) > 1 and proto.output[1]:
                mask = np.ones(extents(operands[0]), bool)
                scope[proto.output[1]] = mask if opset >= 10 else mask.astype(numpy_type(operands[0]))
        elif kind in ("Shape", "Size") and isinstance(operands[0], Value):
            scope[proto.output[0]] = self._shape(proto, operands[0])
        elif (
            proto.domain != OURS
            and is_foldable(proto)
            and all(each is None or isinstance(each, np.ndarray) for each in operands)
        ):
            self._fold(proto, label, scope, opset)
        else:
            self._lower(proto, label, scope, opset)

    def _control(self, proto: Any, label: str, scope: dict[str, Entry], opset: int) -> None:
        def read(nodes: Iterable[Any], inner: dict[str, Entry]) -> None:
            self.read(nodes, inner, opset)

        match proto.op_type:
            case "If":
                control.branch(proto, label, scope, read)
            case "Loop":
                control.loop(proto, label, scope, read)
            case "Scan":
                control.scan(proto, label, scope, read, opset)

    def _shape(self, proto: Any, operand: Value) -> np.ndarray:
        shape = shape_of(operand)
        if proto.op_type == "Size":
            return np.array(int(np.prod(shape)), np.int64)
        given = attributes_of(proto)
        return np.array(shape[slice(given.get("start", 0), given.get("end"))], np.int64)

    def _fold(self, proto: Any, label: str, scope: dict[str, Entry], opset: int) -> None:
        known = {name: entry for name in proto.input if name and isinstance(entry := scope[name], np.ndarray)}
        try:
            values = folded(proto, known, opset)
        except Exception as error:
            message = f"{label}: its operands are constants, and onnx.reference fails on them: {error}"
            raise InputError(message.partition("\n")[0]) from None
        scope.update(zip([name for name in proto.output if name], values, strict=True))

    def _lower(self, proto: Any, label: str, scope: dict[str, Entry], opset: int) -> None:
        """Adds the node; one that is not ours as its definition says, one on narrow numbers by nodes on wide ones."""
        kinds = {name: kind for name in proto.input if name and (kind := self.kind(scope[name]))}
        if proto.domain != OURS and (kinds or target_of(proto)) and proto.op_type not in MOVES:
            inner = dict(scope)
            self.read(widened(proto, label, kinds, schema(proto.op_type, opset)), inner, opset)
            scope.update({name: inner[name] for name in proto.output if name})
            return
        try:
            self._add(proto, label, scope, opset)
        except InputError:
            body = definition(proto, [type_proto(scope.get(name)) for name in proto.input], opset)
            if body is None:
                raise
            self._expand(proto, body, scope)

    def kind(self, entry: Entry) -> str:
        """The narrow type of an operand; nothing if it has none."""
        return kind_of(entry.dtype) if isinstance(entry, np.ndarray) else self.narrow.get(entry.name, "")

    def _add(self, proto: Any, label: str, scope: dict[str, Entry], opset: int) -> None:
        kind, outputs = proto.op_type, list(proto.output)
        while outputs and not outputs[-1]:
            outputs.pop()
        found = schema(kind, opset)
        if found is None and proto.domain != OURS:
            raise InputError(f"{label}: version {opset} of the standard has no operator {kind}")
        since = found.since_version if found else 0
        usual = defaults(kind, since)
        given = {name: value for name, value in attributes_of(proto).items() if usual.get(name) != value}
        make = Expressions()
        arrays = [self._array(make, scope[name], label) if name else None for name in proto.input]
        results = lowered(Node(kind, label, since, given, usual, len(outputs), make), arrays)
        empty = {k: np.zeros(each.shape, each.dtype.numpy) for k, each in enumerate(results) if each.size == 0}
        if len(empty) == len(results):
            scope.update({outputs[k]: array for k, array in empty.items()})
            return
        operands = [self.value(scope[name], name) if name else ABSENT for name in proto.input]
        if since != latest(kind):
            given["version"] = since
        if kind in VIEWS:
            kind, operands, given = "View", operands[:1], {}
        names = [name if name and name not in self.builder.taken else "" for name in outputs]
        types = [TensorType(each.dtype, each.shape) for each in results]
        made = self.builder.add(kind, *operands, types=types, names=names, **given)
        self.labels[made[0].name] = label
        bits = given["to"] if proto.op_type == "Narrow" else self.kind(scope[proto.input[0]]) if kind != "Widen" else ""
        if bits:
            self.narrow.update({each.name: bits for each in made})
        scope.update({name: empty.get(k, made[k]) for k, name in enumerate(outputs) if name})

    def _array(self, make: Expressions, entry: Entry, label: str) -> Array:
        if isinstance(entry, Value):
            return make.given(shape_of(entry), entry.type.dtype)
        try:
            return make.constant(plain(entry))
        except InputError as error:
            raise InputError(f"{label}: {error.message}", hint=error.hint) from None

    def value(self, entry: Entry, name: str) -> Value:
        """The value of an operand; a constant becomes an operation."""
        if isinstance(entry, Value):
            return entry
        content = plain(entry)
        key = hash_of(content)
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
        self.read(nodes_of(body, proto, set(inner), self.opset), inner, opset)
        for formal, name in zip(body.output, proto.output, strict=False):
            if name:
                scope[name] = inner[formal]


def _is_dropout(proto: Any, operands: list[Any], opset: int) -> bool:
    """Does the node drop nothing, since it does not train?"""
    if proto.op_type != "Dropout":
        return False
    if opset < 7:
        return bool(attributes_of(proto).get("is_test", 0))
    training, ratio = (operands[k] if len(operands) > k else None for k in (2, 1))
    if isinstance(ratio, np.ndarray) and not ratio.any():
        return True
    return training is None or (isinstance(training, np.ndarray) and not training.any())
