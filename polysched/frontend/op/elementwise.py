"""Element-wise operations of NumPy: kinds, dtypes, and what they compute of scalars.

    binary(emit, "+", a, 1)        %v = BinaryType::Add(%a, %one)
    call(emit, "relu", [a])        %v = SpecFunc::Relu(%a)
    call(emit, "frobnicate", [a])  %v = DeviceCall(%a) {name = frobnicate}: a function that the device knows

`scalar(kind, arguments)` is what an operation computes of one element of each operand.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce

from polysched.errors import InputError
from polysched.frontend.arithmetic import Typed, a, absolute
from polysched.frontend.op.emit import Emitter, Operand, common_type, float_type, type_of
from polysched.frontend.op.memory import Ref
from polysched.frontend.promotion import common, weak_float
from polysched.ir.dtypes import DType, boolean, i8
from polysched.ir.nodes import Binary, Call, Const, Expr, Select, Unary

_SYMBOLS = {
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
_COMPARED = {"==": "Eq", "!=": "Ne", "<": "Lt", "<=": "Le", ">": "Gt", ">=": "Ge"}
_INTEGERS_ONLY = ("//", "%", "&", "|", "^", "<<", ">>")
_OF_BOOLS = {"+": "Or", "*": "And", "&": "And", "|": "Or", "^": "Xor"}


def binary(emit: Emitter, op: str, left: Operand, right: Operand) -> Ref:
    """`op` is one of + - * / // % ** & | ^ << >>."""
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
    if op in _INTEGERS_ONLY and not dtype.is_integer:
        hint = {"//": "write np.floor(x / y)", "%": "write x - np.floor(x / y) * y"}.get(op, "convert it with astype")
        raise InputError(f"'{op}' needs integers, not {a(common_type(both))}", None, hint)
    return emit.elementwise(f"BinaryType::{_SYMBOLS[op]}", both, dtype)


def compared(emit: Emitter, op: str, left: Operand, right: Operand) -> Ref:
    return emit.elementwise(f"BinaryType::{_COMPARED[op]}", (left, right), common_type((left, right)).dtype, boolean)


def unary(emit: Emitter, op: str, value: Ref) -> Ref:
    """`op` is one of - + ~."""
    match op:
        case "+":
            return emit.copy(value)
        case "-" if value.dtype == boolean:
            raise InputError("'-' cannot be applied to bools", None, "write ~x")
        case "-":
            return emit.elementwise("UnaryType::Neg", [value], value.dtype)
        case "~" if not value.dtype.is_float:
            return emit.elementwise("UnaryType::Not", [value], value.dtype)
    raise InputError(f"'{op}' needs integers or bools, not {a(value.type)}", None, "convert it with astype")


def _power(emit: Emitter, base: Operand, exponent: Operand, dtype: DType) -> Ref:
    match exponent:
        case bool():
            pass
        case 2 | 3 | 4 if isinstance(exponent, int | float) and isinstance(base, Ref):
            factors = [cast(emit, base, i8 if dtype == boolean else dtype)] * int(exponent)
            return reduce(lambda left, right: binary(emit, "*", left, right), factors)
        case float() if exponent == 0.5 and dtype.is_float:
            return emit.elementwise("UnaryType::Sqrt", [base], dtype)
    if not dtype.is_float:
        hint = "write a product, or x.astype(ps.f64) ** y"
        raise InputError("a power of integers needs 2, 3 or 4 as its exponent", None, hint)
    return emit.elementwise("BinaryType::Pow", (base, exponent), dtype)


def cast(emit: Emitter, value: Operand, dtype: DType) -> Ref:
    """The value in a dtype: the array itself if it has it."""
    if isinstance(value, Ref) and value.dtype == dtype:
        return value
    from_value = emit.in_dtype(value, dtype)
    return emit.held(from_value)


def where(emit: Emitter, cond: Operand, then: Operand, other: Operand) -> Ref:
    dtype = common_type((then, other)).dtype
    shape = emit.together((cond, then, other))
    values = [emit.in_dtype(cond, boolean), emit.in_dtype(then, dtype), emit.in_dtype(other, dtype)]
    return emit.result("Select", values, dtype, shape)


