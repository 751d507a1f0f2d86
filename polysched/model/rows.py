"""Rows in the subscripts of a linear array: A[i * n + j] as A[i, j] where 0 <= j < n.

    A[(i * m + j) * p + k]     strides m * p and p: [i, j, k], rows of m and p elements
    A[i * n + n - 1]           [i, n - 1]; [i + 1, -1] would leave the row

After Maslov, "Delinearization" (PLDI 1992), for strides that are products of parameters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from types import MappingProxyType

from polysched.ir.node import walk
from polysched.ir.nodes import Binary, Const, Expr, Unary, Var
from polysched.ir.text import show
from polysched.model.affine import NotAffine
from polysched.model.known import Known, Unproven, Where

Index = tuple[Expr, ...]
_Sum = dict[tuple[str, ...], Expr]  # product of parameters, sorted -> its factor, free of products


@dataclass(frozen=True)
class Rows:
    """How to write the subscripts of one array in several dimensions."""

    extents: tuple[Expr, ...]  # but for the outermost dimension
    subscripts: dict[Expr, Index]


def rows_of(
    uses: Sequence[tuple[Expr, Where]],
    known: Known,
    *,
    constants: bool = False,
    named: Mapping[tuple[str, ...], Var] = MappingProxyType({}),
) -> Rows | None:
    """The rows in which all uses of an array stay; None if there are none. `known` may assume conditions on sizes.
    `named` are products of parameters that are parameters, too.

    A[i * 3 * m + j] is [i * 3, j], in rows of m elements; with `constants`, [i, j] in rows of 3 * m.
    """
    atoms: dict[str, Expr] = {}
    sums = {subscript: _Reader(known, where, atoms, constants).sum(subscript) for subscript, where in uses}
    strides = _strides(sums.values())
    if strides is None:
        return None
    lengths = [Counter(one) - Counter(other) for one, other in pairwise((*strides, ()))]  # of rows
    products = [tuple(sorted(length.elements())) for length in lengths]
    extents = tuple(named.get(names) or reduce(_times, map(atoms.__getitem__, names)) for names in products)
    subscripts: dict[Expr, Index] = {}
    for subscript, total in sums.items():
        places = [where for other, where in uses if other == subscript]
        index = _in_rows(_split(total, strides, atoms), extents, places, known)
        if index is None:
            return None
        subscripts[subscript] = index
    return Rows(extents, subscripts)


@dataclass
class _Reader:
    """Takes a subscript apart; `atoms` collects the factors that rows are made of, by their text."""

    known: Known
    where: Where
    atoms: dict[str, Expr]
    constants: bool

    def sum(self, expr: Expr) -> _Sum:
        match expr:
            case Var(name) if self.is_parametric(expr):
                self.atoms[name] = expr
                return {(name,): Const(1)}
            case Unary("-", arg):
                return {product: Unary("-", factor) for product, factor in self.sum(arg).items()}
            case Binary("+" | "-" as op, left, right):
                return _added(op, self.sum(left), self.sum(right))
            case Binary("*", left, right):
                return _multiplied(self.factor(left, right), self.factor(right, left)) or {(): expr}
        return {(): expr}

    def factor(self, expr: Expr, other: Expr) -> _Sum:
        """A parameter, or a sum of them such as n + 1, is one atom when it multiplies a loop variable."""
        is_number = self.constants and isinstance(expr, Const) and expr.value > 1
        varies = any(isinstance(node, Var) for node in walk(other)) and not self.is_parametric(other)
        if is_number or (varies and self.is_parametric(expr) and isinstance(expr, Binary) and expr.op in "+-"):
            self.atoms[show(expr)] = expr
            return {(show(expr),): Const(1)}
        return self.sum(expr)

    def is_parametric(self, expr: Expr) -> bool:
        names = {node.name for node in walk(expr) if isinstance(node, Var)}
        return bool(names) and names <= set(self.known.types) - {loop.var for loop in self.where.loops}


def _added(op: str, left: _Sum, right: _Sum) -> _Sum:
    total = dict(left)
    for product, factor in right.items():
        if product in total:
            total[product] = Binary(op, total[product], factor)
        else:
            total[product] = factor if op == "+" else Unary("-", factor)
    return total


def _multiplied(left: _Sum, right: _Sum) -> _Sum | None:
    """None where loop variables are multiplied with each other."""
    total: _Sum = {}
    for one, first in left.items():
        for other, second in right.items():
            if not isinstance(first, Const) and not isinstance(second, Const):
                return None
            factor = second if first == Const(1) else first if second == Const(1) else Binary("*", first, second)
            total = _added("+", total, {tuple(sorted((*one, *other))): factor})
    return total


def _strides(sums: Iterable[_Sum]) -> list[tuple[str, ...]] | None:
    """The products of parameters that loop variables are multiplied with, each containing the next; None if not so."""
    found = {
        product
        for total in sums
        for product, factor in total.items()
        if product and any(isinstance(node, Var) for node in walk(factor))
    }
    strides = sorted(found, key=lambda product: (-len(product), product))
    return strides if all(Counter(one) > Counter(other) for one, other in pairwise(strides)) and strides else None


def _split(total: _Sum, strides: list[tuple[str, ...]], atoms: dict[str, Expr]) -> list[Expr]:
    """What each stride is multiplied with, outermost first, and the rest."""
    parts: list[Expr] = [Const(0)] * (len(strides) + 1)
    for product, factor in sorted(total.items(), key=lambda item: item[0]):
        within = (k for k, stride in enumerate(strides) if Counter(stride) <= Counter(product))
        k = next(within, len(strides))
        rest = Counter(product) - Counter(strides[k] if k < len(strides) else ())
        term = reduce(_times, (atoms[name] for name in sorted(rest.elements())), factor)
        parts[k] = term if parts[k] == Const(0) else Binary("+", parts[k], term)
    return parts


def _times(left: Expr, right: Expr) -> Expr:
    return right if left == Const(1) else Binary("*", left, right)


def _in_rows(parts: list[Expr], extents: Index, places: list[Where], known: Known) -> Index | None:
    """Every part but the outermost within its extent, perhaps by going to the row before or after."""
    for k in reversed(range(1, len(parts))):
        extent = extents[k - 1]
        for shift in (0, 1, -1):
            part = _plus(parts[k], shift, extent)
            if all(known.shows(condition, where) for where in places for condition in _within(part, extent)):
                parts[k], parts[k - 1] = part, _plus(parts[k - 1], -shift, Const(1))
                break
        else:
            try:
                for where in places:
                    for condition in _within(parts[k], extent):
                        known.require(condition, where)
            except (Unproven, NotAffine):
                return None
    return tuple(parts)


def _within(part: Expr, extent: Expr) -> tuple[Expr, Expr]:
    return Binary(">=", part, Const(0)), Binary("<", part, extent)


def _plus(expr: Expr, times: int, amount: Expr) -> Expr:
    return expr if not times else Binary("+" if times > 0 else "-", expr, amount)
