"""One launch of a kernel of a public file, and the arrays that it is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Extent = int | tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Launch:
    """One launch of a kernel of `file`, which ends a path below the folder of a collection."""

    file: str
    kernel: str
    grid: Extent
    block: Extent
    arguments: Callable[[], dict[str, Any]]
    shared: int = 0


def floats(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).uniform(0.5, 1.5, shape).astype(np.float32)


def integers(*shape: int, below: int = 10, dtype: str = "int32") -> np.ndarray:
    return np.random.default_rng(0).integers(0, below, shape).astype(dtype)


def unsigned(*shape: int, below: int = 10) -> np.ndarray:
    return integers(*shape, below=below, dtype="uint32")


def doubles(*shape: int) -> np.ndarray:
    return floats(*shape).astype(np.float64)


def halves(*shape: int) -> np.ndarray:
    return floats(*shape).astype(np.float16)


def one(
    file: str, kernel: str, grid: Extent, block: Extent, values: Callable[[], dict[str, Any]], shared: int = 0
) -> Launch:
    return Launch(file=file, kernel=kernel, grid=grid, block=block, arguments=values, shared=shared)
