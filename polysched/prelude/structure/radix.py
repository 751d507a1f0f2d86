"""A number below a product of extents, taken apart: which of its digits an expression is.

    p in 0..n * h * w        p // w % h    ->    Digits(w, h * w): p // w up to the stride h * w
                             p % (h * w)   ->    Digits(1, h * w)
                             p // (h * w)  ->    Digits(h * w, n * h * w)
                             (n * h * w - 1 - p) % w    ->    Digits(1, w, mirrored)

Digits from stride `low` up to stride `high` are floor(p / low) mod (high / low); the strides divide each other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import reduce
from itertools import chain
from math import prod

from polysched.ir.build import mul
from polysched.ir.dtypes import boolean, i64
from polysched.ir.effects import is_total, may_change
from polysched.ir.integers.linear import forms
from polysched.ir.node import variables, walk
from polysched.ir.nodes import Binary, Const, Expr, For, Function, If, Let, Stmt, Store, Var
from polysched.ir.text import show


@dataclass(frozen=True)
class Product:
    """A positive constant times sizes, or other expressions in sizes; equal ones are equal."""

    factor: int = 1
    atoms: tuple[Expr, ...] = ()  # in the order of their texts

    @staticmethod
    def of(factor: int, atoms: Iterable[Expr]) -> Product:
        return Product(factor, tuple(sorted(atoms, key=show)))

    def __mul__(self, other: Product) -> Product:
        return Product.of(self.factor * other.factor, (*self.atoms, *other.atoms))

    def over(self, other: Product) -> Product | None:
        """The quotient; None if it is no product."""
        mine, others = Counter(self.atoms), Counter(other.atoms)
        if self.factor % other.factor or not others <= mine:
            return None
        return Product.of(self.factor // other.factor, (mine - others).elements())

    def divides(self, other: Product) -> bool:
        return other.over(self) is not None

    def expression(self) -> Expr:
        if not self.atoms:
            return Const(self.factor)
        product = reduce(mul, self.atoms)
        return product if self.factor == 1 else mul(product, self.factor)


ONE = Product()


def product_of(expr: Expr, sizes: tuple[str, ...]) -> Product | None:
    """The product of constants above zero and expressions in the sizes that `expr` is; None if it is none."""
    factors = factors_of(expr)
    if not all(_is_factor(factor, sizes) for factor in factors):
        return None
    constants = [int(factor.value) for factor in factors if isinstance(factor, Const)]
    return Product.of(prod(constants), (factor for factor in factors if not isinstance(factor, Const)))


def factors_of(expr: Expr) -> list[Expr]:
    """What `expr` multiplies, left to right."""
    match expr:
        case Binary("*", left, right):
            return [*factors_of(left), *factors_of(right)]
    return [expr]


def products_in(fn: Function) -> Iterator[Expr]:
    """The products of sizes in its bounds and conditions, the extents of its arrays and the values of its scalars: a
    caller has to see to it that none of them wraps."""
    extents = (extent for array in fn.arrays for extent in array.shape)
    for expr in chain(extents, _values(fn.body)):
        for node in walk(expr):
            if len(factors := factors_of(node)) > 1 and all(_is_factor(factor, fn.sizes) for factor in factors):
                yield node


def _values(body: tuple[Stmt, ...]) -> Iterator[Expr]:
    for stmt in body:
        match stmt:
            case For(lo=lo, hi=hi, body=inner):
                yield from (lo, hi)
                yield from _values(inner)
            case If(cond, then, other):
                yield cond
                yield from _values((*then, *other))
            case Let(value=value) | Store(index=(), value=value) if value.dtype in (i64, boolean):
                yield value


def _is_factor(expr: Expr, sizes: tuple[str, ...]) -> bool:
    """Is it a constant above zero, or does it have the same value wherever it is evaluated?"""
    match expr:
        case Const(value, dtype):
            return dtype == i64 and value > 0
        case Var(name):
            return name in sizes
    return expr.dtype == i64 and variables(expr) <= set(sizes) and is_total(expr) and not may_change(expr)


@dataclass(frozen=True)
class Digits:
    """floor(p / low) mod (high / low)"""

    low: Product
    high: Product
    mirrored: bool = False  # of end - 1 - p

    @property
    def extent(self) -> Product:
        extent = self.high.over(self.low)
        assert extent is not None
        return extent


@dataclass(frozen=True)
class Number:
    """A variable that counts from 0 up to a product."""

    var: str
    end: Product
    sizes: tuple[str, ...]

    def digits(self, expr: Expr) -> Digits | None:
        """The digits of the number that `expr` is, wherever the number is below `end`; None if it is none of them."""
        match expr:
            case Var(self.var):
                return Digits(ONE, self.end)
            case Binary("floordiv" | "truncdiv", left, right):
                return self._part(left, right, _quotient)
            case Binary("floormod" | "truncmod", left, right):
                return self._part(left, right, _remainder)
            case Binary("-", left, Binary("*", one, other)) if whole := self.digits(left):
                return self._rest(whole, one, other) or self._rest(whole, other, one)
            case Binary("+" | "-") if expr.dtype == i64 and not may_change(expr) and self._is_mirrored(expr):
                return Digits(ONE, self.end, mirrored=True)
        return None

    def _is_mirrored(self, expr: Expr) -> bool:
        """Is it the number counted from the end, end - 1 - p?"""
        match forms(expr, upper=True):
            case [form]:
                rest = {atom: factor for atom, factor in form.items() if factor}
                if (rest.pop(Var(self.var), 0), rest.pop(None, 0)) == (-1, -1) and len(rest) == 1:
                    ((atom, factor),) = rest.items()
                    whole = None if atom is None else product_of(mul(atom, factor), self.sizes)
                    return whole == self.end
        return False

    def _part(self, left: Expr, right: Expr, part: Callable[[Digits, Product], Digits | None]) -> Digits | None:
        digits = self.digits(left)
        divisor = product_of(right, self.sizes) if digits else None
        return part(digits, divisor) if digits and divisor else None

    def _rest(self, whole: Digits, quotient: Expr, divisor: Expr) -> Digits | None:
        """x - x // d * d is x % d."""
        times = product_of(divisor, self.sizes)
        if times is not None and self.digits(quotient) == _quotient(whole, times):
            return _remainder(whole, times)
        return None


def _quotient(digits: Digits, divisor: Product) -> Digits | None:
    low = digits.low * divisor
    if low.divides(digits.high):
        return replace(digits, low=low)
    return replace(digits, low=digits.high) if _is_multiple(low, digits.high) else None


def _remainder(digits: Digits, divisor: Product) -> Digits | None:
    high = digits.low * divisor
    if high.divides(digits.high):
        return replace(digits, high=high)
    return digits if _is_multiple(high, digits.high) else None


def _is_multiple(product: Product, other: Product) -> bool:
    """... by a constant, which is not zero as a size might be?"""
    times = product.over(other)
    return times is not None and not times.atoms
