"""Which temporaries are worth being kept from call to call: those that cost more to make than to load.

    P: f32[4, 8, 64] of w: f32[8, 256]      yes: each call would copy all of w
    s: f32[100, 100, 100] of w: f32[100]    no: it outgrows what it is made of, and so the cache
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from polysched.config.heuristics.cpu import PREPARED_GROWTH
from polysched.ir.node import variables
from polysched.ir.nodes import Array, Const


def is_worth(array: Array, made_of: Sequence[Array], *, is_expanded: bool) -> bool:
    """Is `array`, made of these constants, kept rather than made in each call? `is_expanded`: it has more elements than
    a call has at any time."""
    if not array.shape:  # nothing but a scalar
        return False
    if not is_expanded:
        return True
    if not made_of:
        return False
    size, sizes = _bytes(array), [_bytes(each) for each in made_of]
    if size is None or None in sizes:
        return _degree(array) <= max(map(_degree, made_of))
    return size <= PREPARED_GROWTH * sum(filter(None, sizes))


def _degree(array: Array) -> int:
    """How many of the extents are sizes."""
    return sum(bool(variables(extent)) for extent in array.shape)


def _bytes(array: Array) -> int | None:
    extents = [extent.value for extent in array.shape if isinstance(extent, Const)]
    return prod(map(int, extents)) * array.dtype.bits // 8 if len(extents) == len(array.shape) else None
