"""What is made of a sum before it is stored: bias, scale, what is greater than zero, of its element alone.

    out[f, q] = sums[i, j]        ->        out[f, q] = max(sums[i, j] + bias[f], 0)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from polysched.codegen.products.axes import is_flat
from polysched.ir.node import rewrite, substitute, walk
from polysched.ir.nodes import Expr, Load, Store, Var
from polysched.transform.products import Axes, SumOfProducts


def is_near(end: Store, found: SumOfProducts, extents: Mapping[str, tuple[Expr, ...]]) -> bool:
    """Does all that it reads lie as the sums, or as a side of them, so that it is found without divisions?"""

    def lies_along(load: Load, axes: Axes) -> bool:
        is_used = any(isinstance(node, Var) and node.name in axes.extents for node in walk(load))
        return len(axes.extents) == 1 or not is_used or is_flat(load, axes, extents[load.array])

    def lies_so(load: Load) -> bool:
        is_alike = load.index == found.store.index and extents[load.array] == extents[found.store.array]
        return is_alike or all(lies_along(load, axes) for axes in (found.rows, found.columns))

    return all(lies_so(node) for node in walk(end.value) if isinstance(node, Load))


def stored(found: SumOfProducts, own: Mapping[str, Expr], here: Load) -> tuple[Store, ...]:
    """The stores of the element that has the loops' variables `own`, of which `here` is the sum: of what is made of it,
    in turn."""
    element = Load(found.store.array, found.store.index, here.dtype)
    values = [rewrite(end.value, lambda node: here if node == element else None) for end in found.ends] or [here]
    *steps, last = substitute(tuple(values), dict(own))
    index = substitute(found.store.index, dict(own))
    return (*(Store(here.array, here.index, step) for step in steps), replace(found.store, index=index, value=last))
