"""C expressions of constants: of all pairs of types, where C defines what they are.

(double)(float)(int)16777217        (unsigned)4294967295u >> (signed char)3        x_i8[2] % (long)7
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from polysched.ir import arithmetic
from polysched.ir.dtypes import ALL, DType, f32, f64, i32

TYPES = {
    "bool": "_Bool", "i8": "signed char", "u8": "unsigned char", "i16": "short", "u16": "unsigned short", "i32": "int",
    "u32": "unsigned", "i64": "long", "u64": "unsigned long", "f32": "float", "f64": "double",
}  # fmt: skip
TEXTS = {
    "bool": "0 1",
    "i8": "-128 -1 0 3 127",
    "u8": "0 1 200 255",
    "i16": "-32768 -7 300 32767",
    "u16": "0 40000 65535",
    "i32": "(-2147483647-1) -1 0 5 16777217 2147483647",
    "u32": "0u 3u 16777219u 4294967295u",
    "i64": "(-9223372036854775807l-1) -1l 7l 9007199254740993l 9223372036854775807l",
    "u64": "0ul 9ul 9223373136366403585ul 18446744073709551615ul",
    "f32": "0.1f -0.0f 1e-45f 3.4028235e38f 16777216.f -7.5f",
    "f64": "0.1 -0.0 5e-324 1e-46 1.7e308 9007199254740993. -7.5",
}
OPERATORS = ("+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", "<", "<=", ">", ">=", "==", "!=", "&&", "||")


@dataclass(frozen=True)
class Constant:
    dtype: DType
    text: str
    loaded: str  # the same as an element of an array x_dtype

    @property
    def value(self) -> int | float:
        text = self.text.replace("f", "") if self.dtype.is_float else self.text.replace("u", "").replace("l", "")
        return self.dtype.nearest(float(text)) if self.dtype.is_float else int(eval(text))

    @property
    def cast(self) -> str:
        return f"({TYPES[self.dtype.name]}){self.text}"


CONSTANTS = [
    Constant(ALL[name], text, f"x_{name}[{k}]") for name in TYPES for k, text in enumerate(TEXTS[name].split())
]
Case = tuple[str, DType]  # an expression, and the type of what it is stored to


def converted(value: int | float, source: DType, target: DType) -> int | float | None:
    """The value in another type; None where C does not define it."""
    try:
        with np.errstate(over="ignore"):
            return arithmetic.cast(source, target)(value)
    except OverflowError:
        return None


def casts() -> Iterator[Case]:
    """Every constant in every type, and from there in every other."""
    for constant, name in itertools.product(CONSTANTS, TYPES):
        once = converted(constant.value, constant.dtype, ALL[name])
        if once is None:
            continue
        text = f"({TYPES[name]}){constant.cast}"
        yield text, f64
        for other in TYPES:
            if converted(once, ALL[name], ALL[other]) is not None:
                yield f"({TYPES[other]}){text}", f64
                yield text, ALL[other]


def binaries() -> Iterator[Case]:
    for left, right, op in itertools.product(CONSTANTS, CONSTANTS, OPERATORS):
        target = _type_of(op, left, right)
        if target is not None:
            for one, other in itertools.product((left.cast, left.loaded), (right.cast, right.loaded)):
                yield f"{one} {op} {other}", f64 if target == f32 else target


def unaries() -> Iterator[Case]:
    for constant in CONSTANTS:
        whole = _promoted(constant.dtype)
        for operand, op in itertools.product((constant.cast, constant.loaded), ("-", "+", "!", "~", "!!", "- -", "-~")):
            if not (constant.dtype.is_float and "~" in op):
                yield f"{op}{operand}", f64
                yield f"{op}{operand}", f32 if whole.is_float else whole
        for operand, name in itertools.product((constant.cast, constant.loaded), TYPES):
            yield f"{operand} ? {operand} : ({TYPES[name]})1", f64
            yield f"{operand} > ({TYPES[name]})1 ? {operand} : ({TYPES[name]})1", f64


def _promoted(dtype: DType) -> DType:
    return i32 if dtype.bits < 32 else dtype


def _common(one: DType, other: DType) -> DType:
    """C's usual arithmetic conversions."""
    one, other = sorted((_promoted(one), _promoted(other)), key=lambda dtype: (dtype.is_float, dtype.bits, dtype.name))
    return other  # of one rank, u32 and u64 sort behind i32 and i64


def _type_of(op: str, left: Constant, right: Constant) -> DType | None:
    """The type of left op right; None where C does not define it."""
    floats = left.dtype.is_float or right.dtype.is_float
    if floats and op in ("%", "&", "|", "^", "<<", ">>"):
        return None
    if op in ("<<", ">>"):
        return _promoted(left.dtype) if 0 <= right.value < _promoted(left.dtype).bits else None
    common = _common(left.dtype, right.dtype)
    if op in ("/", "%") and not common.is_float:
        one, other = converted(left.value, left.dtype, common), converted(right.value, right.dtype, common)
        if other == 0 or (other == -1 and one == -(1 << common.bits - 1)):
            return None
    return i32 if op[0] in "<>=!" or op in ("&&", "||") else common


def program(cases: list[Case]) -> tuple[str, dict[str, np.ndarray]]:
    """A function `k` that stores all of them, and its arguments in order; what it stores is in those called o_."""
    counts: Counter[str] = Counter()
    lines: list[str] = []
    for text, dtype in cases:
        lines.append(f"o_{dtype}[{counts[dtype.name]}] = {text};")
        counts[dtype.name] += 1
    body = "\n".join(lines)
    given = {f"o_{name}": np.zeros(count, ALL[name].numpy) for name, count in counts.items()}
    for name in TYPES:
        if f"x_{name}[" in body:
            values = [constant.value for constant in CONSTANTS if constant.dtype.name == name]
            given[f"x_{name}"] = np.array(values, ALL[name].numpy)
    params = ", ".join(f"{TYPES[name[2:]]} {name}[{array.size}]" for name, array in given.items())
    return f"void k({params})\n{{\n#pragma scop\n{body}\n#pragma endscop\n}}\n", given


def is_same(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """To the bit, element by element, but for the bits of NaNs."""
    are_nan = (one != one) & (other != other)
    signs = np.signbit(one) == np.signbit(other) if one.dtype.kind == "f" else True
    return are_nan | ((one == other) & signs)


assert all(math.isfinite(constant.value) for constant in CONSTANTS)
