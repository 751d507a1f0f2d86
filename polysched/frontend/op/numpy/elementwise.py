"""Element-wise functions of NumPy by their names: kinds of operations, and NumPy's dtypes.

call(emit, "relu", [a])        %v = SpecFunc::Relu(%a)
call(emit, "hypot", [a, b])    %v = BinaryType::Hypot(%a, %b)
call(emit, "frobnicate", [a])  %v = DeviceCall(%a) {name = frobnicate}: a function that the device knows
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from polysched.errors import InputError
from polysched.frontend.op.emit import Emitter, Operand, common_type, float_type, type_of
from polysched.frontend.op.memory import Ref
from polysched.frontend.op.numpy.operators import binary, cast, compared, extremum, unary
from polysched.frontend.op.scalars import FUNCTIONS_OF_ONE, FUNCTIONS_OF_TWO, ROUNDINGS, SPECIAL
from polysched.ir.dtypes import boolean, i8


def call(emit: Emitter, name: str, operands: Sequence[Operand]) -> Ref:
    """A function of elements by its NumPy name; one that is not known is the device's."""
    known = _ALIASES.get(name, name)
    for names, wanted, function in _GROUPS:
        if known in names:
            _check_count(name, operands, wanted)
            return function(emit, known, *operands)
    dtype, shape = common_type(operands).dtype, emit.together(operands)
    return emit.result("DeviceCall", [emit.in_dtype(one, dtype) for one in operands], dtype, shape, name=name)


def is_known(name: str) -> bool:
    """Has NumPy, or polysched, an element-wise function of that name?"""
    return any(_ALIASES.get(name, name) in names for names, _, _ in _GROUPS)


def _check_count(name: str, operands: Sequence[Operand], wanted: int) -> None:
    if len(operands) != wanted:
        noun = "argument" if wanted == 1 else "arguments"
        hint = "name the array that takes the result, as in out=y" if len(operands) == wanted + 1 else ""
        raise InputError(f"'{name}' takes {wanted} {noun}, not {len(operands)}", None, hint)


# --- one function for each group of names


def _of_floats(emit: Emitter, name: str, *operands: Operand) -> Ref:
    group = "UnaryType" if len(operands) == 1 else "BinaryType"
    return emit.elementwise(f"{group}::{_kind(name)}", operands, float_type(operands))


def _rounding(emit: Emitter, name: str, x: Operand) -> Ref:
    dtype = type_of(x).dtype
    if name != "rint" and not dtype.is_float:
        return emit.copy(cast(emit, x, dtype))
    return emit.elementwise(f"UnaryType::{_kind(name)}", [x], float_type([x]))


def _special(emit: Emitter, name: str, x: Operand) -> Ref:
    dtype = type_of(x).dtype if name == "relu" else float_type([x])
    return emit.elementwise(f"SpecFunc::{_kind(name)}", [x], dtype)


def _operator(emit: Emitter, name: str, left: Operand, right: Operand) -> Ref:
    return binary(emit, _OPERATORS[name], left, right)


def _comparison(emit: Emitter, name: str, left: Operand, right: Operand) -> Ref:
    return compared(emit, _COMPARISONS[name], left, right)


def _logical(emit: Emitter, name: str, left: Operand, right: Operand) -> Ref:
    return emit.elementwise(f"BinaryType::{_kind(name.removeprefix('logical_'))}", (left, right), boolean)


def _passing_over_nans(emit: Emitter, name: str, left: Operand, right: Operand) -> Ref:
    """fmin and fmax."""
    dtype = common_type((left, right)).dtype
    if not dtype.is_float:
        return extremum(emit, f"{name[1:]}imum", left, right)
    return emit.elementwise(f"BinaryType::{_kind(name)}", (left, right), dtype)


def _truncated_remainder(emit: Emitter, name: str, left: Operand, right: Operand) -> Ref:
    dtype = common_type((left, right)).dtype
    return emit.elementwise("BinaryType::Fmod", (left, right), i8 if dtype == boolean else dtype)


def _of_one(emit: Emitter, name: str, x: Operand) -> Ref:
    return _OF_ONE[name](emit, x)


def _absolute(emit: Emitter, x: Operand) -> Ref:
    return emit.elementwise("UnaryType::Abs", [x], type_of(x).dtype)


def _absolute_float(emit: Emitter, x: Operand) -> Ref:
    return emit.elementwise("UnaryType::Abs", [x], float_type([x]))


def _square(emit: Emitter, x: Operand) -> Ref:
    dtype = type_of(x).dtype
    x = cast(emit, x, i8 if dtype == boolean else dtype)
    return binary(emit, "*", x, x)


def _sign(emit: Emitter, x: Operand) -> Ref:
    return emit.elementwise("UnaryType::Sign", [x], type_of(x).dtype)


def _logical_not(emit: Emitter, x: Operand) -> Ref:
    return emit.elementwise("UnaryType::Not", [x], boolean)


def _isnan(emit: Emitter, x: Operand) -> Ref:
    return emit.elementwise("BinaryType::Ne", (x, x), type_of(x).dtype, boolean)


def _kind(name: str) -> str:
    return name[0].upper() + name[1:]


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
    "mod": "remainder",
    "fix": "trunc",
    "invert": "bitwise_not",
    "bitwise_invert": "bitwise_not",
    "bitwise_left_shift": "left_shift",
    "bitwise_right_shift": "right_shift",
    "expit": "sigmoid",
    "gamma": "tgamma",
    "gammaln": "lgamma",
}
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
    "fabs": _absolute_float,
    "square": _square,
    "reciprocal": lambda emit, x: binary(emit, "/", 1, x),
    "sign": _sign,
    "negative": lambda emit, x: unary(emit, "-", cast(emit, x, type_of(x).dtype)),
    "positive": lambda emit, x: unary(emit, "+", cast(emit, x, type_of(x).dtype)),
    "logical_not": _logical_not,
    "bitwise_not": lambda emit, x: unary(emit, "~", cast(emit, x, type_of(x).dtype)),
    "isnan": _isnan,
}
_GROUPS: tuple[tuple[frozenset[str], int, Callable[..., Ref]], ...] = (
    (FUNCTIONS_OF_ONE, 1, _of_floats),
    (FUNCTIONS_OF_TWO, 2, _of_floats),
    (ROUNDINGS, 1, _rounding),
    (SPECIAL, 1, _special),
    (frozenset(_OPERATORS), 2, _operator),
    (frozenset(_COMPARISONS), 2, _comparison),
    (frozenset({"minimum", "maximum"}), 2, extremum),
    (frozenset({"fmin", "fmax"}), 2, _passing_over_nans),
    (frozenset({"fmod"}), 2, _truncated_remainder),
    (frozenset({"logical_and", "logical_or", "logical_xor"}), 2, _logical),
    (frozenset(_OF_ONE), 1, _of_one),
)
