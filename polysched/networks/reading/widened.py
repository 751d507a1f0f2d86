"""Nodes on narrow numbers as nodes on wide ones, with `Widen` and `Narrow` around them.

    y = Add(a, b) of bfloat16      ->      y = Narrow(Add(Widen(a), Widen(b)))
    y = Cast(x) {to = int4}        ->      y = Narrow(Cast(x) {to = int32})

What moves elements moves their bits, and needs neither.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polysched.errors import InputError
from polysched.networks.narrow import INTEGERS, NARROW
from polysched.networks.reading.schema import attributes_of, package

OURS = "polysched"  # the domain of nodes that no file has
MOVES = frozenset(
    """Reshape Flatten Squeeze Unsqueeze Transpose Slice Gather GatherElements GatherND Concat Split Expand Tile
    ReverseSequence Identity DepthToSpace SpaceToDepth""".split()  # noqa: SIM905
)
_NO_CHOICE = (*INTEGERS, "bfloat16")  # types to which a cast asks for nothing more
_OURS = ("Widen", "Narrow", "BitCast")  # the last one is the standard's, from version 26 on
_TO = {"Cast": "to", "QuantizeLinear": "output_dtype", "DequantizeLinear": "output_dtype"}


def target_of(proto: Any) -> str:
    """The narrow type that an attribute asks for; nothing if none does."""
    asked = attributes_of(proto).get(_TO.get(proto.op_type, ""))
    return str(asked) if asked in NARROW else ""


def widened(proto: Any, label: str, kinds: Mapping[str, str], schema: Any) -> list[Any]:
    """The nodes in place of one whose operands are of these narrow kinds, or whose result is narrow."""
    target = target_of(proto)
    match proto.op_type:
        case "CastLike" if proto.input[1] in kinds:
            return _Widened(proto, kinds).cast(kinds[proto.input[1]])
        case "Cast" if target:
            return _Widened(proto, kinds).cast(target)
        case "QuantizeLinear" if target or (len(proto.input) > 2 and proto.input[2] in kinds):
            return _Widened(proto, kinds).quantized(target or kinds[proto.input[2]])
        case "Cast" | "CastLike" | "DequantizeLinear" | "QuantizeLinear":
            return _Widened(proto, kinds).plain({})
    if integers := [kind for kind in kinds.values() if kind in INTEGERS]:
        hint = "cast it to int8 before, and back"
        raise InputError(f"{label}: operands of {proto.op_type} are not supported as {integers[0]}", hint=hint)
    types = _results_like_operands(proto, schema, kinds)
    return _Widened(proto, kinds).plain(types)


def _results_like_operands(proto: Any, schema: Any, kinds: Mapping[str, str]) -> dict[str, str]:
    """The narrow types of results: those of the operands that have the same type in the standard."""
    of_types: dict[str, str] = {}
    for k, name in enumerate(proto.input):
        if name in kinds:
            of_types[schema.inputs[min(k, len(schema.inputs) - 1)].type_str] = kinds[name]
    results = zip(proto.output, (min(k, len(schema.outputs) - 1) for k in range(len(proto.output))), strict=True)
    return {name: of_types[schema.outputs[k].type_str] for name, k in results if schema.outputs[k].type_str in of_types}


class _Widened:
    def __init__(self, proto: Any, kinds: Mapping[str, str]):
        self.proto, self.kinds = proto, kinds
        self.nodes: list[Any] = []
        self.wide = {name: self.widen(name, kind) for name, kind in kinds.items()}

    def widen(self, name: str, kind: str) -> str:
        result = f"{name}.wide"
        if kind == "bfloat16":
            word = self.node("Widen", [name], f"{name}.word", of=kind)
            return self.node("BitCast", [word], result, to=package().TensorProto.FLOAT)
        return self.node("Widen", [name], result, of=kind)

    def narrow(self, name: str, result: str, kind: str, **given: Any) -> list[Any]:
        if kind == "bfloat16":
            name = self.node("BitCast", [name], f"{result}.word", to=package().TensorProto.UINT32)
        self.node("Narrow", [name], result, to=kind, **given)
        return self.nodes

    def node(self, kind: str, operands: list[str], result: str, **given: Any) -> str:
        domain = {"domain": OURS} if kind in _OURS else {}
        self.nodes.append(package().helper.make_node(kind, operands, [result], **domain, **given))
        return result

    def plain(self, results: Mapping[str, str]) -> list[Any]:
        """The node itself, on wide operands."""
        made = type(self.proto)()
        made.CopyFrom(self.proto)
        for k, name in enumerate(made.input):
            made.input[k] = self.wide.get(name, name)
        for k, name in enumerate(made.output):
            made.output[k] = f"{name}.wide" if name in results else name
        self.nodes.append(made)
        for name, kind in results.items():
            self.narrow(f"{name}.wide", name, kind)
        return self.nodes

    def cast(self, kind: str) -> list[Any]:
        """To a narrow type: integers wrap."""
        types, given = package().TensorProto, attributes_of(self.proto)
        source = self.wide.get(self.proto.input[0], self.proto.input[0])
        to = types.INT32 if kind in INTEGERS else types.FLOAT
        middle = self.node("Cast", [source], f"{self.proto.output[0]}.wide", to=to)
        taken = {name: given[name] for name in ("saturate", "round_mode") if name in given and kind not in _NO_CHOICE}
        return self.narrow(middle, self.proto.output[0], kind, **taken)

    def quantized(self, kind: str) -> list[Any]:
        """To a narrow type: integers are cut off, floats rounded."""
        types, y = package().TensorProto, self.proto.output[0]
        x, scale, *zero = (self.wide.get(name, name) for name in self.proto.input)
        given = {n: v for n, v in attributes_of(self.proto).items() if n in ("axis", "block_size")}
        if kind not in INTEGERS:
            quotient = self.node("QuantizeLinear", [x, scale], f"{y}.quotient", output_dtype=types.FLOAT, **given)
            return self.narrow(quotient, y, kind, saturate=attributes_of(self.proto).get("saturate", 1))
        to = types.INT8 if kind.startswith("i") else types.UINT8
        wide = self.node("QuantizeLinear", [x, scale, *zero], f"{y}.byte", output_dtype=to, **given)
        return self.narrow(wide, y, kind, saturate=1)
