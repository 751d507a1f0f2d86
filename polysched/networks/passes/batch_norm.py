"""Batch norm behind a convolution goes to its weights.

    %y = Conv(%x, %w)                                            %y = Conv(%x, %w2, %b2)
    %z = BatchNormalization(%y, %s, %b, %m, %v)       ->         w2 = w * s / sqrt(v + e),  b2 = b - m * s / sqrt(v + e)

Only where nothing else reads the convolution; the new weights are computed in double precision.
"""

from __future__ import annotations

from collections import Counter
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
        conv = maker.get(norm.operands[0].name) if norm.kind == "BatchNormalization" else None
        if conv is None or conv.kind != "Conv" or uses[conv.results[0].name] != 1 or len(norm.results) != 1:
            continue
        known = [_content(maker.get(v.name), constants) for v in (*norm.operands[1:], *conv.operands[1:])]
        contents = [each for each in known if each is not None]
        if len(contents) < len(known) or dict(norm.attributes).get("training_mode"):
            continue
        changed[conv.results[0].name] = ()
        changed[norm.results[0].name] = _folded(conv, norm, contents, constants, taken)
    if not changed:
        return graph
    operations = tuple(new for each in graph.body.operations for new in changed.get(each.results[0].name, (each,)))
    return replace(graph, body=replace(graph.body, operations=operations))


def _content(operation: Operation | None, constants: dict[str, np.ndarray]) -> np.ndarray | None:
    if operation is None or operation.kind != "Const":
        return None
    return constants[str(dict(operation.attributes)["content"])]


def _folded(
    conv: Operation, norm: Operation, known: list[np.ndarray], constants: dict[str, np.ndarray], taken: set[str]
) -> tuple[Operation, ...]:
    scale, shift, mean, variance, weights, *bias = (each.astype(np.float64) for each in known)
    given = dict(norm.attributes)
    epsilon = given.get(_EPSILON, defaults(norm.kind, latest(norm.kind))[_EPSILON])
    factor = scale / np.sqrt(variance + float(epsilon))
    first = bias[0] if bias else np.zeros(len(mean))
    dtype = known[4].dtype
    new_weights = (weights * factor.reshape(-1, *[1] * (weights.ndim - 1))).astype(dtype)
    new_bias = ((first - mean) * factor + shift).astype(dtype)
    made = [_constant(_free(f"{norm.results[0].name}.{what}", taken), content, constants) for what, content in
            (("weights", new_weights), ("bias", new_bias))]  # fmt: skip
    operands = (conv.operands[0], *(each.results[0] for each in made))
    return (*made, replace(conv, operands=operands, results=norm.results))


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
