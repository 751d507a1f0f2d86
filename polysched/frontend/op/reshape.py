"""Which element of an array an element of its reshaped view is.

    [n, 4, k] seen as [n, 4 * k]:   [i, j]     is     [i, j // k, j % k]
    [n, 6]    seen as [n, 2, 3]:    [i, j, l]  is     [i, 3 * j + l]

Dimensions are matched from the left in the smallest groups of equal numbers of elements, so that only indices of
dimensions that are split or joined are taken apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polysched.frontend.op.extents import Shape, normal, product
from polysched.ir.build import add, floordiv, floormod, mul
from polysched.ir.nodes import Binary, Const, Expr


def reshaped_source(index: Sequence[Expr], shape: Shape, source: Shape) -> tuple[Expr, ...]:
    """The element of an array of shape `source` that is the element `index` of it seen in `shape`."""
    found: list[Expr] = []
    for new, old in _groups(shape, source):
        found += _unravelled(
            _ravelled(index[new.start : new.stop], shape[new.start : new.stop]), source[old.start : old.stop]
        )
    return tuple(found)


def is_quasi_affine(place: Expr) -> bool:
    """Is it a sum of indices and of their quotients and remainders by numbers?"""
    match place:
        case Binary("floordiv" | "floormod", left, right):
            return isinstance(right, Const) and is_quasi_affine(left)
        case Binary("*", left, right):
            return isinstance(left, Const) or isinstance(right, Const)
        case Binary(_, left, right):
            return is_quasi_affine(left) and is_quasi_affine(right)
    return True


def _groups(shape: Shape, source: Shape) -> Iterator[tuple[range, range]]:
    """Ranges of dimensions of both shapes with equal numbers of elements."""
    new = old = 0
    while new < len(shape) or old < len(source):
        sizes = [
            (i, j) for i in range(new, len(shape) + 1) for j in range(old, len(source) + 1) if (i, j) != (new, old)
        ]
        sizes.sort(key=sum)
        end = next(
            (i, j)
            for i, j in sizes
            if product(shape[new:i]) == product(source[old:j]) and product(shape[i:]) == product(source[j:])
        )
        yield range(new, end[0]), range(old, end[1])
        new, old = end


def _ravelled(index: Sequence[Expr], shape: Shape) -> Expr:
    place: Expr = Const(0)
    for i, extent in zip(index, shape, strict=True):
        place = normal(add(mul(place, extent), Const(0) if extent == Const(1) else i))
    return place


def _unravelled(place: Expr, shape: Shape) -> Iterator[Expr]:
    for k, extent in enumerate(shape):
        below = product(shape[k + 1 :])
        at = place if below == Const(1) else floordiv(place, below)
        leads = all(outer == Const(1) for outer in shape[:k])
        if extent == Const(1):
            yield Const(0)
        else:
            yield at if leads else floormod(at, extent)
