"""What is made of a sum before it is stored, or in its place: bias, scale, what is above zero, another type.

    out[f, q] = sums[i, j]        ->        out[f, q] = max(sums[i, j] + bias[f], 0)
                                            bytes[f, q] = u8(sums[i, j] * scale[f])
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from polysched.ir.node import rewrite, substitute
from polysched.ir.nodes import Expr, Load, Store, Var
from polysched.transform.analysis.products import SumOfProducts


def lies_across(found: SumOfProducts) -> bool:
    """Is what is stored next to each other along rows?"""
    ends = [end for end in found.ends if end.array != found.store.array]
    ends += [found.store] if found.is_stored else []
    return bool(found.rows.extents) and all(end.index[-1] == Var([*found.rows.extents][-1]) for end in ends)


def stored(found: SumOfProducts, own: Mapping[str, Expr], here: Load) -> tuple[Store, ...]:
    """The stores of the element that has the loops' variables `own`, of which `here` is the sum: of what is made of it,
    in turn."""
    element = Load(found.store.array, found.store.index, here.dtype)
    steps = [end if end.array != element.array else Store(here.array, here.index, end.value) for end in found.ends]
    if found.is_stored:
        last = steps.pop().value if found.ends and found.ends[-1].array == element.array else here
        steps.append(replace(found.store, value=last))
    made: tuple[Store, ...] = rewrite(tuple(steps), lambda node: here if node == element else None)
    return substitute(made, dict(own))
