"""The scalar types of the loop IR, and how a user spells arrays of them: `ps.f64["n", "n"]`.

Type checkers want a type in front: `Annotated[np.ndarray, ps.f64["n", "n"]]`, `Annotated[float, ps.f64]`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np


@dataclass(frozen=True)
class ArrayType:
    """The type of an array parameter: `shape` holds size names, integers, or affine texts such as "n + 1"."""

    dtype: DType
    shape: tuple[str | int, ...]


@dataclass(frozen=True, eq=False)
class DType:
    """A scalar type. `kind` is "f" (float), "i" (signed), "u" (unsigned) or "b" (bool); `bits` is its width. There is
    one of each name: they are compared all the time."""

    name: str
    kind: str
    bits: int

    def __getitem__(self, shape: str | int | tuple[str | int, ...]) -> ArrayType:
        return ArrayType(self, shape if isinstance(shape, tuple) else (shape,))

    def __call__(self, number: Any) -> Any:
        """The number as a numpy scalar of this type, wrapped or rounded: what a Cast makes of it."""
        return np.asarray(number).astype(self.numpy)[()]

    def nearest(self, number: float) -> float:
        """The value of this float type that is nearest to the number: rounded once, infinite, as numpy may warn, where
        it is too large."""
        return float(_FLOATS[self.bits](number))

    def __str__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[Any, ...]:
        return named, (self.name,)

    @property
    def is_float(self) -> bool:
        return self.kind == "f"

    @property
    def is_integer(self) -> bool:
        return self.kind in "iu"

    @property
    def numpy(self) -> str:
        """The name numpy gives this type: float64, int32, bool, ..."""
        return "bool" if self.kind == "b" else {"f": "float", "i": "int", "u": "uint"}[self.kind] + str(self.bits)


_FLOATS: dict[int, Callable[[float], Any]] = {64: float, 32: np.float32, 16: np.float16}

f64, f32, f16 = DType("f64", "f", 64), DType("f32", "f", 32), DType("f16", "f", 16)
i8, i16, i32, i64 = (DType(f"i{bits}", "i", bits) for bits in (8, 16, 32, 64))
u8, u16, u32, u64 = (DType(f"u{bits}", "u", bits) for bits in (8, 16, 32, 64))
boolean = DType("bool", "b", 8)

ALL: dict[str, DType] = {t.name: t for t in (f64, f32, f16, i8, i16, i32, i64, u8, u16, u32, u64, boolean)}


def named(name: str) -> DType:
    return ALL[name]


@dataclass(frozen=True)
class Size:
    """The type of a size parameter, a positive or zero i64 that array shapes may name."""

    def __str__(self) -> str:
        return "size"


if TYPE_CHECKING:
    size: TypeAlias = int  # so that type checkers take `n: ps.size` as it is used
else:
    size = Size()
