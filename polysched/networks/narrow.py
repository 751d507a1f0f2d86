"""Types that kernels do not have, whose numbers are kept as their bits: an unsigned integer for each.

float8e4m3fn, 1.5     ->    u8, 0x3c
int4, -1              ->    u8, 0x0f
bfloat16, 1.0         ->    u16, 0x3f80
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from polysched.ir.dtypes import DType, u8, u16
from polysched.networks.reading.schema import package

_TYPES = {  # by the name in the format, that of ml_dtypes
    "bfloat16": "bfloat16",
    "float8e4m3fn": "float8_e4m3fn",
    "float8e4m3fnuz": "float8_e4m3fnuz",
    "float8e5m2": "float8_e5m2",
    "float8e5m2fnuz": "float8_e5m2fnuz",
    "float8e8m0": "float8_e8m0fnu",
    "float4e2m1": "float4_e2m1fn",
    "int4": "int4",
    "uint4": "uint4",
    "int2": "int2",
    "uint2": "uint2",
}
NARROW = tuple(_TYPES)
INTEGERS = ("int4", "uint4", "int2", "uint2")
_KINDS = {name: kind for kind, name in _TYPES.items()}


def kind_of(dtype: Any) -> str:
    """The name of a narrow type of NumPy's in the format; nothing for other types."""
    return _KINDS.get(np.dtype(dtype).name, "")


def array_type(kind: str) -> np.dtype[Any]:
    """What arrays of a narrow type have."""
    return np.dtype(getattr(package("ml_dtypes"), _TYPES[kind]))


def storage(kind: str) -> DType:
    return u16 if kind == "bfloat16" else u8


def bits(array: np.ndarray) -> np.ndarray:
    """The bits of narrow numbers, of the same shape."""
    kind = kind_of(array.dtype)
    found = np.ascontiguousarray(array).reshape(array.shape).view(storage(kind).numpy)
    return found & np.array((1 << width(kind)) - 1, found.dtype)


def width(kind: str) -> int:
    return {"bfloat16": 16, "int2": 2, "uint2": 2, "int4": 4, "uint4": 4, "float4e2m1": 4}.get(kind, 8)


@cache
def numbers(kind: str) -> np.ndarray:
    """What each pattern of bits stands for: f32, or an integer of 8 bits."""
    patterns = np.arange(1 << width(kind), dtype=np.uint8).view(array_type(kind))
    if kind in INTEGERS:
        return patterns.astype(np.int8 if kind.startswith("i") else np.uint8)
    with np.errstate(all="ignore"):
        return patterns.astype(np.float32)
