"""Batch norm behind a convolution goes to its weights; elsewhere it is a product and a sum.

    %y = Conv(%x, %w)                                            %y = Conv(%x, %w2, %b2)
    %z = BatchNormalization(%y, %s, %b, %m, %v)       ->         w2 = w * s / sqrt(v + e),  b2 = b - m * s / sqrt(v + e)

    %z = BatchNormalization(%x, %s, %b, %m, %v)       ->         %t = Mul(%x, s / sqrt(v + e));  %z = Add(%t, b2)

The first one only where nothing else reads the convolution; new constants are computed in double precision.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from polysched.ir.graph.operations import Graph, Operation, TensorType, Value
from polysched.ir.rename import fresh_names
from polysched.networks.array import dtype_of
from polysched.networks.reading.entries import hash_of
from polysched.networks.reading.schema import defaults, latest

_EPSILON = "epsilon"


def without_batch_norms(graph: Graph, constants: dict[str, np.ndarray]) -> Graph:
    """`graph` with such nodes folded; new constants are added to `constants`."""
    maker = {result.name: each for each in graph.body.operations for result in each.results}
    uses = Counter(operand.name for each in graph.body.operations for operand in each.operands)
    uses.update(value.name for value in graph.body.results)
    taken = {value.name for value in graph.body.arguments} | set(maker)
    changed: dict[str, tuple[Operation, ...]] = {}  # by the first result
    for norm in graph.body.operations:
        if norm.kind != "BatchNormalization" or len(norm.results) != 1 or dict(norm.attributes).get("training_mode"):
            continue
        stated = _contents(norm, maker, constants)
        if stated is None:
            continue
        conv = maker.get(norm.operands[0].name)
        weights = _contents(conv, maker, constants) if conv is not None and conv.kind == "Conv" else None
        if conv is not None and weights is not None and uses[conv.results[0].name] == 1:
            changed[conv.results[0].name] = ()
            changed[norm.results[0].name] = _folded(conv, norm, [*stated, *weights], constants, taken)
        else:
            changed[norm.results[0].name] = _scaled(norm, stated, constants, taken)
    if not changed:
        return graph
    operations = tuple(new for each in graph.body.operations for new in changed.get(each.results[0].name, (each,)))
    return replace(graph, body=replace(graph.body, operations=operations))


def _contents(
    operation: Operation, maker: Mapping[str, Operation], constants: dict[str, np.ndarray]
) -> list[np.ndarray] | None:
    """What the operands but the first hold; None if one is computed."""
    known = [_content(maker.get(value.name), constants) for value in operation.operands[1:]]
    found = [each for each in known if each is not None]
    return found if len(found) == len(known) else None


def _content(operation: Operation | None, constants: dict[str, np.ndarray]) -> np.ndarray | None:
    if operation is None or operation.kind != "Const":
        return None
    return constants[str(dict(operation.attributes)["content"])]


def _folded(
    conv: Operation, norm: Operation, known: list[np.ndarray], constants: dict[str, np.ndarray], taken: set[str]
) -> tuple[Operation, ...]:
    weights, *bias = (each.astype(np.float64) for each in known[4:])
    factor, shift = _line(norm, known)
    dtype = known[4].dtype
    new_weights = (weights * factor.reshape(-1, *[1] * (weights.ndim - 1))).astype(dtype)
    new_bias = (shift + (bias[0] * factor if bias else 0)).astype(dtype)
    made = [_constant(_free(f"{norm.results[0].name}.{what}", taken), content, constants) for what, content in
            (("weights", new_weights), ("bias", new_bias))]  # fmt: skip
    operands = (conv.operands[0], *(each.results[0] for each in made))
    return (*made, replace(conv, operands=operands, results=norm.results))


def _scaled(
    norm: Operation, known: list[np.ndarray], constants: dict[str, np.ndarray], taken: set[str]
) -> tuple[Operation, ...]:
    """The product and the sum, by constants of a channel each."""
    x, y = norm.operands[0], norm.results[0]
    shape = (-1, *[1] * (len(x.type.shape) - 2))
    made = [_constant(_free(f"{y.name}.{what}", taken), content.astype(y.type.dtype.numpy).reshape(shape), constants)
            for what, content in zip(("factor", "shift"), _line(norm, known), strict=True)]  # fmt: skip
    product = Value(_free(f"{y.name}.scaled", taken), y.type)
    factor, shift = (each.results[0] for each in made)
    return (
        *made,
        Operation(kind="Mul", operands=(x, factor), results=(product,)),
        Operation(kind="Add", operands=(product, shift), results=(y,)),
    )


def _line(norm: Operation, known: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """What each channel is multiplied by, and what is added."""
    scale, shift, mean, variance = (each.astype(np.float64) for each in known[:4])
    epsilon = dict(norm.attributes).get(_EPSILON, defaults(norm.kind, latest(norm.kind))[_EPSILON])
    factor = scale / np.sqrt(variance + float(str(epsilon)))
    return factor, shift - mean * factor


def _free(name: str, taken: set[str]) -> str:
    """The name, or with a number where the file has it, too."""
    found = name if name not in taken else next(fresh_names(name, taken))
    taken.add(found)
    return found


def _constant(name: str, content: np.ndarray, constants: dict[str, np.ndarray]) -> Operation:
    key = hash_of(content)
    constants[key] = content
    value = Value(name, TensorType(dtype_of(content), content.shape))
    return Operation(kind="Const", results=(value,), attributes=(("content", key),))
