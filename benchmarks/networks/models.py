"""Models to measure: trained ones that Python packages bring, and the light models of the `onnx` package.

These have random weights in place of their equal ones, and no softmax at the end, so that a wrong element of any of
them shows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper


@dataclass(frozen=True)
class Real:
    """A model in a package, and what its file leaves open."""

    package: str
    file: str
    shapes: Mapping[str, tuple[int, ...]]
    constants: Mapping[str, int] = field(default_factory=dict)

    def path(self) -> Path:
        spec = find_spec(self.package)
        if spec is None or not spec.submodule_search_locations:
            raise SystemExit(f"the package {self.package} is not installed: pip install --no-deps {self.package}")
        return Path(next(iter(spec.submodule_search_locations))) / self.file


_OCR = "rapidocr_onnxruntime"
REAL = {
    "magika": Real("magika", "models/standard_v3_3/model.onnx", {"bytes": (1, 2048)}),
    "silero": Real("silero_vad", "data/silero_vad.onnx", {"input": (1, 576), "state": (2, 1, 128)}, {"sr": 16000}),
    "ocr_det": Real(_OCR, "models/ch_PP-OCRv4_det_infer.onnx", {"x": (1, 3, 320, 320)}),
    "ocr_cls": Real(_OCR, "models/ch_ppocr_mobile_v2.0_cls_infer.onnx", {"x": (1, 3, 48, 192)}),
    "ocr_rec": Real(_OCR, "models/ch_PP-OCRv4_rec_infer.onnx", {"x": (1, 3, 48, 320)}),
}
LIGHT = ("squeezenet", "resnet50", "inception_v1", "densenet121", "shufflenet", "vgg19")


def light(name: str) -> Any:
    """The model, an `onnx.ModelProto`."""
    model = onnx.load(Path(onnx.__file__).parent / f"backend/test/data/light/light_{name}.onnx")
    random = np.random.default_rng(1)
    shapes = {each.name: numpy_helper.to_array(each) for each in model.graph.initializer}
    of_norms = {name for node in model.graph.node if node.op_type == "BatchNormalization" for name in node.input[1:]}
    kept = []
    for node in model.graph.node:
        if node.op_type != "ConstantOfShape" or node.input[0] not in shapes:
            kept.append(node)
            continue
        content = _weights(tuple(shapes[node.input[0]]), node.output[0] in of_norms, random)
        model.graph.initializer.append(numpy_helper.from_array(content, node.output[0]))
    if kept[-1].op_type == "Softmax":
        model.graph.output[0].name = kept.pop().input[0]
        model.graph.output[0].type.tensor_type.ClearField("shape")
    del model.graph.node[:]
    model.graph.node.extend(kept)
    read = {name for node in kept for name in node.input}
    for listed in (model.graph.initializer, model.graph.input):  # old files list what is given among the inputs
        for each in [each for each in listed if each.name not in read]:
            listed.remove(each)
    return model


def _weights(shape: tuple[int, ...], is_of_norm: bool, random: np.random.Generator) -> np.ndarray:
    if is_of_norm:
        return random.uniform(0.5, 1.5, shape).astype(np.float32)
    scale = 0.1 if len(shape) < 2 else np.sqrt(2 / np.prod(shape[1:]))
    return (scale * random.standard_normal(shape)).astype(np.float32)
