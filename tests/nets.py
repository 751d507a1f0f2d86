"""Small networks made by onnx.helper, for tests."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

OPSET = 17


def model(nodes: list[Any], inputs: dict[str, Any], outputs: list[str], weights: dict[str, np.ndarray]) -> ModelProto:
    """A model of f32 inputs, with these shapes; the results' are not said."""
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()]
    results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
    constants = [numpy_helper.from_array(content, name) for name, content in weights.items()]
    graph = helper.make_graph(nodes, "tiny", infos, results, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])


def classifier() -> ModelProto:
    """Convolution, batch norm, relu and residual, mean, product, softmax."""
    random = np.random.default_rng(1)
    weights = {"w": random.standard_normal((4, 3, 3, 3)), "f": random.standard_normal((4, 5))}
    weights |= {name: random.uniform(0.5, 1.5, 4) for name in ("scale", "shift", "mean", "variance")}
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("BatchNormalization", ["c", "scale", "shift", "mean", "variance"], ["n"]),
        helper.make_node("Relu", ["n"], ["r"]),
        helper.make_node("GlobalAveragePool", ["r"], ["g"]),
        helper.make_node("Flatten", ["g"], ["flat"]),
        helper.make_node("MatMul", ["flat", "f"], ["logits"]),
        helper.make_node("Softmax", ["logits"], ["y"]),
    ]
    f32 = {name: content.astype(np.float32) for name, content in weights.items()}
    return model(nodes, {"x": ["n", 3, 6, 6]}, ["y"], f32)


def right(made: ModelProto, **inputs: np.ndarray) -> list[np.ndarray]:
    """The results by the reference implementation."""
    return list(ReferenceEvaluator(made).run(None, inputs))
