"""What an array holds, as a value: it compares, hashes and pickles by its elements, and never changes.

    held = contents_of(np.eye(64, dtype=np.float32), f32)       held.array: the same elements, read-only

It is the default of an array parameter. Calls need it; the compiler does not, and works without it, so that one result
serves all weights of a shape.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from polysched.ir.dtypes import DType


@dataclass(frozen=True)
class Contents:
    """The elements of an array."""

    dtype: DType
    shape: tuple[int, ...]
    data: bytes = field(repr=False)  # in C order, in this machine's byte order

    @property
    def array(self) -> np.ndarray:
        """A view of the elements, read-only."""
        return np.ndarray(self.shape, self.dtype.numpy, self.data)

    def __str__(self) -> str:
        return "..."  # as a signature says of a default that is too long for it


def contents_of(array: np.ndarray, dtype: DType) -> Contents:
    """What the array holds now, in this dtype."""
    return Contents(dtype, array.shape, np.asarray(array, dtype.numpy).tobytes())
