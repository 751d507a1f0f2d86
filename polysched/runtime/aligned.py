"""Memory that begins at a line of a cache, as what C of ours allocates does."""

from __future__ import annotations

import numpy as np

LINE = 64  # bytes: of a cache, and of the widest vector


def aligned(count: int) -> np.ndarray:
    """So many bytes, all zero."""
    room = np.zeros(count + LINE, np.uint8)
    first = -room.ctypes.data % LINE
    return room[first : first + count]
