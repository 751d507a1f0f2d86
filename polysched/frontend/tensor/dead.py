"""Stores that nobody sees: all that one body stores, later ones store again before anything reads it.

    for i in 0..4 * n: out[i] = 0.0                    (dead)
    for i in 0..2 * n: out[2 * i] = a[i]         ->    for i in 0..2 * n: out[2 * i] = a[i]
    for i in 0..2 * n: out[2 * i + 1] = b[i]           for i in 0..2 * n: out[2 * i + 1] = b[i]

Needs: subscripts that are affine; others are left alone, and cover nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from polysched.frontend.tensor import accesses
from polysched.frontend.tensor.inline import Bodies, loads_of
from polysched.frontend.tensor.tensor import Body
from polysched.model.affine import NotAffine
from polysched.support import isl


def without_dead_stores(name: str, bodies: Bodies, sizes: Sequence[str]) -> Bodies:
    """The bodies of an array without those whose elements later ones all store anew, unread."""
    for k, body in enumerate(bodies):
        later = bodies[k + 1 :]
        if later and _is_dead(body, later, name, tuple(sizes)):
            return without_dead_stores(name, (*bodies[:k], *later), sizes)
    return bodies


def stored(body: Body, sizes: tuple[str, ...]) -> isl.Set | None:
    """{ [x, y] }: the elements that are stored; None if that depends on more than sizes."""
    try:
        return accesses.stored(body, sizes).range()
    except NotAffine:
        return None


def _is_dead(body: Body, later: Bodies, name: str, sizes: tuple[str, ...]) -> bool:
    seen = stored(body, sizes)
    if seen is None:
        return False
    for other in later:
        if _may_read(other, name, seen, sizes):
            return False
        over = stored(other, sizes)
        seen = seen if over is None else seen.subtract(over)
    return bool(seen.is_empty())


def _may_read(body: Body, name: str, elements: isl.Set, sizes: tuple[str, ...]) -> bool:
    """Does the body read one of these elements of the array?"""
    if not loads_of((body,), name):
        return False
    try:
        return any(not read.range().is_disjoint(elements) for read, _ in accesses.read(body, name, sizes))
    except NotAffine:
        return True
