"""C's scalar types as those of the loop IR, on the machine that libclang parses for.

    unsigned char -> u8     long -> i64     enum -> u32     float -> f32     _Bool -> bool     long double -> none
"""

from __future__ import annotations

from clang.cindex import Type, TypeKind

from polysched.ir.dtypes import ALL, DType, boolean, f32, f64, i32, i64
from polysched.ir.nodes import Binary, Const, Expr

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


def least(dtype: DType) -> int:
    return -(1 << dtype.bits - 1) if dtype.kind == "i" else 0


def greatest(dtype: DType) -> int:
    """The greatest value of an integer type."""
    if dtype.kind == "b":
        return 1
    return (1 << dtype.bits - (dtype.kind == "i")) - 1


def within(expr: Expr, dtype: DType) -> tuple[Expr, Expr]:
    """What holds if the integer, an i64, fits in the type."""
    high = min(greatest(dtype), greatest(i64))
    return Binary(">=", expr, Const(least(dtype))), Binary("<=", expr, Const(high))


def holds(target: DType, source: DType) -> bool:
    """Does the integer type have all values of the other?"""
    return least(target) <= least(source) and greatest(source) <= greatest(target)
