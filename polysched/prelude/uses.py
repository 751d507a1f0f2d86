"""What statements use, and the values of loops around them: what several edits of a nest ask."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

from polysched.ir.node import rewrite, walk
from polysched.ir.nodes import Expr, For, Load, Store, Var
from polysched.model.affine import AffineSpace
from polysched.model.loops import loop_conditions, sizes_not_negative
from polysched.support import isl


def uses(nodes: Any, array: str) -> list[Load | Store]:
    """The loads and stores of the array."""
    return [node for node in walk(nodes) if isinstance(node, Load | Store) and node.array == array]


def touches(nodes: Any, array: str) -> bool:
    """Is an element of the array loaded or stored?"""
    return any(isinstance(node, Load | Store) and node.array == array for node in walk(nodes))


def variables(nodes: Any) -> set[str]:
    """The names of loops, sizes and values that are used."""
    return {node.name for node in walk(nodes) if isinstance(node, Var)}


def at_element(nodes: Any, array: str, name: str, index: tuple[Expr, ...]) -> Any:
    """The nodes with one element, of the array called `name`, wherever they load or store `array`."""

    def rule(node: Any) -> Any:
        is_it = isinstance(node, Load | Store) and node.array == array
        return replace(node, array=name, index=index) if is_it else None

    return rewrite(nodes, rule)


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
