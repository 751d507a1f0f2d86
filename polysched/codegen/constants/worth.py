"""Which temporaries are worth being kept from call to call: those that cost more to make than to load.

    P: f32[4, 8, 64] of w: f32[8, 256]      yes: each call would copy all of w
    s: f32[100, 100, 100] of w: f32[100]    no: it outgrows what it is made of, and so the cache
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from polysched.config.heuristics.cpu import LARGE_SIZE, PREPARED_GROWTH
from polysched.ir.interp import evaluate
from polysched.ir.node import variables
from polysched.ir.nodes import Array


def is_worth(array: Array, made_of: Sequence[Array], *, is_expanded: bool) -> bool:
    """Is `array`, made of these constants, kept rather than made in each call? `is_expanded`: it has more elements than
    a call has at any time."""
    if not array.shape:  # nothing but a scalar
        return False
    return not is_expanded or _bytes(array) <= PREPARED_GROWTH * sum(map(_bytes, made_of))


def _bytes(array: Array) -> int:
    sizes = dict.fromkeys(variables(array.shape), LARGE_SIZE)
    return prod(int(evaluate(extent, sizes)) for extent in array.shape) * array.dtype.bits // 8
