"""What an element-wise operation computes of one element of each operand, in the loop IR.

scalar("BinaryType::Add", (a[i], b[i]), f32)     ->     a[i] + b[i]
scalar("SpecFunc::Relu", (a[i],), f32)           ->     max(a[i], 0.0f32)
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from polysched.frontend.arithmetic import FLOAT_FUNCTIONS, Typed, absolute, shifted
from polysched.frontend.op.numpy.operators import COMPARED
from polysched.ir.dtypes import DType, boolean
from polysched.ir.nodes import Binary, Call, Const, Expr, Select, Unary

SPECIAL = frozenset({"relu", "sigmoid", "silu", "softplus", "gelu", "rsqrt"})


def scalar(kind: str, args: Sequence[Expr], dtype: DType) -> Expr:
    """The result's element; the arguments have the dtype that it is computed in, and `dtype` is the result's."""
    group, _, name = kind.partition("::")
    match group, name:
        case "BinaryType", _ if name in _BINARY:
            return Binary(_BINARY[name], *args)
        case "BinaryType", "Shl" | "Shr":
            return shifted("<<" if name == "Shl" else ">>", *args)
        case "BinaryType", "And" | "Or" | "Xor":
            return Binary((_LOGICAL if args[0].dtype == boolean else _BITWISE)[name], *args)
        case "BinaryType", "Fmod" if dtype.is_integer:
            return Binary("truncmod", *args)
        case "BinaryType" | "UnaryType", _ if name.lower() in FLOAT_FUNCTIONS:
            return Call(name.lower(), tuple(args), dtype)
        case "UnaryType", "Neg":
            return Unary("-", args[0])
        case "UnaryType", "Not":
            return Unary("!" if args[0].dtype == boolean else "~", args[0])
        case "UnaryType", "Abs":
            return args[0] if dtype == boolean else absolute(Typed(args[0])).expr
        case "UnaryType", "Sign":
            return _sign(args[0], dtype)
        case "SpecFunc", _:
            return _special(name, args[0], dtype)
    raise TypeError(f"unknown element-wise operation {kind}")


def is_nan(value: Expr) -> Expr:
    return Binary("!=", value, value)


def _sign(x: Expr, dtype: DType) -> Expr:
    """-1, 1, or x itself, which is zero or NaN."""
    zero, one = _number(0, dtype), _number(1, dtype)
    negative = Select(Binary("<", x, zero), _number(-1, dtype), x) if dtype.kind != "u" else x
    return Select(Binary(">", x, zero), one, negative)


def _special(name: str, x: Expr, dtype: DType) -> Expr:
    zero, one = _number(0, dtype), _number(1, dtype)
    match name:
        case "Relu":
            return Binary("max", x, zero)
        case "Sigmoid":
            return Binary("/", one, Binary("+", one, Call("exp", (Unary("-", x),), dtype)))
        case "Silu":
            return Binary("*", x, _special("Sigmoid", x, dtype))
        case "Softplus":
            return Call("log1p", (Call("exp", (x,), dtype),), dtype)
        case "Gelu":
            erf = Call("erf", (Binary("*", x, _number(math.sqrt(0.5), dtype)),), dtype)
            return Binary("*", Binary("*", _number(0.5, dtype), x), Binary("+", one, erf))
        case "Rsqrt":
            return Binary("/", one, Call("sqrt", (x,), dtype))
    raise TypeError(f"unknown special function {name}")


def _number(value: float, dtype: DType) -> Const:
    return Const(float(value) if dtype.is_float else int(value), dtype)


_BINARY = {
    "Add": "+",
    "Sub": "-",
    "Mul": "*",
    "Div": "/",
    "FloorDiv": "floordiv",
    "Mod": "floormod",
    "Min": "min",
    "Max": "max",
    **{kind: symbol for symbol, kind in COMPARED.items()},
}
_LOGICAL = {"And": "&&", "Or": "||", "Xor": "!="}
_BITWISE = {"And": "&", "Or": "|", "Xor": "^"}
