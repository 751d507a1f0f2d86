"""Python's operators on arrays and numbers: kinds of operations, and NumPy's dtypes.

binary(emit, "+", a, 1)        %v = BinaryType::Add(%a, %one)
binary(emit, "%", x, 2.5)      %m = BinaryType::Fmod(%x, %y), and %m + %y where their signs differ
compared(emit, "<", a, b)      %v = BinaryType::Lt(%a, %b) : boolean
"""

from __future__ import annotations

from dataclasses import replace

from polysched.config.heuristics.nest import POWER_FACTORS
from polysched.errors import InputError
from polysched.frontend.arithmetic import a, common, weak_float
from polysched.frontend.op.emit import Emitter, Operand, common_type, fresh, type_of
from polysched.frontend.op.memory import Ref
from polysched.ir.dtypes import DType, boolean, f16, f32, i8

KINDS = {
    "+": "Add",
    "-": "Sub",
    "*": "Mul",
    "/": "Div",
    "//": "FloorDiv",
    "%": "Mod",
    "&": "And",
    "|": "Or",
    "^": "Xor",
    "<<": "Shl",
    ">>": "Shr",
}
COMPARED = {"==": "Eq", "!=": "Ne", "<": "Lt", "<=": "Le", ">": "Gt", ">=": "Ge"}
_INTEGERS_ONLY = ("&", "|", "^", "<<", ">>")
_OF_BOOLS = {"+": "Or", "*": "And", "&": "And", "|": "Or", "^": "Xor"}


def binary(emit: Emitter, op: str, left: Operand, right: Operand) -> Ref:
    """`op` is one of + - * / // % ** & | ^ << >>."""
    is_weak = type_of(left).weak and type_of(right).weak
    return replace(_binary(emit, op, left, right), weak=is_weak)


def _binary(emit: Emitter, op: str, left: Operand, right: Operand) -> Ref:
    both = (left, right)
    dtype = common_type(both).dtype
    if op == "**":
        return _power(emit, left, right, dtype)
    if op == "/":
        return emit.elementwise("BinaryType::Div", both, common(common_type(both), weak_float).dtype)
    if dtype == boolean:
        if op not in _OF_BOOLS:
            raise InputError(f"'{op}' cannot be applied to bools", None, "convert them, as in x.astype(ps.i32)")
        return emit.elementwise(f"BinaryType::{_OF_BOOLS[op]}", both, boolean)
    if op in ("//", "%") and dtype.is_float:
        wide = f32 if dtype == f16 else dtype  # as NumPy, which rounds to f16 once
        x, y = (cast(emit, cast(emit, operand, dtype), wide) for operand in both)
        return cast(emit, _floored(emit, op, x, y), dtype)
    if op in _INTEGERS_ONLY and not dtype.is_integer:
        raise InputError(f"'{op}' needs integers, not {a(common_type(both))}", None, "convert it with astype")
    return emit.elementwise(f"BinaryType::{KINDS[op]}", both, dtype)


def compared(emit: Emitter, op: str, left: Operand, right: Operand) -> Ref:
    return emit.elementwise(f"BinaryType::{COMPARED[op]}", (left, right), common_type((left, right)).dtype, boolean)


def unary(emit: Emitter, op: str, value: Ref) -> Ref:
    """`op` is one of - + ~."""
    match op:
        case "+":
            return emit.copy(value)
        case "-" if value.dtype == boolean:
            raise InputError("'-' cannot be applied to bools", None, "write ~x")
        case "-":
            return replace(emit.elementwise("UnaryType::Neg", [value], value.dtype), weak=value.weak)
        case "~" if not value.dtype.is_float:
            return emit.elementwise("UnaryType::Not", [value], value.dtype)
    raise InputError(f"'{op}' needs integers or bools, not {a(value.type)}", None, "convert it with astype")


def cast(emit: Emitter, value: Operand, dtype: DType) -> Ref:
    """The value in a dtype: the array itself if it has it."""
    if isinstance(value, Ref) and value.dtype == dtype:
        return value
    return fresh(emit.in_dtype(value, dtype))


