"""The box of what each arrival at a node uses of an array: the shape of a copy, and where it begins.

    { [i_o] -> b[x] : 32 i_o - 1 <= x <= 32 i_o + 32 and 1 <= x < n }     ->     b_at: f64[34], from 32 i_o - 1 on
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from polysched.ir.build import sub
from polysched.ir.node import substitute
from polysched.ir.nodes import Const, Expr
from polysched.model.affine import element_names, everywhere, value_at
from polysched.model.extents import extent, largest
from polysched.support import isl


@dataclass(frozen=True)
class Box:
    """A corner and extents; all elements that an arrival uses are inside."""

    axes: tuple[int, ...]  # the array's dimensions along which it has more than one element
    corner: tuple[isl.PwAff, ...]  # { [o] -> [x] } for each of them
    shape: tuple[Expr, ...]  # in the sizes

    def element(self, index: Sequence[Expr], arrival: isl.Map, iterators: Sequence[str]) -> tuple[Expr, ...]:
        """The subscript in the box of what has this one in the array, for instances with { S[i] -> [o] }."""
        where, outer = isl.PwMultiAff.from_map(arrival), arrival.dim(isl.dim_type.out)
        names = element_names(outer)
        own = [value_at(everywhere(where.get_pw_aff(k)), iterators) for k in range(outer)]
        values = [substitute(value_at(low, names), dict(zip(names, own, strict=True))) for low in self.corner]
        parts = zip(self.axes, values, strict=True)
        return tuple(index[axis] if low == Const(0) else sub(index[axis], low) for axis, low in parts)

    def relation(self, accessed: isl.Map, arrival: isl.Map, name: str) -> isl.Map:
        """{ S[i] -> name[x - corner] } for { S[i] -> b[x] }, and { S[i] -> [o] }."""
        parts = isl.Map.from_domain_and_range(accessed.domain(), isl.Set("{ [] }"))
        for axis, low in zip(self.axes, self.corner, strict=True):
            start = arrival.apply_range(isl.Map.from_pw_aff(low))
            parts = parts.flat_range_product(nth_subscript(accessed, axis).sum(start.neg()))
        return parts.set_tuple_name(isl.dim_type.out, name)


def box(elements: isl.Map, context: isl.Set) -> Box:
    """The smallest box of constant shape around the elements { [o] -> b[x] } of every arrival, or else of one in the
    sizes."""
    sides = [_side(nth_subscript(elements, k), context) for k in range(elements.dim(isl.dim_type.out))]
    axes = tuple(k for k, (_, length) in enumerate(sides) if length != Const(1))
    return Box(axes, tuple(sides[k][0] for k in axes), tuple(sides[k][1] for k in axes))


def nth_subscript(elements: isl.Map, k: int) -> isl.Map:
    """{ [o] -> [x] }, the elements' k-th subscripts."""
    rank = elements.dim(isl.dim_type.out)
    after = elements.project_out(isl.dim_type.out, k + 1, rank - k - 1)
    return after.project_out(isl.dim_type.out, 0, k)


def _side(subscripts: isl.Map, context: isl.Set) -> tuple[isl.PwAff, Expr]:
    """Where they begin, and how many there are at most."""
    exact = subscripts.dim_min(0)
    fixed = []
    for low in _corners(exact, subscripts):
        last = largest(_most(subscripts, low))
        if last.is_int():
            fixed.append((last.to_python() + 1, low))
    if fixed:
        size, low = min(fixed, key=lambda each: each[0])
        return low, Const(size)
    candidates = [*_corners(exact, subscripts), exact]
    bounded = (each for each in candidates if _most(subscripts, each).dim_has_upper_bound(isl.dim_type.set, 0))
    low = next(bounded, exact)
    return low, extent(_most(subscripts, low), context)


def _corners(exact: isl.PwAff, subscripts: isl.Map) -> Iterator[isl.PwAff]:
    """The parts of the exact lower bound that are one everywhere."""
    for _, aff in exact.get_pieces():
        low = isl.PwAff.from_aff(aff)
        if _most(subscripts, low).is_subset(isl.Set("{ [x] : x >= 0 }")):
            yield low


def _most(subscripts: isl.Map, low: isl.PwAff) -> isl.Set:
    """{ [x - low] }"""
    return subscripts.sum(isl.Map.from_pw_aff(low).neg()).range()
