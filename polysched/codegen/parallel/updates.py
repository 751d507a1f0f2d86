"""What loops that reduce do to their arrays, so that their iterations can be cut in parts.

    for i in 0..n (reduces s):                      "+" on s[k], everywhere
        s[k] = s[k] + a[i]
    for i in 0..n (reduces y):                      "+" on a row of y, from 1 on, m - 1 elements
        for j in 1..m: y[j] = y[j] + A[i, j]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from polysched.codegen.lowered import moved, values_of_lets
from polysched.ir.build import add, binary, sub
from polysched.ir.integers.linear import expression, forms, is_never_negative, never_negative
from polysched.ir.integers.trips import bounded
from polysched.ir.node import statements, substitute, variables, walk
from polysched.ir.nodes import PARALLEL, Array, Binary, Const, Expr, For, Load, Stmt, Store
from polysched.model.reduction import reduction_operator


@dataclass(frozen=True)
class Row:
    """The elements along one dimension of an array: those that a loop updates are among them."""

    axis: int
    low: Expr
    extent: Expr


@dataclass(frozen=True, kw_only=True)
class Update:
    """What a loop does to an array that it reduces: a[index] = a[index] op e, with `index` fixed but along `row`."""

    array: Array
    op: str
    index: tuple[Expr, ...]
    row: Row | None

    def bounds(self, around: Sequence[For] = ()) -> tuple[Expr, ...]:
        """The conditions, of those that the array has its elements, which the loops around do not show: what has no
        terms may have a subscript out of bounds."""
        loops = {each.var: each for each in around}
        conditions = []
        for axis, (subscript, extent) in enumerate(zip(self.index, self.array.shape, strict=True)):
            if self.row is not None and self.row.axis == axis:
                continue
            if not _is_shown(bounded(subscript, loops, upper=False), Const(0)):
                conditions.append(_at_least(subscript, Const(0)))
            if not _is_shown(extent, bounded(add(subscript, 1), loops)):
                conditions.append(_at_least(extent, add(subscript, 1)))
        return tuple(conditions)

    def element(self, position: Expr) -> tuple[Expr, ...]:
        """The subscript of the element at this position of the row."""
        if self.row is None:
            return self.index
        return tuple(add(self.row.low, position) if k == self.row.axis else x for k, x in enumerate(self.index))


def updates_in(loop: For, arrays: Mapping[str, Array]) -> list[Update] | None:
    """What the loop does to each array that it reduces; None if there is one of which parts cannot be made."""
    found = []
    for name in loop.reduces:
        stores = [node for node in statements(loop.body) if isinstance(node, Store) and node.array == name]
        loads = [node for node in walk(loop.body) if isinstance(node, Load) and node.array == name]
        operators = {reduction_operator((store,)) for store in stores}
        if not stores:  # where isl has cut the loop in pieces
            if loads:
                return None
            continue
        updating = [node for node in walk(tuple(stores)) if isinstance(node, Load) and node.array == name]
        others = [node for node in loads if node.index not in {store.index for store in stores}]
        place = _place(arrays[name], [store.index for store in stores], loop)
        if len(updating) != len(loads) or len(operators) != 1 or "" in operators or place is None:
            return None
        if others and loop.kind in PARALLEL:  # lanes may read other elements, which no iteration updates
            return None
        index, row = place
        found.append(Update(array=arrays[name], op=operators.pop(), index=index, row=row))
    return found


def in_variables(body: tuple[Stmt, ...], names: Mapping[str, str]) -> tuple[Stmt, ...]:
    """The body with variables in place of the elements that it stores, of the arrays named."""
    updated = [node for node in statements(body) if isinstance(node, Store) and node.array in names]
    return moved(body, {(store.array, store.index): (names[store.array], ()) for store in updated})


def _place(array: Array, subscripts: list[tuple[Expr, ...]], loop: For) -> tuple[tuple[Expr, ...], Row | None] | None:
    """The subscript that all of these are, as it is outside of the loop, and the row in which they differ; None if they
    differ in two dimensions, or by what is not known outside."""
    loops = {node.var: node for node in statements(loop) if isinstance(node, For)}
    lets = values_of_lets(loop.body)
    index: list[Expr] = []
    row = None
    for axis, extent in enumerate(array.shape):
        written = {substitute(subscript[axis], lets) for subscript in subscripts}
        found = sorted(set(map(_plain, written)), key=str)
        index.append(found[0])
        if len(found) == 1 and variables(found[0]).isdisjoint(loops):
            match list(written):
                case [only] if variables(only).isdisjoint(loops):
                    index[-1] = only  # as others have it
            continue
        lows = [bounded(part, loops, upper=False) for part in found]
        highs = [bounded(part, loops, upper=True) for part in found]
        if row is not None or None in lows or None in highs:
            return None
        low = binary("min", *(part for part in lows if part))
        high = binary("max", *(part for part in highs if part))
        # Bounds of loops are not exact: the elements between them are in the array all the same.
        low, high = Binary("max", low, Const(0)), Binary("min", high, sub(extent, 1))
        row = Row(axis, low, Binary("max", add(sub(high, low), 1), Const(0)))
    return tuple(index), row


def _plain(expr: Expr) -> Expr:
    """The expression with what adds up to nothing left out."""
    found = forms(expr, upper=True)
    return expression({k: v for k, v in found[0].items() if v}) if len(found) == 1 else expr


def _is_shown(great: Expr | None, small: Expr | None) -> bool:
    """Is the first number known not to be less than the second?"""
    if great is None or small is None:
        return False
    return any(map(is_never_negative, forms(sub(great, small), upper=False)))


def _at_least(great: Expr, small: Expr) -> Expr:
    match forms(sub(great, small), upper=False):
        case [form]:
            return never_negative(form)
    return binary(">=", great, small)
