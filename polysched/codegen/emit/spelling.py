"""Spells the expressions of the loop IR in a language of the C family, as its Dialect says.

    Binary("+", Binary("*", i, n), j)           ->     i * n + j
    Binary("*", x, y), both i8                  ->     (int8_t)(x * y)
    Binary("min", a, b), both f64               ->     min_f64(a, b)

Exact: integers narrower than C's int and f16 are brought back to their type after each operation.
Parentheses stand where the meaning needs them, and where gcc would warn without.
"""

from __future__ import annotations

import math

import numpy as np

from polysched.codegen.emit import helpers
from polysched.codegen.emit.dialect import Dialect
from polysched.codegen.emit.gcc.dot_rows import DOT_HELPERS
from polysched.codegen.emit.gcc.minus_zero import FUNCTIONS, is_at_risk
from polysched.codegen.emit.launch.census import Census, is_count, is_data, is_not_zero
from polysched.codegen.emit.names import MATH, RESERVED, Names
from polysched.errors import PolyschedError
from polysched.ir.dtypes import ALL, DType, f16, f32, f64, i32, i64, u16, u64
from polysched.ir.nodes import (
    ALIGNED,
    COMPARISONS,
    DIVISIONS,
    LOGICAL,
    SHUFFLE,
    Binary,
    Call,
    Cast,
    Const,
    Expr,
    Function,
    Load,
    Select,
    Unary,
    Var,
)

# How tightly the operators of C bind; a wider number binds tighter.
BINDING = {
    "||": 4,
    "&&": 5,
    "|": 6,
    "^": 7,
    "&": 8,
    **dict.fromkeys(("==", "!="), 9),
    **dict.fromkeys(("<", "<=", ">", ">="), 10),
    **dict.fromkeys(("<<", ">>"), 11),
    **dict.fromkeys(("+", "-"), 12),
    **dict.fromkeys(("*", "/", "truncdiv", "truncmod"), 13),
}
_SELECT, UNARY, PRIMARY = 3, 14, 15
_SPELLING = {"truncdiv": "/", "truncmod": "%"}
_LEAVES_RANGE = frozenset({"+", "-", "*", "/", "<<", "truncdiv"})  # on a narrow type, C's result may not fit it
_OVERFLOWS = frozenset({"+", "-", "*"})
_INDEX_BITS = 58  # of index arithmetic, as the passes over it assume


