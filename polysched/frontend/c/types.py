"""C's scalar types as those of the loop IR, on the machine that libclang parses for; its conversions and operators.

    unsigned char -> u8     long -> i64     enum -> u32     float -> f32     _Bool -> bool     long double -> none

The operands of operators already have the types that C computes in.
"""

from __future__ import annotations

from clang.cindex import Type, TypeKind

from polysched.frontend.arithmetic import Typed, cast
from polysched.ir.dtypes import ALL, DType, boolean, f32, f64, i32, i64
from polysched.ir.integers import intervals
from polysched.ir.integers.intervals import whole
from polysched.ir.nodes import Binary, Const, Expr, Select

_SIGNED = frozenset(getattr(TypeKind, name) for name in ["CHAR_S", "SCHAR", "SHORT", "INT", "LONG", "LONGLONG"])
_UNSIGNED = frozenset(getattr(TypeKind, name) for name in ["CHAR_U", "UCHAR", "USHORT", "UINT", "ULONG", "ULONGLONG"])


def dtype_of(kind: Type) -> DType | None:
    """The dtype of a scalar type; None for pointers, structures, and numbers that a nest cannot hold."""
    canonical = kind.get_canonical()
    match canonical.kind:
        case TypeKind.DOUBLE:
            return f64
        case TypeKind.FLOAT:
            return f32
        case TypeKind.BOOL:
            return boolean
        case TypeKind.ENUM:
            return dtype_of(canonical.get_declaration().enum_type)
        case signed if signed in _SIGNED:
            return ALL[f"i{8 * canonical.get_size()}"]
        case unsigned if unsigned in _UNSIGNED:
            return ALL[f"u{8 * canonical.get_size()}"]
    return None


def promoted(dtype: DType) -> DType:
    """The integer promotion: what C computes a narrow type in."""
    return i32 if dtype == boolean or (dtype.is_integer and dtype.bits < 32) else dtype


def greatest(dtype: DType) -> int:
    return whole(dtype)[1]


def within(expr: Expr, dtype: DType) -> tuple[Expr, Expr]:
    """What holds if the integer, an i64, fits in the type."""
    low, high = whole(dtype)
    return Binary(">=", expr, Const(low)), Binary("<=", expr, Const(min(high, greatest(i64))))


def holds(target: DType, source: DType) -> bool:
    """Does the integer type have all values of the other?"""
    return intervals.holds(target, whole(source))


def may_alias(one: DType, other: DType) -> bool:
    """C's rule of effective types: equal but for the sign, or characters."""
    return one.bits == 8 or other.bits == 8 or (one.bits == other.bits and one.is_float == other.is_float)


def converted(expr: Expr, dtype: DType) -> Expr:
    """The value in another C type."""
    is_small = isinstance(expr, Const) and abs(expr.value) <= 1 << 53
    return cast(Typed(expr, weak=is_small), dtype)


def arithmetic(op: str, left: Expr, right: Expr) -> Expr:
    """C's operator on operands of one dtype; the count of a shift may have another."""
    if op in ("<<", ">>"):
        return Binary(op, left, converted(right, left.dtype))
    if left.dtype.is_integer:
        op = {"/": "truncdiv", "%": "truncmod"}.get(op, op)
    return Binary(op, left, right)


def chosen(cond: Expr, then: Expr, other: Expr) -> Expr:
    """cond ? then : other, as min or max where it is one to the bit: x <= y differs for a NaN."""
    match cond:
        case Binary("<", x, y) | Binary(">", y, x):
            pass
        case (Binary("<=", x, y) | Binary(">=", y, x)) if x.dtype.is_integer:
            pass
        case _:
            return Select(cond, then, other)
    if (then, other) == (x, y):
        return Binary("min", y, x)
    return Binary("max", x, y) if (then, other) == (y, x) else Select(cond, then, other)
