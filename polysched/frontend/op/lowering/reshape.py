"""Which element of an array an element of its reshaped view is.

    [n, 4, k] seen as [n, 4 * k]:   [i, j]     is     [i, j // k % 4, j % k]
    [n, 6]    seen as [n, 2, 3]:    [i, j, l]  is     [i, 3 * j + l]
    [6, m]    seen as [3, 2 * m]:   [i, j]     is     [(2 * i + j // m) % 6, j % m]

Dimensions are matched from the left in the smallest groups of equal numbers of elements. Where the strides of both
shapes divide each other, each digit of a place is one of a single index; else places are made whole, and taken apart.
A place that is not quasi-affine is a remainder by its extent, which shows that it is in bounds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from polysched.frontend.op.extents import Shape, normal, product, quotient
from polysched.ir.build import add, floordiv, floormod, mul
from polysched.ir.nodes import Binary, Const, Expr


def reshaped_source(index: Sequence[Expr], shape: Shape, source: Shape) -> tuple[Expr, ...]:
    """The element of an array of shape `source` that is the element `index` of it seen in `shape`."""
    found: list[Expr] = []
    for new, old in _groups(shape, source):
        own, extents, others = index[new.start : new.stop], shape[new.start : new.stop], source[old.start : old.stop]
        cuts = _common_cuts(extents, others)
        places = _by_digits(own, extents, others, cuts) if cuts else _unravelled(_ravelled(own, extents), others)
        found += [_in_bounds(place, extent) for place, extent in zip(places, others, strict=True)]
    return tuple(found)


def _in_bounds(place: Expr, extent: Expr) -> Expr:
    match place:
        case Binary("floormod", _, divisor) if divisor == extent:
            return place
    return place if _is_quasi_affine(place) else floormod(place, extent)


def _is_quasi_affine(place: Expr) -> bool:
    """Is it a sum of indices and of their quotients and remainders by numbers?"""
    match place:
        case Binary("floordiv" | "floormod", left, right):
            return isinstance(right, Const) and _is_quasi_affine(left)
        case Binary("*", left, right):
            return Const in (type(left), type(right)) and _is_quasi_affine(left) and _is_quasi_affine(right)
        case Binary(_, left, right):
            return _is_quasi_affine(left) and _is_quasi_affine(right)
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


def _strides(shape: Shape) -> list[Expr]:
    return [product(shape[k + 1 :]) for k in range(len(shape))]


def _common_cuts(shape: Shape, source: Shape) -> list[Expr]:
    """The strides of both shapes and the number of elements, each of which divides the next; none if they do not."""
    found = dict.fromkeys((Const(1), *_strides(shape), *_strides(source), product(shape)))
    cuts = sorted(found, key=lambda cut: sum(quotient(cut, other) is not None for other in found))
    return cuts if all(quotient(high, low) is not None for low, high in pairwise(cuts)) else []


def _by_digits(index: Sequence[Expr], shape: Shape, source: Shape, cuts: Sequence[Expr]) -> Iterator[Expr]:
    """The places, as sums of digits of the indices between the cuts."""
    for extent, stride in zip(source, _strides(source), strict=True):
        digits = []
        for low, high in _between(cuts, stride, extent):
            digit = next(
                _digit(i, _over(low, below), _over(high, low), is_first=high == product((own, below)))
                for i, own, below in zip(index, shape, _strides(shape), strict=True)
                if (low, high) in _between(cuts, below, own)
            )
            digits.append(digit if low == stride else mul(digit, _over(low, stride)))
        yield add(*digits[::-1]) if digits else Const(0)


def _between(cuts: Sequence[Expr], stride: Expr, extent: Expr) -> list[tuple[Expr, Expr]]:
    """The neighboring cuts from a stride up to the next one."""
    return list(pairwise(cuts[cuts.index(stride) : cuts.index(product((extent, stride))) + 1]))


def _digit(index: Expr, low: Expr, extent: Expr, *, is_first: bool) -> Expr:
    at = index if low == Const(1) else floordiv(index, low)
    return at if is_first else floormod(at, extent)


def _over(whole: Expr, part: Expr) -> Expr:
    found = quotient(whole, part)
    assert found is not None
    return found


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
