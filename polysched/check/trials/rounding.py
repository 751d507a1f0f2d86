"""How far results may be from each other that are rounded in another order: a bound of each element, by the terms.

    s[0] = s[0] + a[i] * b[i]       ->      s_size[0] = s_size[0] + a_size[i] * b_size[i]
                                            s_depth[0] = max(s_depth[0], a_depth[i] + b_depth[i] + u) + u
                                            s_reach[0] = max(s_reach[0], a_reach[i] + b_reach[i])
                                            s[0] = s[0] + a[i] * b[i]

`size` is the same expression of absolute values, `depth` the largest number of roundings on a way from a term to the
result, each times the unit roundoff u of its type. Whatever the order of the terms, the computed value is within
gamma * size of the exact one, gamma = depth / (1 - depth), which is gamma_k = k u / (1 - k u) where there is one type
(Higham, Accuracy and Stability of Numerical Algorithms, 2nd edition, lemma 3.1 and, for sums, section 4.2). Two
computed values are within twice that of each other. A function f of x is taken to change by |f'(x)| times what x does,
and conditions on rounded values to come out alike.

That holds unless a product overflows or underflows on its way. `reach` is the sum of the binary exponents of its
factors, whatever their signs, over the largest exponent of its type: below 1, no product of some of them, in any order,
leaves the type. A factor of zero counts as one of 1, so that inf * 0 is seen where one order has a 0 first.

A tensor instruction may cut the factors of floats, to 11 digits for tf32: each product is off by twice that cut more.

An infinity is no rounded number: the -inf that a maximum begins with has the size 0. What is computed of one by sums
and maxima is an infinity again in every order.

Sums and products of whole numbers are exact in every order while `size` is below 1 / u, or the cut's inverse; of such
data, all bits count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf, isfinite, log
from typing import Any

import numpy as np

from polysched.errors import Loc
from polysched.ir.build import add, binary, const, mul
from polysched.ir.dtypes import DType, f32, f64
from polysched.ir.node import rewrite, walk
from polysched.ir.nodes import (
    COMPARISONS,
    Alloc,
    Binary,
    Call,
    Cast,
    Const,
    Expr,
    Function,
    Let,
    Load,
    Select,
    Stmt,
    Store,
    Unary,
    Var,
)
from polysched.ir.rename import fresh_names, used_names

Names = tuple[str, str, str]  # of the arrays of size, depth and reach
Cuts = Mapping[Loc | None, float]  # by how much each factor of a product in f32 may be less, by statement; None: of all

_DIGITS = {16: 11, 32: 24, 64: 53}  # of a float's significand
_EXPONENTS = {16: 14, 32: 126, 64: 1022}  # the largest of normal numbers and their inverses
_LIBRARY = 8  # roundings that a function of the library is taken to be worth; of GPUs', most are within 2, pow within 8


def is_whole(nest: Function) -> bool:
    """Are the results for whole numbers whole, and the same in every order while they are small?"""
    for node in walk(nest.body):
        match node:
            case Binary("/", _, _) | Call():
                return False
            case Const(float() as value, _) if not value.is_integer():
                return False
    return not decides_by_floats(nest)


def decides_by_floats(nest: Function) -> bool:
    """May another rounding change more than the last bits, by a comparison or a cast to integers?"""
    for node in walk(nest.body):
        match node:
            case Binary(op, left, _) if op in COMPARISONS and left.dtype.is_float:
                return True
            case Cast(arg, dtype) if arg.dtype.is_float and not dtype.is_float:
                return True
    return False


def has_contractions(kernel: Function) -> bool:
    """May there be an a * b + c of floats?"""
    ops = {node.op for node in walk(kernel.body) if isinstance(node, Binary) and node.dtype.is_float}
    return "*" in ops and not ops.isdisjoint("+-")


def calls_of_constants(kernel: Function) -> bool:
    """Is a function of the library called with constants? Compilers round those right, the library not always."""
    calls = (node for node in walk(kernel.body) if isinstance(node, Call) and node.fn in _SLOPES.keys() - _RIGHT)
    return any(all(isinstance(arg, Const) for arg in call.args) for call in calls)


def with_bounds(nest: Function, cuts: Cuts | None = None) -> tuple[Function, dict[str, Names]]:
    """The nest that computes `size`, `depth` and `reach` beside each float array, in arrays of their own, and the names
    of these."""
    beside = _Beside(nest, used_names(nest), cuts or {})
    body = rewrite(nest.body, beside.stmt)
    floats = [array for array in nest.arrays if array.dtype.is_float]
    arrays = [replace(array, name=name, dtype=f64) for array in floats for name in beside.names(array.name)]
    params = (*nest.params, *(array.name for array in arrays)) if nest.params else ()
    found = {array.name: beside.names(array.name) for array in floats}
    return replace(nest, arrays=(*nest.arrays, *arrays), body=body, params=params), found


def at_first(names: Mapping[str, Names], arguments: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """The arrays of these names before the nest runs: data is as it is given."""
    given: dict[str, np.ndarray] = {}
    for array, (size, depth, reach) in names.items():
        values = np.asarray(np.abs(arguments[array]), np.float64)
        given[size] = np.where(np.isfinite(values), values, 0.0)
        given[depth] = np.zeros(values.shape)
        normal = np.where(np.isfinite(values) & (values > 0), values, 1.0)
        given[reach] = np.asarray(np.abs(np.log2(normal)) / _EXPONENTS[8 * arguments[array].itemsize])
    return given


def tolerance(
    dtype: DType,
    size: np.ndarray,
    depth: np.ndarray,
    reach: np.ndarray | float = 0.0,
    *,
    exact: bool,
    cut: float = 0.0,
) -> np.ndarray:
    """How far each element may be from that of another order; with `exact`, of whole numbers, zero while they are
    small."""
    unit = max(_unit(dtype), cut)
    with np.errstate(all="ignore"):
        gamma = np.where(depth < 1, depth / (1 - depth), np.inf)
        bound = np.where(depth > 0, 2 * gamma * size + float(np.finfo(dtype.numpy).smallest_subnormal), 0.0)
    if exact:
        bound = np.where(size * unit <= 1, 0.0, bound)
    may_overflow = (depth > 0) & ~(np.asarray(reach) < 1)
    return np.where(np.isnan(bound) | may_overflow, np.inf, bound)


def _unit(dtype: DType) -> float:
    return 2.0 ** -_DIGITS[dtype.bits]


@dataclass
class _Beside:
    """Makes what is computed beside each statement."""

    nest: Function
    taken: set[str]
    cuts: Cuts
    cut: float = 0.0  # in the statement that it is at
    known: dict[str, Names] = field(default_factory=dict)

    def names(self, name: str) -> Names:
        """What stands for the size, the depth and the reach of a name."""
        if name not in self.known:
            stems = (f"{name}_{what}" for what in ("size", "depth", "reach"))
            size, depth, reach = (next(fresh_names(stem, self.taken)) for stem in stems)
            self.known[name] = size, depth, reach
        return self.known[name]

    def stmt(self, stmt: Any) -> tuple[Stmt, ...] | None:
        match stmt:
            case Store(array, index, value) if value.dtype.is_float:
                self.cut = max(self.cuts.get(None, 0.0), self.cuts.get(stmt.loc, 0.0))
                names = self.names(array)
                return (*(Store(name, index, beside) for name, beside in zip(names, self.of(value), strict=True)), stmt)
            case Let(name, value) if value.dtype.is_float:
                self.cut = max(self.cuts.values(), default=0.0)  # it may be part of any statement
                return (*map(Let, self.names(name), self.of(value)), stmt)
            case Alloc(array) if array.dtype.is_float:
                return (*(Alloc(replace(array, name=name, dtype=f64)) for name in self.names(array.name)), stmt)
        return None

    def of(self, value: Expr) -> Iterator[Expr]:
        """Its size, depth and reach."""
        return (self.figure(which, value) for which in (_SIZE, _DEPTH, _REACH))

    def figure(self, which: int, expr: Expr) -> Expr:
        """One of them, which is that of what the expression passes on, or else made of those of its operands."""
        of = partial(self.figure, which)
        match expr:
            case Load(array, index, dtype) if dtype.is_float:
                return Load(self.names(array)[which], index, f64)
            case Var(name, dtype) if dtype.is_float and expr not in self.nest.scalars:
                return Var(self.names(name)[which], f64)
            case Unary("-", arg) | Call("fabs", (arg,)):
                return of(arg)
            case Select(cond, then, other):
                return Select(cond, of(then), of(other))
        return (_size, self.depth, _reach)[which](expr, of)

    def depth(self, expr: Expr, of: Callable[[Expr], Expr]) -> Expr:
        """The roundings on the longest way from a term to the value, times u."""
        rounding = _unit(expr.dtype) if expr.dtype.is_float else 0.0
        unit = const(rounding, f64)
        match expr:
            case Binary("+" | "-", left, right):
                return add(binary("max", of(left), of(right)), unit)
            case Binary("*", left, right):
                cut = 2 * self.cut if expr.dtype == f32 else 0.0
                return add(of(left), of(right), const(rounding + cut, f64))
            case Binary("/", left, right):  # which may become a product with the inverse
                return add(of(left), of(right), unit, unit)
            case Binary("min" | "max", left, right):
                return binary("max", of(left), of(right))
            case Cast(arg, _):
                return add(of(arg), unit)
            case Call(_, args):
                return add(mul(unit, float(_LIBRARY)), *map(of, args))
        return const(0.0, f64)


_SIZE, _DEPTH, _REACH = range(3)


def _size(expr: Expr, of: Callable[[Expr], Expr]) -> Expr:
    """The sum of the absolute values of the terms, as f64."""
    match expr:
        case Const(float() as value, _) if not isfinite(value):
            return const(0.0, f64)
        case Binary("+" | "-", left, right):
            return add(of(left), of(right))
        case Binary("*", left, right):
            return mul(of(left), of(right))
        case Binary("/", left, right):
            divisor = _abs(right)
            return mul(of(left), Binary("/", add(divisor, of(right)), mul(divisor, divisor)))
        case Binary("min" | "max", left, right):
            return binary("max", of(left), of(right))
        case Cast(arg, _) if arg.dtype.is_float:
            return of(arg)
        case Call("fma", (one, other, term)):
            return add(mul(of(one), of(other)), of(term))
        case Call(fn, args):
            slopes = _SLOPES.get(fn, _unknown)([_wide(arg) for arg in args], _abs(expr))
            return add(_abs(expr), *map(mul, slopes, map(of, args)))
    return _abs(expr)


def _reach(expr: Expr, of: Callable[[Expr], Expr]) -> Expr:
    """The exponents of the factors, over the largest of the type."""
    match expr:
        case Binary("*" | "/", left, right):
            return add(of(left), of(right))
        case Binary("+" | "-" | "min" | "max", left, right):
            return binary("max", of(left), of(right))
        case Cast(arg, dtype) if arg.dtype.is_float:
            return mul(of(arg), max(1.0, _EXPONENTS[arg.dtype.bits] / _EXPONENTS[dtype.bits]))
        case Call("fma", (one, other, term)):
            return binary("max", add(of(one), of(other)), of(term))
        case Call(_, args):
            return binary("max", _exponent(expr), *map(of, args))
    return _exponent(expr)


_RIGHT = frozenset({"sqrt", "fmin", "fmax", "copysign"})  # which libraries round right


def _wide(expr: Expr) -> Expr:
    return expr if expr.dtype == f64 else Cast(expr, f64)


def _exponent(expr: Expr) -> Expr:
    """Of a value, over the largest of its type; 0 of zero."""
    if not expr.dtype.is_float:
        return const(0.0, f64)
    most = _EXPONENTS[expr.dtype.bits] * log(2.0)
    if isinstance(expr, Const):
        return const(abs(log(abs(expr.value))) / most if expr.value and isfinite(expr.value) else 0.0, f64)
    logarithm = Call("fabs", (Call("log", (_abs(expr),), f64),), f64)
    return Select(Binary("==", _abs(expr), const(0.0, f64)), const(0.0, f64), mul(logarithm, 1.0 / most))


def _abs(expr: Expr) -> Expr:
    if isinstance(expr, Const):
        return const(abs(float(expr.value)), f64)
    return Call("fabs", (_wide(expr),), f64)


Slopes = Callable[[list[Expr], Expr], list[Expr]]  # of the arguments and the absolute value of the result


def _constant(*values: float) -> Slopes:
    return lambda args, result: [const(value, f64) for value in values]


def _of_result(factor: float, more: float = 0.0) -> Slopes:
    return lambda args, result: [add(mul(result, factor), more)]


def _inverse(factor: float, offset: float = 0.0) -> Slopes:
    return lambda args, result: [Binary("/", const(factor, f64), _abs(add(args[0], offset)))]


def _of_power(args: list[Expr], result: Expr) -> list[Expr]:
    base, exponent = args
    of_base = Binary("/", mul(_abs(exponent), result), _abs(base))
    return [of_base, mul(result, _abs(Call("log", (_abs(base),), f64)))]


def _unknown(args: list[Expr], result: Expr) -> list[Expr]:
    """As of what jumps: nothing is known where arguments are rounded."""
    return [const(inf, f64) for _ in args]


_SLOPES: dict[str, Slopes] = {  # absolute values of derivatives, or more
    **dict.fromkeys(("sin", "cos", "tanh", "atan"), _constant(1.0)),
    **dict.fromkeys(("erf", "erfc"), _constant(1.2)),
    **dict.fromkeys(("fmin", "fmax", "hypot", "copysign"), _constant(1.0, 1.0)),
    "exp": _of_result(1.0),
    "exp2": _of_result(0.7),
    **dict.fromkeys(("expm1", "sinh"), _of_result(1.0, 1.0)),
    "cosh": _of_result(1.0),
    "log": _inverse(1.0),
    "log2": _inverse(1.5),
    "log10": _inverse(0.5),
    "log1p": _inverse(1.0, 1.0),
    "sqrt": lambda args, result: [Binary("/", const(0.5, f64), result)],
    "pow": _of_power,
}
