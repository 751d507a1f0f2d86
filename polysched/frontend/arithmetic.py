"""Operators, functions and conversions of typed values, as NumPy 2 computes them; every Cast becomes explicit.

    binary("/", a[i]: f32, 2: weak)     ->     a[i] / 2.0f32
    binary("+", a[i]: i8, b[i]: i16)    ->     i16(a[i]) + b[i]

Operators go by their Python names. Small powers are products: x ** 2 -> x * x, up to x ** 4. A function of floats is
computed in the dtype of its arguments, in f64 for integers. An InputError from here names no place; callers know it.

Which dtype an operation on mixed dtypes has (NEP 50):

    i32 + i64 -> i64     u32 + i32 -> i64     f32 + i16 -> f32     f32 + i32 -> f64     u64 + i64 -> f64
    f32 + 1.5 -> f32     i8 + 1 -> i8         i8 + 1.5 -> f64      a Python number is weak: only its kind counts
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce

from polysched.errors import InputError
from polysched.ir.dtypes import ALL, DType, boolean, f64, i64
from polysched.ir.nodes import COMPARISONS, Binary, Call, Cast, Const, Expr, Select, Unary


@dataclass(frozen=True)
class Type:
    """A dtype; `weak` for what Python computes with its own bool, int and float (literals, sizes, loop variables)."""

    dtype: DType
    weak: bool = False

    def __str__(self) -> str:
        return self.dtype.name


def common(left: Type, right: Type) -> Type:
    """The type in which NumPy computes with a `left` and a `right`."""
    if left.weak == right.weak:
        return Type(promote(left.dtype, right.dtype), left.weak)
    weak, strong = (left, right) if left.weak else (right, left)
    return strong if _rank(weak.dtype) <= _rank(strong.dtype) else Type(weak.dtype)


def promote(left: DType, right: DType) -> DType:
    """The least dtype that holds both; where none does, as for u64 and i64, f64."""
    low, high = sorted((left, right), key=lambda dtype: (_rank(dtype), dtype.bits, dtype.kind))
    match low.kind, high.kind:
        case ("b", _) | ("f", "f") | ("i", "i") | ("u", "u"):
            return high
        case ("i" | "u", "f"):
            return ALL[f"f{min(max(high.bits, 2 * low.bits), 64)}"]
        case ("i", "u") | ("u", "i"):
            signed, unsigned = (low, high) if low.kind == "i" else (high, low)
            bits = max(signed.bits, 2 * unsigned.bits)
            return ALL[f"i{bits}"] if bits <= 64 else f64
    raise TypeError(f"no common dtype of {left} and {right}")


def fits(value: int, dtype: DType) -> bool:
    """Whether an integer dtype has this value."""
    sign = 1 << (dtype.bits - 1)
    return -sign <= value < sign if dtype.kind == "i" else 0 <= value < 2 * sign


def _rank(dtype: DType) -> int:
    return {"b": 0, "i": 1, "u": 1, "f": 2}[dtype.kind]


weak_bool, weak_int, weak_float = (Type(dtype, weak=True) for dtype in (boolean, i64, f64))


# C's functions of floats, by the number of their arguments.
_OF_ONE = """sqrt cbrt exp exp2 expm1 log log2 log10 log1p erf erfc lgamma tgamma
    sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh"""
FUNCTIONS_OF_ONE = frozenset(_OF_ONE.split())
ROUNDINGS = frozenset({"floor", "ceil", "trunc", "rint"})
FUNCTIONS_OF_TWO = frozenset({"atan2", "hypot", "copysign"})
FLOAT_FUNCTIONS = {
    **dict.fromkeys(FUNCTIONS_OF_ONE | ROUNDINGS | {"fabs"}, 1),
    **dict.fromkeys(FUNCTIONS_OF_TWO | {"fmin", "fmax", "fmod", "pow"}, 2),
    "fma": 3,
}


@dataclass(frozen=True)
class Typed:
    """An expression, and whether Python would compute it with its own numbers."""

    expr: Expr
    weak: bool = False

    @property
    def type(self) -> Type:
        return Type(self.expr.dtype, self.weak)


def unary(op: str, value: Typed) -> Typed:
    """`op` is - + or ~."""
    if op == "~":
        if not value.type.dtype.is_integer:
            raise InputError(f"'~' needs an integer, not {a(value.type)}", None, "write not x for a bool")
        return Typed(Unary("~", value.expr), value.weak)
    target = _arithmetic_type(op, (value,))
    expr = converted(value, target.dtype)
    match expr:
        case _ if op == "+":
            return Typed(expr, target.weak)
        case Const(number, dtype) if target.weak:  # a negative literal
            return Typed(Const(-number, dtype), weak=True)
    return Typed(Unary("-", expr), target.weak)


def binary(op: str, left: Typed, right: Typed) -> Typed:
    """`op` is one of + - * / // % ** & | ^ << >>."""
    both = (left, right)
    match op:
        case "+" | "-" | "*":
            return _applied(op, both, _arithmetic_type(op, both))
        case "/":
            return _applied(op, both, common(common(left.type, right.type), weak_float))
        case "//":
            return _applied("floordiv", both, _integer_type(op, both, "write floor(x / y)"))
        case "%":
            return _applied("floormod", both, _integer_type(op, both, "write x - floor(x / y) * y"))
        case "**":
            return power(left, right)
        case "&" | "|" | "^" if left.type.dtype == right.type.dtype == boolean:
            logical = {"&": "&&", "|": "||", "^": "!="}[op]
            return Typed(Binary(logical, left.expr, right.expr), left.weak and right.weak)
        case "&" | "|" | "^" | "<<" | ">>":
            target = _integer_type(op, both, "convert it, as in int(x)")
            if op in ("&", "|", "^"):
                return _applied(op, both, target)
            return Typed(shifted(op, *(converted(value, target.dtype) for value in both)), target.weak)
    raise InputError(f"the operator '{op}' cannot be in a nest", None, "write its loops")