# --- functions by name


def call(emit: Emitter, name: str, operands: Sequence[Operand]) -> Ref:
    """A function of elements by its NumPy name; one that is not known is the device's."""
    name = _ALIASES.get(name, name)
    if name in _FLOAT_FUNCTIONS:
        _check_count(name, operands, 1)
        return emit.elementwise(f"UnaryType::{_kind(name)}", operands, float_type(operands))
    if name in _FLOAT_FUNCTIONS_OF_TWO:
        _check_count(name, operands, 2)
        return emit.elementwise(f"BinaryType::{_kind(name)}", operands, float_type(operands))
    if name in _ROUNDINGS:
        _check_count(name, operands, 1)
        dtype = type_of(operands[0]).dtype
        if not dtype.is_float:
            return emit.held(emit.in_dtype(operands[0], dtype))
        return emit.elementwise(f"UnaryType::{_kind(name)}", operands, dtype)
    if name in _SPECIAL:
        _check_count(name, operands, 1)
        dtype = common_type(operands).dtype if name == "relu" else float_type(operands)
        return emit.elementwise(f"SpecFunc::{_kind(name)}", operands, dtype)
    if name in _OPERATORS:
        _check_count(name, operands, 2)
        return binary(emit, _OPERATORS[name], operands[0], operands[1])
    if name in _COMPARISONS:
        _check_count(name, operands, 2)
        return compared(emit, _COMPARISONS[name], operands[0], operands[1])
    if name in ("minimum", "maximum"):
        _check_count(name, operands, 2)
        return extremum(emit, name, operands[0], operands[1])
    if name in ("logical_and", "logical_or", "logical_xor"):
        _check_count(name, operands, 2)
        return emit.elementwise(f"BinaryType::{_kind(name.removeprefix('logical_'))}", operands, boolean)
    if name in _OF_ONE:
        _check_count(name, operands, 1)
        return _OF_ONE[name](emit, operands[0])
    dtype, shape = common_type(operands).dtype, emit.together(operands)
    return emit.result("DeviceCall", [emit.in_dtype(one, dtype) for one in operands], dtype, shape, name=name)


def extremum(emit: Emitter, name: str, left: Operand, right: Operand) -> Ref:
    dtype = common_type((left, right)).dtype
    kind = ("And" if name == "minimum" else "Or") if dtype == boolean else ("Min" if name == "minimum" else "Max")
    return emit.elementwise(f"BinaryType::{kind}", (left, right), dtype)


def is_known(name: str) -> bool:
    """Has NumPy, or polysched, an element-wise function of that name?"""
    name = _ALIASES.get(name, name)
    groups = (_FLOAT_FUNCTIONS, _FLOAT_FUNCTIONS_OF_TWO, _ROUNDINGS, _SPECIAL, _OPERATORS, _COMPARISONS, _OF_ONE)
    more = ("minimum", "maximum", "logical_and", "logical_or", "logical_xor")
    return name in more or any(name in group for group in groups)


def _check_count(name: str, operands: Sequence[Operand], wanted: int) -> None:
    if len(operands) != wanted:
        noun = "argument" if wanted == 1 else "arguments"
        raise InputError(f"'{name}' takes {wanted} {noun}, not {len(operands)}", None)


def _absolute(emit: Emitter, value: Operand) -> Ref:
    return emit.elementwise("UnaryType::Abs", [value], type_of(value).dtype)


def _square(emit: Emitter, value: Operand) -> Ref:
    dtype = type_of(value).dtype
    value = cast(emit, value, i8 if dtype == boolean else dtype)
    return binary(emit, "*", value, value)


def _reciprocal(emit: Emitter, value: Operand) -> Ref:
    return binary(emit, "/", 1, value)


def _sign(emit: Emitter, value: Operand) -> Ref:
    return emit.elementwise("UnaryType::Sign", [value], type_of(value).dtype)


def _negative(emit: Emitter, value: Operand) -> Ref:
    return unary(emit, "-", cast(emit, value, type_of(value).dtype))


def _logical_not(emit: Emitter, value: Operand) -> Ref:
    return emit.elementwise("UnaryType::Not", [value], boolean)


