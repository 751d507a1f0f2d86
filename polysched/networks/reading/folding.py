"""Nodes on constants, by onnx.reference; and those that it does not compute as the file means them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from polysched.networks.reading.schema import package

# Random numbers; and what the reference implementation computes as of another version than the file's.
_NOT_FOLDED = (
    "RandomNormal",
    "RandomNormalLike",
    "RandomUniform",
    "RandomUniformLike",
    "Bernoulli",
    "Multinomial",
    "Softmax",
    "LogSoftmax",
    "Hardmax",
)


def is_foldable(proto: Any) -> bool:
    """Is the node what the reference computes? Before version 7, `axis` said where the second operand broadcasts, which
    it passes over."""
    return proto.op_type not in _NOT_FOLDED and not {"broadcast", "axis"} <= {each.name for each in proto.attribute}


def folded(proto: Any, operands: Mapping[str, np.ndarray], opset: int) -> list[np.ndarray]:
    """The results of a node on constants, by the reference implementation."""
    onnx, reference = package(), package("onnx.reference")
    make = onnx.helper.make_tensor_value_info
    inputs = [
        make(name, onnx.helper.np_dtype_to_tensor_dtype(value.dtype), value.shape) for name, value in operands.items()
    ]
    outputs = [make(name, 1, None) for name in proto.output if name]
    graph = onnx.helper.make_graph([proto], "folded", inputs, outputs)
    run = reference.ReferenceEvaluator(graph, opsets={"": opset})
    with np.errstate(all="ignore"):
        return [np.asarray(value) for value in run.run(None, dict(operands))]
