"""What a name in a file stands for while it is read: a value that is computed, or an array that is known.

Narrow types, as bfloat16, float8e5m2 and int4, are those of `ml_dtypes` in arrays; kernels take their bits.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import numpy as np

from polysched.ir.dtypes import boolean
from polysched.ir.graph.operations import TensorType, Value
from polysched.networks.array import shape_of
from polysched.networks.narrow import bits, kind_of
from polysched.networks.reading.schema import package

Entry = Value | np.ndarray

ABSENT = Value("", TensorType(boolean))  # an operand that is left out


def extents(entry: Entry) -> tuple[int, ...]:
    return entry.shape if isinstance(entry, np.ndarray) else shape_of(entry)


def numpy_type(entry: Entry) -> Any:
    return entry.dtype if isinstance(entry, np.ndarray) else entry.type.dtype.numpy


def plain(entry: np.ndarray) -> np.ndarray:
    """An array as kernels take it: the bits of narrow numbers, in order."""
    return bits(entry) if kind_of(entry.dtype) else np.ascontiguousarray(entry).reshape(entry.shape)


def hash_of(content: np.ndarray) -> str:
    return sha256(f"{content.dtype} {content.shape} ".encode() + content.tobytes()).hexdigest()[:16]


def type_proto(entry: Entry | None) -> Any:
    """The type of an operand as the format says it."""
    onnx = package()
    if entry is None:
        return onnx.TypeProto()
    if isinstance(entry, np.ndarray):
        return onnx.helper.make_tensor_type_proto(onnx.helper.np_dtype_to_tensor_dtype(entry.dtype), entry.shape)
    number = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(entry.type.dtype.numpy))
    return onnx.helper.make_tensor_type_proto(number, shape_of(entry))
