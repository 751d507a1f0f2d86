"""Structs that a kernel takes by value: numpy's, ctypes', or field by field, where arrays stand for pointers.

ps.check_cuda(text, "scale", 4, 32, p={"a": a, "n": 100, "range": {"low": 0.5}})
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from polysched.errors import LaunchError

POINTER = np.dtype("V8")  # as a field


def arrays_in(name: str, given: Any) -> dict[str, np.ndarray]:
    """The arrays that its pointers stand for, as "p.a"."""
    if not isinstance(given, Mapping):
        return {}
    found = {f"{name}.{field}": value for field, value in given.items() if isinstance(value, np.ndarray)}
    for field, value in given.items():
        found |= arrays_in(f"{name}.{field}", value)
    return found


def struct_bytes(name: str, dtype: np.dtype | None, size: int, given: Any, at: Mapping[str, int]) -> np.ndarray:
    """Its bytes; `at` is where the arrays are. LaunchError if what is given does not fit."""
    if isinstance(given, Mapping):
        if dtype is None or dtype.names is None:
            raise LaunchError(f"the fields of {name} are not known: give numpy's struct of {size} bytes")
        given = np.zeros((), dtype) if not given else _filled(name, dtype, given, at)
    try:
        data = given.tobytes() if isinstance(given, np.ndarray | np.generic) else bytes(memoryview(given))
    except TypeError:
        raise LaunchError(
            f"{name} is a struct, not {type(given).__name__}: give its fields, as in {{'n': 3}}"
        ) from None
    if len(data) != size:
        raise LaunchError(f"{name} has {size} bytes, but {len(data)} are given")
    return np.frombuffer(data, np.uint8)


def _filled(name: str, dtype: np.dtype, given: Mapping[str, Any], at: Mapping[str, int]) -> np.ndarray:
    struct = np.zeros((), dtype)
    for field, value in given.items():
        if field not in (dtype.names or ()):
            raise LaunchError(f"{name} has no field '{field}': it has {', '.join(dtype.names or ())}")
        kind = dtype[field]
        if kind == POINTER and f"{name}.{field}" in at:
            struct[field] = np.void(at[f"{name}.{field}"].to_bytes(8, "little"))
        elif isinstance(value, Mapping) and kind.names is not None:
            struct[field] = _filled(f"{name}.{field}", kind, value, at)
        elif kind.base.kind in "fiub" and np.shape(value) in ((), kind.shape):
            struct[field] = value
        else:
            raise LaunchError(
                f"{name}.{field} is {'a pointer' if kind == POINTER else kind}, not {type(value).__name__}"
            )
    return struct
