"""Integer expressions as sums of multiples of what cannot be taken apart.

    forms(min(n, 2 * i + 3), upper=True)    ->    [{n: 1}, {i: 2, None: 3}]     none of which it exceeds
"""

from __future__ import annotations

from polysched.ir.build import add, binary, mul
from polysched.ir.nodes import Binary, Const, Expr, Unary

Linear = dict[Expr | None, int]  # factors of what is not taken apart; the constant is under None
_MOST_FORMS = 64  # of one expression: a sum of n minima would have 2^n


def forms(expr: Expr, upper: bool) -> list[Linear]:
    """Linear forms none of which `expr` exceeds (`upper`), or falls below; it equals one of them if they differ by
    min or max alone. What has very many is not taken apart."""
    found = _forms(expr, upper)
    return found if len(found) <= _MOST_FORMS else [{expr: 1}]


def _forms(expr: Expr, upper: bool) -> list[Linear]:
    match expr:
        case Const(int(value)):
            return [{None: value}]
        case Unary("-", arg):
            return [added({}, form, -1) for form in forms(arg, not upper)]
        case Binary("+", left, right):
            return [added(a, b, 1) for a in forms(left, upper) for b in forms(right, upper)]
        case Binary("-", left, right):
            return [added(a, b, -1) for a in forms(left, upper) for b in forms(right, not upper)]
        case Binary("*", Const(int(factor)), arg) | Binary("*", arg, Const(int(factor))):
            return [added({}, form, factor) for form in forms(arg, upper == (factor >= 0))]
        case Binary("min" | "max" as op, left, right) if (op == "min") == upper:
            return [*forms(left, upper), *forms(right, upper)]
    return [{expr: 1}]


def added(one: Linear, other: Linear, factor: int) -> Linear:
    """one + factor * other"""
    return {atom: one.get(atom, 0) + factor * other.get(atom, 0) for atom in {**one, **other}}


def difference(left: Expr, right: Expr) -> Linear | None:
    """left - right, without zeros; None if there are minima or maxima in them."""
    (one, *more), (other, *others) = forms(left, upper=True), forms(right, upper=True)
    return None if more or others else {a: f for a, f in added(one, other, -1).items() if f}


def expression(form: Linear) -> Expr:
    """The form as an expression, its constant last."""
    terms = [atom if factor == 1 else mul(atom, factor) for atom, factor in form.items() if atom is not None and factor]
    constant = form.get(None, 0)
    return add(*terms, constant) if constant or not terms else add(*terms)


def never_negative(form: Linear) -> Expr:
    """The condition that the form is zero or more, without factors below zero: {n: 1, i: -4, None: -1} is
    n >= 4 * i + 1, and {i: -4, None: 7} is i <= 1."""
    match [(atom, factor) for atom, factor in form.items() if atom is not None and factor]:
        case [(atom, factor)]:
            constant = form.get(None, 0)
            return binary(">=", atom, -(constant // factor)) if factor > 0 else binary("<=", atom, constant // -factor)
    above = {atom: factor for atom, factor in form.items() if factor > 0}
    below = {atom: -factor for atom, factor in form.items() if factor < 0}
    return binary(">=", expression(above), expression(below))


def constant_of(form: Linear) -> int | None:
    """Its value, if it is a constant."""
    return None if any(factor for atom, factor in form.items() if atom is not None) else form.get(None, 0)


def is_never_negative(form: Linear) -> bool:
    """Is it a constant of zero or more?"""
    constant = constant_of(form)
    return constant is not None and constant >= 0


def cleared(form: Linear) -> Linear:
    """A form that is zero or more wherever `form` is, and nowhere else, without quotients where it has one of them:
    n / 4 - i >= 0 is n - 4 * i >= 0."""
    form = {atom: factor for atom, factor in form.items() if factor}
    for atom, factor in form.items():
        match atom:
            case Binary("floordiv" | "truncdiv", above, Const(int(below))) if abs(factor) == 1 and below > 0:
                tops = forms(above, upper=True)
                if len(tops) == 1:  # isl divides what is negative by floordiv alone
                    rest = {a: f for a, f in form.items() if a != atom}
                    scaled = added({None: 0 if factor > 0 else below - 1}, rest, below)
                    return cleared(added(scaled, tops[0], factor))
    return form
