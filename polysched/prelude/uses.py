"""What statements use, and the values of loops around them: what several edits of a nest ask."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from polysched.ir.nodes import For
from polysched.model.affine import AffineSpace
from polysched.model.loops import loop_conditions, sizes_not_negative
from polysched.support import isl


def iterations(loops: Sequence[For], sizes: tuple[str, ...]) -> isl.Set:
    """{ [i, j] }: what the variables of the loops take, for sizes that are not negative; NotAffine if that is unknown.
    """
    space = AffineSpace("", tuple(loop.var for loop in loops), sizes)
    conditions = (space.where(condition) for loop in loops for condition in loop_conditions(loop))
    return reduce(isl.Set.intersect, conditions, space.universe).intersect_params(sizes_not_negative(sizes))


def is_never_negative(values: isl.Set) -> bool:
    """Are all of them zero or more, along each dimension?"""
    least = isl.Set.universe(values.get_space())
    for k in range(values.dim(isl.dim_type.set)):
        least = least.lower_bound_val(isl.dim_type.set, k, isl.Val(0))
    return bool(values.is_subset(least))
