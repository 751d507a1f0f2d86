"""Remainders of what is below the divisor, as that itself.

    for i in 0..n:                                  for i in 0..n:
        for j in 0..m:                                  for j in 0..m:
            b[i, j] = a[(i * m + j) % (n * m)]  ->          b[i, j] = a[i * m + j]

What loops count, times what is below it, and their sums are numbers below a product, as in `radix.py`.

Needs: a source nest, and divisors among `checked`, products that do not wrap.
Keeps: every value and every trap: a divisor has only factors that are not zero where a loop around runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import reduce
from itertools import pairwise
from typing import Any

from polysched.ir.node import flattened, map_children, map_list
from polysched.ir.nodes import Binary, Const, Expr, For, Function, Var
from polysched.prelude.structure.radix import ONE, Product, factors_of, product_of

_Ends = Mapping[str, Product]  # of the loops around that count from zero, by their variables


def without_remainders(fn: Function, checked: set[Expr]) -> Function:
    """`fn` without the remainders that change nothing; the same object if there are none."""
    return _Remainders(fn.sizes, checked).of(fn)


class _Remainders:
    def __init__(self, sizes: tuple[str, ...], checked: set[Expr]):
        self.sizes, self.checked = sizes, checked

    def of(self, fn: Function) -> Function:
        body = map_list(fn.body, lambda stmt: self.visited(stmt, {}))
        return fn if body is fn.body else replace(fn, body=body)

    def visited(self, node: Any, ends: _Ends) -> Any:
        if isinstance(node, For):
            inside = {name: end for name, end in ends.items() if name != node.var}
            end = product_of(node.hi, self.sizes) if (node.lo, node.step) == (Const(0), 1) else None
            inside |= {} if end is None else {node.var: end}
            body = map_list(node.body, lambda stmt: self.visited(stmt, inside))
            return node if body is node.body else replace(node, body=body)
        new = map_children(node, lambda child: self.visited(child, ends))
        match new:
            case Binary("floormod", left, right) if self.is_below(left, right, ends):
                return left
        return new

    def is_below(self, expr: Expr, divisor: Expr, ends: _Ends) -> bool:
        """Is it a number from zero up to the divisor, which is not zero?"""
        product = product_of(divisor, self.sizes)
        if product is None or not (divisor in self.checked or len(factors_of(divisor)) == 1):
            return False
        positive = {atom for end in ends.values() for atom in end.atoms if isinstance(atom, Var)}
        end = self.end(expr, ends)
        return end is not None and end.divides(product) and positive.issuperset(product.atoms)

    def end(self, expr: Expr, ends: _Ends) -> Product | None:
        """A product that a number from zero is below; None if it is not known to be one."""
        match expr:
            case Var(name):
                return ends.get(name)
            case Binary("floormod", _, divisor):
                return product_of(divisor, self.sizes)
            case Binary("floordiv", left, divisor):
                whole, by = self.end(left, ends), product_of(divisor, self.sizes)
                return whole.over(by) if whole and by else None
            case Binary("+" | "*"):
                return self.end_of_sum([*flattened(expr, "+")], ends)
        return None

    def end_of_sum(self, terms: list[Expr], ends: _Ends) -> Product | None:
        """That of a number whose digits are the terms."""
        digits = []
        for term in terms:
            factors = [(factor, product_of(factor, self.sizes)) for factor in factors_of(term)]
            values = [factor for factor, times in factors if times is None]
            if len(values) != 1 or (end := self.end(values[0], ends)) is None:
                return None
            digits.append((reduce(Product.__mul__, (times for _, times in factors if times), ONE), end))
        digits.sort(key=lambda digit: (len(digit[0].atoms), digit[0].factor))
        if not all((low * end).divides(high) for (low, end), (high, _) in pairwise(digits)):
            return None
        low, end = digits[-1]
        return low * end