def where(emit: Emitter, cond: Operand, then: Operand, other: Operand) -> Ref:
    dtype = common_type((then, other)).dtype
    shape = emit.together((cond, then, other))
    values = [emit.in_dtype(cond, boolean), emit.in_dtype(then, dtype), emit.in_dtype(other, dtype)]
    return emit.result("Select", values, dtype, shape)


def extremum(emit: Emitter, name: str, left: Operand, right: Operand) -> Ref:
    dtype = common_type((left, right)).dtype
    kind = ("And" if name == "minimum" else "Or") if dtype == boolean else ("Min" if name == "minimum" else "Max")
    return emit.elementwise(f"BinaryType::{kind}", (left, right), dtype)


def _floored(emit: Emitter, op: str, x: Ref, y: Ref) -> Ref:
    """// and % of floats: the remainder has the divisor's sign, and what it leaves of x is divided exactly.

    A remainder of zero has the divisor's sign, too, and a quotient of zero that of x / y.
    """
    rest = emit.elementwise("BinaryType::Fmod", (x, y), x.dtype)
    signs_differ = compared(emit, "!=", compared(emit, "<", y, 0), compared(emit, "<", rest, 0))
    is_off = binary(emit, "&", compared(emit, "!=", rest, 0), signs_differ)
    if op == "%":
        return _signed(emit, where(emit, is_off, binary(emit, "+", rest, y), rest), y)
    quotient = binary(emit, "/", binary(emit, "-", x, rest), y)
    nearest = emit.elementwise("UnaryType::Rint", [quotient], x.dtype)
    exact = where(emit, is_off, binary(emit, "-", nearest, 1), nearest)
    whole = binary(emit, "/", x, y)
    return where(emit, compared(emit, "==", y, 0), whole, _signed(emit, exact, whole))


def _signed(emit: Emitter, value: Ref, like: Ref) -> Ref:
    """The value; a zero has the other's sign."""
    signed = emit.elementwise("BinaryType::Copysign", (value, like), value.dtype)
    return where(emit, compared(emit, "==", value, 0), signed, value)


def _power(emit: Emitter, base: Operand, exponent: Operand, dtype: DType) -> Ref:
    is_square = isinstance(base, Ref) and base.rank and type(exponent) is int and exponent == 2
    if dtype == boolean or (is_square and type_of(base).dtype == boolean):
        dtype = i8
    match exponent:
        case bool():
            pass
        case int() if dtype.is_integer and exponent < 0:
            hint = "convert them first, as in x.astype(ps.f64) ** -1"
            raise InputError("integers have no negative powers", None, hint)
        case int() if dtype.is_integer and isinstance(base, Ref):
            return _product(emit, cast(emit, base, dtype), exponent)
        case float() if exponent == 0.5 and dtype.is_float:
            return emit.elementwise("UnaryType::Sqrt", [base], dtype)
        case int() | float() if exponent in range(2, POWER_FACTORS + 1) and isinstance(base, Ref):
            return _product(emit, cast(emit, base, dtype), int(exponent))
    if not dtype.is_float:
        hint = "write a product, or x.astype(ps.f64) ** y"
        raise InputError("a power of integers needs a number as its exponent", None, hint)
    return emit.elementwise("BinaryType::Pow", (base, exponent), dtype)


def _product(emit: Emitter, base: Ref, factors: int) -> Ref:
    """A power, from the left where it is small, else by squaring."""
    if factors == 0:
        return fresh(emit.constant(1, base.dtype, base.shape))
    if factors == 1:
        return emit.copy(base)
    if factors <= POWER_FACTORS:
        return binary(emit, "*", _product(emit, base, factors - 1), base)
    half = _product(emit, base, factors // 2)
    whole = binary(emit, "*", half, half)
    return binary(emit, "*", whole, base) if factors % 2 else whole
