"""Stores that nobody sees: all that one body stores, later ones store again before anything reads it.

    for i in 0..4 * n: out[i] = 0.0                    (dead)
    for i in 0..2 * n: out[2 * i] = a[i]         ->    for i in 0..2 * n: out[2 * i] = a[i]
    for i in 0..2 * n: out[2 * i + 1] = b[i]           for i in 0..2 * n: out[2 * i + 1] = b[i]

Needs: subscripts that are affine; others are left alone, and cover nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from polysched import isl
from polysched.frontend.tensor.inline import Bodies, loads_of
from polysched.frontend.tensor.tensor import Body
from polysched.ir.build import conjunction
from polysched.ir.nodes import Binary, Const, Expr, Var
from polysched.model.affine import AffineSpace, NotAffine
from polysched.model.loops import sizes_not_negative


def without_dead_stores(name: str, bodies: Bodies, sizes: Sequence[str]) -> Bodies:
    """The bodies of an array without those whose elements later ones all store anew, unread."""
    for k, body in enumerate(bodies):
        later = bodies[k + 1 :]
        if later and not loads_of(later, name) and _is_covered(body, later, tuple(sizes)):
            return without_dead_stores(name, (*bodies[:k], *later), sizes)
    return bodies


def _is_covered(body: Body, later: Bodies, sizes: tuple[str, ...]) -> bool:
    own = stored(body, sizes)
    if own is None:
        return False
    for other in later:
        over = stored(other, sizes)
        own = own if over is None else own.subtract(over)
    return bool(own.intersect_params(sizes_not_negative(sizes)).is_empty())


def stored(body: Body, sizes: tuple[str, ...]) -> isl.Set | None:
    """{ [x, y] }: the elements that are stored; None if that depends on more than sizes."""
    space = AffineSpace("", body.indices, sizes)
    try:
        relation = isl.Map.from_domain_and_range(space.where(_runs(body)), isl.Set("{ [] }"))
        for subscript in body.at:
            relation = relation.flat_range_product(isl.Map.from_pw_aff(space.function(subscript)))
    except NotAffine:
        return None
    return relation.range()


def _runs(body: Body) -> Expr:
    """For which indices there is a store."""
    bounds = zip(map(Var, body.indices), body.extents, strict=True)
    return conjunction(c for i, n in bounds for c in (Binary("<=", Const(0), i), Binary("<", i, n)))