def shifted(op: str, value: Expr, count: Expr) -> Expr:
    """value << count or value >> count for any count: by the width or more, or by less than 0, no digit is left."""
    dtype, bits = value.dtype, value.dtype.bits
    gone = Const(0, dtype) if op == "<<" or dtype.kind == "u" else Binary(">>", value, Const(bits - 1, dtype))
    if isinstance(count, Const):
        return Binary(op, value, count) if 0 <= count.value < bits else gone
    is_less = Binary("<", count, Const(bits, dtype))
    is_within = is_less if dtype.kind == "u" else Binary("&&", Binary(">=", count, Const(0, dtype)), is_less)
    return Select(is_within, Binary(op, value, Binary("&", count, Const(bits - 1, dtype))), gone)


def power(base: Typed, exponent: Typed) -> Typed:
    target = _arithmetic_type("**", (base, exponent))
    match exponent:
        case Typed(Const(2 | 3 | 4 as factors, dtype), weak=True) if dtype == i64:
            return _applied("*", [base] * int(factors), _arithmetic_type("**", (base,)))
    if target.dtype.is_integer:
        hint = "write a product, or float(x) ** y"
        raise InputError("a power of integers needs 2, 3 or 4 as its exponent", None, hint)
    return function("pow", (base, exponent))


def extremum(op: str, values: Sequence[Typed]) -> Typed:
    """The least or the greatest of the values; `op` is min or max."""
    return _applied(op, values, _arithmetic_type(op, values))


def absolute(value: Typed) -> Typed:
    target = _arithmetic_type("abs", (value,))
    expr = converted(value, target.dtype)
    match target.dtype.kind:
        case "f":
            return Typed(Call("fabs", (expr,), target.dtype), target.weak)
        case "i":
            return Typed(Binary("max", expr, Unary("-", expr)), target.weak)
    return Typed(expr, target.weak)


def function(name: str, args: Sequence[Typed]) -> Typed:
    target = reduce(common, (arg.type for arg in args), weak_float)
    return Typed(Call(name, tuple(converted(arg, target.dtype) for arg in args), target.dtype), target.weak)


def comparison(op: str, left: Typed, right: Typed) -> Typed:
    assert op in COMPARISONS
    dtype = common(left.type, right.type).dtype
    if dtype.is_integer and not (isinstance(left.expr, Const) or isinstance(right.expr, Const)):
        # A loop variable may not fit in the dtype of an element that it is compared with.
        dtype = promote(left.type.dtype, right.type.dtype)
    return Typed(Binary(op, converted(left, dtype), converted(right, dtype)), left.weak and right.weak)


def select(cond: Expr, then: Typed, other: Typed) -> Typed:
    target = common(then.type, other.type)
    return Typed(Select(cond, converted(then, target.dtype), converted(other, target.dtype)), target.weak)


def converted(value: Typed, dtype: DType) -> Expr:
    """The value in a dtype; InputError for an integer literal that does not fit, as in NumPy."""
    match value.expr:
        case Const(int(number)) if value.weak and dtype.is_integer and not fits(number, dtype):
            raise InputError(f"{number} does not fit in {dtype}", None, "use a wider dtype")
    return cast(value, dtype)


def cast(value: Typed, dtype: DType) -> Expr:
    """The value in a dtype; an integer that does not fit wraps."""
    expr = value.expr
    match expr:
        case _ if expr.dtype == dtype:
            return expr
        case _ if dtype == boolean:
            return Binary("!=", expr, Const(0.0 if expr.dtype.is_float else 0, expr.dtype))
        case Const(number) if value.weak and dtype.is_float:
            return Const(float(number), dtype)
        case Const(int(number)) if value.weak and fits(number, dtype):
            return Const(int(number), dtype)
    return Cast(expr, dtype)


def a(kind: Type) -> str:
    """The type with its article, for messages."""
    return f"{'an' if kind.dtype.kind in 'fi' else 'a'} {kind}"


def counted(number: int, noun: str) -> str:
    """So many of them, for messages."""
    return f"{number} {noun if number == 1 else {'index': 'indices'}.get(noun, f'{noun}s')}"


def _applied(op: str, values: Iterable[Typed], target: Type) -> Typed:
    """The operator between the values in the target type, from the left."""
    operands = [converted(value, target.dtype) for value in values]
    return Typed(reduce(lambda left, right: Binary(op, left, right), operands), target.weak)


def _arithmetic_type(op: str, values: Iterable[Typed]) -> Type:
    """The common type; Python's own bools count as integers."""
    target = reduce(common, (value.type for value in values))
    if target == weak_bool:
        return weak_int
    if target.dtype == boolean:
        raise InputError(f"'{op}' cannot be applied to bools", None, "convert them, as in int(x)")
    return target


def _integer_type(op: str, values: Iterable[Typed], hint: str) -> Type:
    target = _arithmetic_type(op, values)
    if not target.dtype.is_integer:
        raise InputError(f"'{op}' needs integers, not {a(target)}", None, hint)
    return target
