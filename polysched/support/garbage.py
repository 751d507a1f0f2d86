"""Python's garbage collector, run less often: it would walk the trees of a nest again and again, which have no cycles.

    with rarely:
        ...                     the youngest objects are looked through for each 50,000 of them, not for each 700
"""

from __future__ import annotations

import gc

from polysched.support.limits import Limit

_OBJECTS = 50_000


def _raised(thresholds: tuple[int, int, int]) -> tuple[int, int, int]:
    """Nothing changes where the collector is off, or runs less often still."""
    first, second, third = thresholds
    return first and max(first, _OBJECTS), second, third


rarely = Limit(gc.get_threshold, lambda thresholds: gc.set_threshold(*thresholds), _raised)