def _invert(emit: Emitter, value: Operand) -> Ref:
    return unary(emit, "~", cast(emit, value, type_of(value).dtype))


def _isnan(emit: Emitter, value: Operand) -> Ref:
    return emit.elementwise("BinaryType::Ne", (value, value), type_of(value).dtype, boolean)


_ALIASES = {
    "arcsin": "asin",
    "arccos": "acos",
    "arctan": "atan",
    "arctan2": "atan2",
    "arcsinh": "asinh",
    "arccosh": "acosh",
    "arctanh": "atanh",
    "power": "pow",
    "absolute": "abs",
    "fabs": "abs",
    "mod": "remainder",
    "round": "rint",
}
_FLOAT_FUNCTIONS = frozenset(
    [
        "sqrt",
        "cbrt",
        "exp",
        "exp2",
        "expm1",
        "log",
        "log2",
        "log10",
        "log1p",
        "erf",
        "erfc",
        "sin",
        "cos",
        "tan",
        "asin",
        "acos",
        "atan",
        "sinh",
        "cosh",
        "tanh",
        "asinh",
        "acosh",
        "atanh",
        "lgamma",
        "tgamma",
    ]
)
_FLOAT_FUNCTIONS_OF_TWO = frozenset(["atan2", "fmin", "fmax", "fmod", "hypot", "copysign"])
_ROUNDINGS = frozenset(["floor", "ceil", "trunc", "rint"])
_SPECIAL = frozenset(["relu", "sigmoid", "silu", "softplus", "gelu", "rsqrt"])
_OPERATORS = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "true_divide": "/",
    "floor_divide": "//",
    "remainder": "%",
    "pow": "**",
    "bitwise_and": "&",
    "bitwise_or": "|",
    "bitwise_xor": "^",
    "left_shift": "<<",
    "right_shift": ">>",
}
_COMPARISONS = {
    "equal": "==",
    "not_equal": "!=",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
}
_OF_ONE: dict[str, Callable[[Emitter, Operand], Ref]] = {
    "abs": _absolute,
    "square": _square,
    "reciprocal": _reciprocal,
    "sign": _sign,
    "negative": _negative,
    "logical_not": _logical_not,
    "invert": _invert,
    "isnan": _isnan,
}


def _kind(name: str) -> str:
    return name[0].upper() + name[1:]


# --- of scalars


def scalar(kind: str, args: Sequence[Expr], dtype: DType) -> Expr:
    """What the operation computes of these elements, which have the dtype it computes in; `dtype` is its result's."""
    group, _, name = kind.partition("::")
    match group, name:
        case "BinaryType", _ if name in _BINARY:
            return Binary(_BINARY[name], *args)
        case "BinaryType", "And" | "Or" | "Xor":
            return Binary((_LOGICAL if args[0].dtype == boolean else _BITWISE)[name], *args)
        case "BinaryType" | "UnaryType", _ if name.lower() in _C_FUNCTIONS:
            return Call(name.lower(), tuple(args), dtype)
        case "UnaryType", "Neg":
            return Unary("-", args[0])
        case "UnaryType", "Not":
            return Unary("!" if args[0].dtype == boolean else "~", args[0])
        case "UnaryType", "Abs":
            return args[0] if dtype == boolean else absolute(Typed(args[0])).expr
        case "UnaryType", "Sign":
            zero, one = _number(0, dtype), _number(1, dtype)
            negative = Select(Binary("<", args[0], zero), _number(-1, dtype), args[0]) if dtype.kind != "u" else args[0]
            return Select(Binary(">", args[0], zero), one, negative)
        case "SpecFunc", _:
            return _special(name, args[0], dtype)
    raise TypeError(f"unknown element-wise operation {kind}")


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
    "Shl": "<<",
    "Shr": ">>",
    "Min": "min",
    "Max": "max",
    **{kind: symbol for symbol, kind in _COMPARED.items()},
}
_LOGICAL = {"And": "&&", "Or": "||", "Xor": "!="}
_BITWISE = {"And": "&", "Or": "|", "Xor": "^"}
_C_FUNCTIONS = _FLOAT_FUNCTIONS | _FLOAT_FUNCTIONS_OF_TWO | _ROUNDINGS | {"pow"}
