"""Conditions solved for a loop variable: the interval, or the residue class, of the values that satisfy them.

    y + r - pad < h                             r is below h + pad - y
    0 <= floordiv(y - r, s)                     r is below y + 1                          if s > 0
    floormod(y + pad - r, 2) == 0               r is y + pad, modulo 2

Arithmetic wraps, and algebra does not. What is solved is known not to wrap if each variable in it, and each product of
variables as in y * stride, is a position: below 2^58 in absolute value, more than what memory can hold. Loop variables
and sizes are taken to be positions, and so is what is computed from them alone; data (loads, casts, scalar parameters)
is not, but where its range is known to be small.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from math import gcd

from polysched.ir.build import add, binary, floordiv, mul, sub
from polysched.ir.dtypes import i64
from polysched.ir.effects import is_total_operation
from polysched.ir.integers.facts import Facts
from polysched.ir.integers.linear import Linear, added, constant_of, forms
from polysched.ir.node import variables, walk
from polysched.ir.nodes import DIVISIONS, Binary, Call, Const, Expr, Load, Unary, Var

_POSITION = 1 << 58
_FACTOR = 1 << 20  # of what is still taken to be a position
_LARGEST = 1 << 61  # of solved sums: two of them, and a few positions more, do not wrap
_MOST_EXTREMA = 3  # each doubles the work
_ARITHMETIC = frozenset({"+", "-", "*", "min", "max"}) | DIVISIONS


@dataclass(frozen=True)
class Interval:
    """low <= variable < high for each of them."""

    lows: tuple[Expr, ...]
    highs: tuple[Expr, ...]


@dataclass(frozen=True)
class Residue:
    """variable == target modulo `modulus`: there, `top` leaves the remainder that was asked for."""

    modulus: Expr
    target: Expr
    top: Expr
    is_multiple: bool  # is that zero?


@dataclass(frozen=True)
class Unknown:
    """The variable to solve for: the variable of a loop."""

    name: str
    hidden: frozenset[str]  # names that are not bound before the loop, its variable among them
    positions: Set[str]  # names that stand for positions
    sizes: Set[str]
    before: Facts  # what holds where the solution will be evaluated
    inside: Facts  # what holds where the condition is

    def interval(self, cond: Expr) -> Interval | None:
        """The values that satisfy a comparison; None if that is not known to be an interval."""
        match cond:
            case Binary("<" | "<=" | ">" | ">=" | "==" as op, left, right) if left.dtype == i64:
                if op.startswith(">"):
                    left, right = right, left
            case _:
                return None
        extrema = sum(isinstance(node, Binary) and node.op in ("min", "max") for node in walk((left, right)))
        if extrema > _MOST_EXTREMA or not self.is_exact(left, right):
            return None
        rising = forms(sub(right, left), upper=True)  # each of them is zero or more
        if op == "==":
            rising += forms(sub(left, right), upper=True)
        slack: Linear = {None: 1} if op in ("<", ">") else {}
        lows: list[Expr] = []
        highs: list[Expr] = []
        for form in rising:
            form = self.without_quotient(added(form, slack, -1))
            factor = form.pop(Var(self.name), 0)
            if factor == 0 or not self.is_known_before(form):
                return None
            quotient = _quotient(form, abs(factor))
            if factor > 0:
                lows.append(expression(_times(quotient, -1)))
            else:
                highs.append(expression(added(quotient, {None: 1}, 1)))
        return Interval(tuple(lows), tuple(highs))

    def residue(self, cond: Expr) -> Residue | None:
        """The class of the values that satisfy floormod(..) == c; None if that is not known to be one."""
        match cond:
            case (
                Binary("==", Binary("floormod" | "truncmod" as op, top, modulus), Const(value=int(remainder)))
                | Binary("==", Const(value=int(remainder)), Binary("floormod" | "truncmod" as op, top, modulus))
            ):
                pass
            case _:
                return None
        if op == "truncmod" and remainder and not self.is_natural(top):
            return None
        if (found := self.linear(top, modulus)) is None:
            return None
        factor, form = found
        match modulus:
            case Const(value=int(period)) if 0 <= remainder < period and gcd(factor, period) == 1:
                inverse = factor if abs(factor) == 1 else pow(factor, -1, period)
            case _ if remainder == 0 and abs(factor) == 1 and self.is_period(modulus):
                inverse = factor
            case _:
                return None
        target = _times(added({None: remainder}, form, -1), inverse)
        return Residue(modulus, expression(target), top, remainder == 0) if self.size(target) <= _LARGEST else None

    def linear(self, expr: Expr, nonzero: Expr) -> tuple[int, Linear] | None:
        """The factor of the variable in `expr`, and the rest, which is known before the loop where `nonzero` is."""
        if expr.dtype != i64 or not self.is_exact(expr):
            return None
        (form, *others) = forms(expr, upper=True)
        factor = form.pop(Var(self.name), 0)
        return None if others or factor == 0 or not self.is_known_before(form, nonzero) else (factor, form)

    # --- what may be solved

    def is_exact(self, *exprs: Expr) -> bool:
        """Is no sum in the expressions, as far as `forms` takes them apart, too large for i64?"""
        return sum(map(self.reach, exprs)) <= _LARGEST

    def is_natural(self, expr: Expr) -> bool:
        return self.inside.is_nonnegative(expr)

    def is_period(self, modulus: Expr) -> bool:
        """Is it positive wherever a division by it does not trap?"""
        is_known = self.hidden.isdisjoint(variables(modulus))
        is_size = isinstance(modulus, Var) and modulus.name in self.sizes
        return is_known and self.reach(modulus) <= _POSITION and (is_size or self.before.is_positive(modulus))

    def is_known_before(self, form: Linear, nonzero: Expr | None = None) -> bool:
        """May the form be evaluated before the loop, without wrapping?"""
        atoms = [atom for atom in form if atom is not None and form[atom]]
        names = variables(tuple(atoms))
        facts = self.before if nonzero is None else self.before.under(Binary("!=", nonzero, Const(0)))
        return not names & self.hidden and self.size(form) <= _LARGEST and all(is_total(atom, facts) for atom in atoms)

    def reach(self, expr: Expr) -> int:
        """No part of `expr`, as far as `forms` takes it apart, is further from zero."""
        match expr:
            case Const(int(value)):
                return abs(value)
            case Unary("-", arg):
                return self.reach(arg)
            case Binary("+" | "-" | "min" | "max", left, right):
                return self.reach(left) + self.reach(right)
            case Binary("*", Const(int(factor)), arg) | Binary("*", arg, Const(int(factor))):
                return max(abs(factor), 1) * self.reach(arg)
            case Binary("floordiv" | "truncdiv", top, _):
                return max(self.reach(top), self.farthest(expr))
        return self.farthest(expr)

    def farthest(self, atom: Expr) -> int:
        """The atom is no further from zero."""
        is_outside = self.hidden.isdisjoint(variables(atom))
        low, high = (self.before if is_outside else self.inside).range(atom)
        most = max(abs(low), abs(high))
        return min(most, _POSITION) if is_position(atom, self.positions) else most

    def size(self, form: Linear) -> int:
        """The form is no further from zero."""
        return sum(abs(factor) * (1 if atom is None else self.farthest(atom)) for atom, factor in form.items())

    def without_quotient(self, form: Linear) -> Linear:
        """A form that is never negative where `form` is not, and nowhere else, without a quotient of the variable."""
        for atom, factor in form.items():
            if atom is None or abs(factor) != 1 or self.name not in variables(atom):
                continue
            match atom:
                case Binary("floordiv" | "truncdiv" as op, top, divisor):
                    tops = forms(top, upper=True)
                    is_divisor = self.is_period(divisor) and self.before.is_nonzero(divisor)
                    if len(tops) > 1 or not is_divisor or (op == "truncdiv" and not self.is_natural(top)):
                        break
                    rest = {a: f for a, f in form.items() if a != atom}
                    if factor < 0:  # top / d <= rest is top < (rest + 1) * d
                        rest = added(rest, {None: 1}, 1)
                    return added(added(_scaled(rest, divisor), tops[0], factor), {None: 1}, -1 if factor < 0 else 0)
        return form


def is_position(expr: Expr, positions: Set[str]) -> bool:
    """Is it computed from positions alone, and factors that are not large?"""

    def is_part(node: Expr) -> bool:
        match node:
            case Const(value=value):
                return abs(value) <= _FACTOR
            case Var(name):
                return name in positions
            case Unary("-"):
                return True
        return isinstance(node, Binary) and node.op in _ARITHMETIC

    return all(map(is_part, walk(expr)))


def is_total(expr: Expr, facts: Facts, *, loads: bool = False) -> bool:
    """Whether it may be evaluated, or not evaluated, at will where `facts` hold; with `loads`, not evaluated."""

    def is_free(node: Expr) -> bool:
        match node:
            case Call(pure=pure):
                return pure
            case Load():
                return loads
            case Binary(op, _, divisor) if op in DIVISIONS:
                return is_total_operation(node) or facts.is_nonzero(divisor)
        return is_total_operation(node)

    return all(map(is_free, walk(expr)))


def expression(form: Linear) -> Expr:
    """The form as an expression: what is subtracted after what is added, the constant last."""
    constant = form.get(None, 0)
    terms = [(factor, atom) for atom, factor in form.items() if atom is not None and factor]
    plus = [atom if factor == 1 else mul(atom, factor) for factor, atom in terms if factor > 0]
    minus = [atom if factor == -1 else mul(atom, -factor) for factor, atom in terms if factor < 0]
    if not terms:
        return Const(constant)
    if not plus and not constant:
        return Unary("-", add(*minus))
    if not plus:
        plus, constant = [Const(constant)], 0
    total = binary("-", add(*plus), *minus)
    return add(total, constant) if constant > 0 else sub(total, -constant) if constant < 0 else total


def _quotient(form: Linear, divisor: int) -> Linear:
    """The form divided, rounded down."""
    if divisor == 1:
        return form
    constant = constant_of(form)
    return {floordiv(expression(form), divisor): 1} if constant is None else {None: constant // divisor}


def _times(form: Linear, factor: int) -> Linear:
    return added({}, form, factor)


def _scaled(form: Linear, divisor: Expr) -> Linear:
    """The form times a constant or a variable."""
    if isinstance(divisor, Const):
        return _times(form, int(divisor.value))
    return {divisor if atom is None else mul(atom, divisor): factor for atom, factor in form.items()}