class Speller:
    """Spells the expressions of one text, and collects what they need before them."""

    def __init__(self, fn: Function, dialect: Dialect, census: Census | None = None):
        self.fn, self.dialect = fn, dialect
        self.census = census or Census(fn)
        self.names = Names(RESERVED | dialect.reserved | helpers.NAMES | self.census.called)
        self.includes = {"stdint.h"}
        self.helpers: set[tuple[str, DType]] = set()
        self.instructions: set[str] = set()  # tensor instructions
        self.externals: set[str] = set()
        self.variables: set[str] = set()  # arrays of rank 0 that are plain local variables
        self.factors: list[Expr] = []  # of the ends of the loops around, which run only where none of these is zero
        self.data, self.counts = self.census.data, self.census.counts

    def type(self, dtype: DType) -> str:
        if dtype.kind == "b":
            self.includes.add("stdbool.h")
        return self.dialect.types[dtype.name]

    def expr(self, expr: Expr, outer: int = 0) -> str:
        """The text of an expression, in parentheses where it binds less tightly than `outer`."""
        text, binding = self.spell(expr)
        return f"({text})" if binding < outer else text

    def spell(self, expr: Expr) -> tuple[str, int]:
        """The text of an expression, and how tightly it binds."""
        match expr:
            case Const(value, dtype):
                text = self.constant(value, dtype)
                return text, UNARY if text.startswith(("-", "(")) else PRIMARY
            case Var(name, _):
                return self.names(name), PRIMARY
            case Load(array, index, _):
                return self.element(array, index), PRIMARY
            case Unary(op, arg):
                return self.unary(op, arg)
            case Binary():
                return self.binary(expr)
            case Select(cond, then, other):
                texts = self.expr(cond, _SELECT + 1), self.expr(then), self.expr(other, _SELECT)
                return "{} ? {} : {}".format(*texts), _SELECT
            case Call():
                return self.call(expr)
            case Cast(arg, dtype):
                return self.cast(arg, dtype)
        raise TypeError(f"unknown expression {type(expr).__name__}")

    def element(self, array: str, index: tuple[Expr, ...]) -> str:
        if len(index) > 1:
            raise PolyschedError(f"{self.fn.name}: {array} has {len(index)} subscripts; run the pass `linearize` first")
        if array in self.variables:
            return self.names(array)
        return f"{self.names(array)}[{self.expr(index[0]) if index else 0}]"

    def unary(self, op: str, arg: Expr) -> tuple[str, int]:
        dtype = arg.dtype
        if op == "-" and self.overflows(arg):
            return self.unsigned(dtype, f"0 - {self.as_unsigned(arg)}")
        operand = f"(float){self.expr(arg, UNARY)}" if dtype == f16 else self.expr(arg, UNARY)
        text = f"{op}({operand})" if operand.startswith("-") else f"{op}{operand}"
        return self.fitted(text, dtype, UNARY) if is_narrow(dtype) and op != "!" else (text, UNARY)

    def binary(self, expr: Binary) -> tuple[str, int]:
        op, left, right, dtype = expr.op, expr.left, expr.right, expr.left.dtype
        if op in ("floordiv", "floormod") and (cheaper := self.division(expr)):
            return cheaper
        may_be_zero = not is_not_zero(right, self.counts) and right not in self.factors
        is_told = op in DIVISIONS and self.dialect.zero_divisor and may_be_zero
        if self.dialect.hides_zeros and is_at_risk(expr):
            return f"{self.helper(FUNCTIONS[op], dtype)}({self.expr(left)}, {self.expr(right)})", PRIMARY
        if op not in BINDING or (op in _SPELLING and self.may_be_minus_one(right)):
            texts = self.expr(left), self.told(right) if is_told else self.expr(right)
            return f"{self.helper(op, self.computed_in(expr))}({', '.join(texts)})", PRIMARY
        if op in _OVERFLOWS and self.overflows(expr):
            return self.unsigned(dtype, f"{self.as_unsigned(left)} {op} {self.as_unsigned(right)}")
        binding, (outer_left, outer_right) = BINDING[op], _operand_bindings(expr)
        first = self.operand(left, outer_left)
        second = self.told(right) if is_told else self.operand(right, outer_right)
        wide = self.is_wide(left) or (op not in ("<<", ">>") and self.is_wide(right))
        if dtype in (i64, u64) and op not in COMPARISONS and not wide and self.computed_in(expr) == dtype:
            first = f"({self.type(dtype)}){self.expr(left, UNARY)}"  # or C would compute in int
        text = f"{first} {_SPELLING.get(op, op)} {second}"
        return self.fitted(text, dtype, binding) if op in _LEAVES_RANGE else (text, binding)

    def computed_in(self, expr: Expr) -> DType:
        """The type of the text of this expression; `INDEX` for index arithmetic in templates."""
        return expr.dtype

    def is_wide(self, expr: Expr) -> bool:
        """Has the text of this i64 or u64 expression 64 bits? One of small constants alone has those of an int."""
        match expr:
            case Const(value, dtype):
                return dtype.kind == "u" or not -(1 << 31) < value < 1 << 31
            case Unary(_, arg):
                return self.is_wide(arg)
            case Binary("min" | "max" | "floordiv" | "floormod"):
                return True
            case Binary(op, left, _) if op in ("<<", ">>"):
                return self.is_wide(left)
            case Select(_, then, other):
                return self.is_wide(then) or self.is_wide(other)
        return True

    def helper(self, op: str, dtype: DType) -> str:
        """The name of what computes `op`, which C has no operator for."""
        self.helpers.add((op, dtype))
        return helpers.name_of(op, dtype)

    def operand(self, expr: Expr, outer: int) -> str:
        return f"(float){self.expr(expr, UNARY)}" if expr.dtype == f16 else self.expr(expr, outer)

    def fitted(self, text: str, dtype: DType, binding: int) -> tuple[str, int]:
        """The result of an operation, brought back to its type if C has computed it in a wider one."""
        if not is_narrow(dtype):
            return text, binding
        return f"({self.type(dtype)}){text if binding >= UNARY else f'({text})'}", UNARY

    def division(self, expr: Binary) -> tuple[str, int] | None:
        """Division towards minus infinity where C has an operator for it: unsigned, or by a power of two."""
        op, left, right = expr.op, expr.left, expr.right
        if expr.dtype.kind == "u":
            return self.binary(Binary("truncdiv" if op == "floordiv" else "truncmod", left, right))
        match right:
            case Const(int(value), dtype) if value > 0 and value & (value - 1) == 0:
                shift, mask = Const(value.bit_length() - 1, dtype), Const(value - 1, dtype)
                return self.binary(Binary(">>", left, shift) if op == "floordiv" else Binary("&", left, mask))
        return None

    def overflows(self, expr: Expr) -> bool:
        """Must this operation on integers be spelled unsigned, so that it wraps?

        Arithmetic on loop variables and sizes alone is that of subscripts and bounds, which stays in range; and so does
        what adds converted integers of fewer bits to it.
        """
        if self.dialect.signed_wraps or expr.dtype not in (i32, i64, u16):  # C computes u16 in int
            return False
        return expr.dtype != i64 or self.magnitude(expr) >= expr.dtype.bits

    def magnitude(self, expr: Expr) -> int:
        """Bits that hold the absolute value of an i64, as far as is known: 64 for anything."""
        if isinstance(expr, Const):
            return int(expr.value).bit_length()
        if not is_data(expr, self.data):
            return _INDEX_BITS
        match expr:
            case Cast(arg, _) if arg.dtype.kind in "iub":
                return arg.dtype.bits
            case Binary("+" | "-", left, right):
                return max(self.magnitude(left), self.magnitude(right)) + 1
            case Binary("*", left, right):
                return self.magnitude(left) + self.magnitude(right)
            case Binary("min" | "max", left, right):
                return max(self.magnitude(left), self.magnitude(right))
            case Unary("-", arg):
                return self.magnitude(arg)
        return 64

    def as_unsigned(self, expr: Expr) -> str:
        bits = max(expr.dtype.bits, 32)
        match expr:
            case Const(int(value)) if value >= 0:
                return self.constant(value, ALL[f"u{bits}"])
            case Binary("+" | "-" | "*" as op, left, right) if expr.dtype.bits == bits and self.overflows(expr):
                return f"({self.as_unsigned(left)} {op} {self.as_unsigned(right)})"
        return f"({self.type(ALL[f'u{bits}'])}){self.expr(expr, UNARY)}"

    def unsigned(self, dtype: DType, text: str) -> tuple[str, int]:
        return f"({self.type(dtype)})({text})", UNARY

    def may_be_minus_one(self, divisor: Expr) -> bool:
        """Could the division by this divisor overflow? Not if it is another constant, a count, or unsigned."""
        if isinstance(divisor, Const):
            return divisor.value == -1
        return divisor.dtype.kind == "i" and not self.is_count(divisor)

    def told(self, divisor: Expr) -> str:
        """The divisor, or 1 where it is zero, which must not end the process, and a variable of the text tells of."""
        return f"{self.helper('divisor', divisor.dtype)}({self.expr(divisor)})"

    def is_count(self, expr: Expr) -> bool:
        """Is it certain not to be negative?"""
        return expr.dtype == i64 and is_count(expr, self.counts)

    def call(self, expr: Call) -> tuple[str, int]:
        """A function of the C library, in the version for the dtype; any other name is the user's function."""
        if expr.fn == SHUFFLE and self.dialect.shuffle:
            value, distance = (self.expr(arg) for arg in expr.args)
            return self.fitted(self.dialect.shuffle.format(value=value, distance=distance), expr.dtype, PRIMARY)
        if expr.fn == ALIGNED:
            first, size = expr.args
            assert isinstance(first, Load)
            return f"(uintptr_t){self.names(first.array)} % {self.expr(size)} == 0", BINDING["=="]
        if expr.fn in DOT_HELPERS:
            return f"{self.helper(DOT_HELPERS[expr.fn], expr.dtype)}({', '.join(map(self.expr, expr.args))})", PRIMARY
        if not is_in_library(expr):
            if not self.dialect.external:
                raise PolyschedError(f"{self.fn.name}: {self.dialect.name} has no {expr.fn}, a function of the user's")
            types = ", ".join(self.type(arg.dtype) for arg in expr.args)
            self.externals.add(f"{self.dialect.external} {self.type(expr.dtype)} {expr.fn}({types or 'void'});")
            return f"{expr.fn}({', '.join(self.expr(arg) for arg in expr.args)})", PRIMARY
        self.includes.add("math.h")
        name = expr.fn if expr.dtype == f64 else f"{expr.fn}{self.dialect.float_suffix}"
        text = f"{name}({', '.join(self.operand(arg, 0) for arg in expr.args)})"
        return self.fitted(text, expr.dtype, PRIMARY)

    def cast(self, arg: Expr, dtype: DType) -> tuple[str, int]:
        if arg.dtype == dtype:
            return self.spell(arg)
        text = self.expr(arg, UNARY)
        # Through float, which holds all of f16 and every integer that does not become infinite there.
        if f16 in (arg.dtype, dtype) and f64 != arg.dtype and f32 not in (arg.dtype, dtype):
            text = f"(float){text}"
        return f"({self.type(dtype)}){text}", UNARY

    def constant(self, value: int | float | bool, dtype: DType) -> str:
        if dtype.is_float:
            return self.float_constant(float(value), dtype)
        if dtype.kind == "b":
            self.includes.add("stdbool.h")
            return "true" if value else "false"
        if dtype.kind == "i":
            is_least = dtype.bits >= 32 and value == -(1 << dtype.bits - 1)  # whose absolute value has another type
            return self.dialect.least[dtype.name] if is_least else str(int(value))
        return f"{int(value)}{self.dialect.suffixes.get(dtype.name, '')}"

    def float_constant(self, value: float, dtype: DType) -> str:
        """The shortest text that reads back as the same number."""
        if not math.isfinite(value):
            self.includes.add("math.h")
            text = "NAN" if math.isnan(value) else "INFINITY" if value > 0 else "-INFINITY"
            return text if dtype != f16 else f"({self.type(dtype)}){text}"
        if dtype == f64:
            return repr(value)
        with np.errstate(over="ignore"):
            rounded = np.float32(value) if dtype == f32 else np.float32(np.float16(value))
        if not np.isfinite(rounded):
            return self.float_constant(float(rounded), dtype)
        digits = str(rounded)
        text = f"{digits}f" if "." in digits or "e" in digits else f"{digits}.0f"
        return text if dtype == f32 else f"({self.type(dtype)}){text}"


def _operand_bindings(expr: Binary) -> tuple[int, int]:
    """How tightly the operands must bind to need no parentheses; gcc wants more of them than C does."""
    op, own = expr.op, BINDING[expr.op]
    if op in ("&", "|", "^", "<<", ">>"):
        return UNARY, UNARY
    if op in LOGICAL:  # associative, left to right whatever the grouping; no && in an || without parentheses
        left, right = (isinstance(operand, Binary) and operand.op == op for operand in (expr.left, expr.right))
        return own if left else BINDING["|"], own if right else BINDING["|"]
    if op in COMPARISONS:
        return BINDING["<<"], BINDING["<<"]
    return own, own + 1


def is_in_library(call: Call) -> bool:
    """Is it a function of the C library, which CUDA has too?"""
    return call.fn in MATH and call.dtype.is_float


def is_narrow(dtype: DType) -> bool:
    """Does C compute this type in a wider one?"""
    return dtype.bits < 32
