"""Which dtype an operation on mixed dtypes has: the rules of NumPy 2 (NEP 50).

    i32 + i64 -> i64     u32 + i32 -> i64     f32 + i16 -> f32     f32 + i32 -> f64     u64 + i64 -> f64
    f32 + 1.5 -> f32     i8 + 1 -> i8         i8 + 1.5 -> f64      a Python number is weak: only its kind counts
"""

from __future__ import annotations

from dataclasses import dataclass

from polysched.ir.dtypes import ALL, DType, boolean, f64, i64


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
