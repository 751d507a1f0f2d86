"""What is made of the sums of a product, right behind it: bias, scale, what is above zero, another type or layout.

    for f, y, x: for c, r, s: out[f, y, x] += data[c, y + r, x + s] * weight[f, c, r, s]
    for f, y, x: out[f, y, x] = max(out[f, y, x] + bias[f], 0)                               in place
    for f, y, x: bytes[y, x, f] = u8(out[f, y, x] * scale[f])                                in another array

A sum may be finished as soon as it is made, since nothing else of the product or of its epilogue has to do with what is
read and stored then; and should, unless its place there takes divisions in each lane.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from polysched.ir.node import rewrite, substitute, walk
from polysched.ir.nodes import Call, Const, Expr, Load, Stmt, Store, Var
from polysched.transform.analysis.axes import lies_by_terms, steps_alike
from polysched.transform.analysis.products import SumOfProducts, simple

Extents = Mapping[str, tuple[Expr, ...]]


def epilogue(
    found: SumOfProducts, loops: Mapping[str, int], body: tuple[Stmt, ...], shapes: Extents
) -> tuple[Store, ...] | None:
    """What the body of these loops makes of each sum, with the sum's loops in it; None if it does anything else, or
    should not go with them."""
    made = [_made(found, loops, stmt) for stmt in rewrite(body, simple)]
    ends = tuple(end for end in made if end is not None)
    may = len(ends) == len(made) and _are_alone(found, (*found.ends, *ends))
    return ends if may and all(_is_near(end, found, shapes) for end in ends) else None


def _made(found: SumOfProducts, loops: Mapping[str, int], stmt: Stmt) -> Store | None:
    """The store for each of the sums, with their loops in place of those around it; None if it is none."""
    own = found.store.index
    at = next((n.index for n in walk(stmt) if isinstance(n, Load | Store) and n.array == found.store.array), None)
    if at is None or not isinstance(stmt, Store):
        return None
    names: dict[str, Expr] = {part.name: ours for part, ours in zip(at, own, strict=True) if isinstance(part, Var)}
    runs = {names.get(name): extent for name, extent in loops.items()}
    if runs != _sums(found) or substitute(at, names) != own:
        return None
    is_pure = all(node.pure for node in walk(stmt) if isinstance(node, Call))
    return replace(stmt, index=substitute(stmt.index, names), value=substitute(stmt.value, names)) if is_pure else None


def _are_alone(found: SumOfProducts, ends: tuple[Store, ...]) -> bool:
    """Does each sum have an element of its own of all arrays that are stored, and is it the only one that it uses?"""
    uses = [node for node in walk((found.store, *ends)) if isinstance(node, Load | Store)]
    stored = {store.array for store in (found.store, *ends)}
    places = [{node.index for node in uses if node.array == array} for array in stored]
    moving = [Counter(part for part in index if not isinstance(part, Const)) for index in set().union(*places)]
    return all(len(one) == 1 for one in places) and all(each == Counter([*_sums(found)]) for each in moving)


def _sums(found: SumOfProducts) -> dict[Expr | None, int]:
    """The extents of the loops that tell the sums apart."""
    sides = (found.batch, found.rows, found.columns)
    return {Var(name): extent for axes in sides for name, extent in axes.extents.items()}


def _is_near(end: Store, found: SumOfProducts, shapes: Extents) -> bool:
    """Does all that it uses lie as the sums, or as far from each column to the next, so that its place is found without
    divisions in each lane? Rows may become columns if both factors lie by terms."""
    may_turn = all(lies_by_terms(factor, found.terms) for factor in (found.row, found.column))
    sides = [axes for axes in (found.columns, found.rows)[: 1 + may_turn] if len(axes.extents) > 1]

    def is_near(used: Load | Store) -> bool:
        shape = shapes[used.array]
        lies_so = used.index == found.store.index and shape == shapes[found.store.array]
        return lies_so or all(steps_alike(used, axes, shape) for axes in sides)

    return all(is_near(node) for node in walk(end) if isinstance(node, Load | Store))
