"""Element-wise functions of NumPy by their names: kinds of operations, and NumPy's dtypes.

call(emit, "relu", [a])        %v = SpecFunc::Relu(%a)
call(emit, "hypot", [a, b])    %v = BinaryType::Hypot(%a, %b)
call(emit, "frobnicate", [a])  %v = DeviceCall(%a) {name = frobnicate}: a function that the device knows
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from polysched.errors import InputError
from polysched.frontend.arithmetic import FUNCTIONS_OF_ONE, FUNCTIONS_OF_TWO, ROUNDINGS, counted
from polysched.frontend.op.emit import Emitter, Operand, common_type, float_type, type_of
from polysched.frontend.op.memory import Ref
from polysched.frontend.op.numpy.operators import COMPARED, binary, cast, compared, extremum, unary
from polysched.frontend.python_functions import ALIASES
from polysched.ir.dtypes import boolean, i8

_SPECIAL = ("relu", "sigmoid", "silu", "softplus", "gelu", "rsqrt")
_Function = Callable[..., Ref]  # of an emitter and operands


def call(emit: Emitter, name: str, operands: Sequence[Operand]) -> Ref:
    """A function of elements by its NumPy name; one that is not known is the device's."""
    known = _ALIASES.get(name, name)
    for wanted, functions in enumerate((_OF_ONE, _OF_TWO), 1):
        if known in functions:
            if len(operands) != wanted:
                hint = "name the array that takes the result, as in out=y" if len(operands) == wanted + 1 else ""
                raise InputError(f"'{name}' takes {counted(wanted, 'argument')}, not {len(operands)}", None, hint)
            return functions[known](emit, *operands)
    dtype, shape = common_type(operands).dtype, emit.together(operands)
    return emit.result("DeviceCall", [emit.in_dtype(one, dtype) for one in operands], dtype, shape, name=name)


def is_known(name: str) -> bool:
    """Has NumPy, or polysched, an element-wise function of that name?"""
    return _ALIASES.get(name, name) in _OF_ONE.keys() | _OF_TWO.keys()


# --- functions by the kinds of their operations, and by operators


def _of_floats(group: str, name: str) -> _Function:
    return lambda emit, *operands: emit.elementwise(f"{group}::{name.capitalize()}", operands, float_type(operands))


def _of_own_dtype(kind: str) -> _Function:
    return lambda emit, *operands: emit.elementwise(kind, operands, common_type(operands).dtype)


def _of_bools(kind: str) -> _Function:
    return lambda emit, *operands: emit.elementwise(kind, operands, boolean)


def _rounding(name: str) -> _Function:
    """Integers are round."""
    rounded = _of_floats("UnaryType", name)
    return lambda emit, x: rounded(emit, x) if type_of(x).dtype.is_float else emit.copy(_itself(emit, x))


def _passing_over_nans(name: str) -> _Function:
    """fmin and fmax."""
    of_floats = _of_own_dtype(f"BinaryType::{name.capitalize()}")

    def function(emit: Emitter, left: Operand, right: Operand) -> Ref:
        if common_type((left, right)).dtype.is_float:
            return of_floats(emit, left, right)
        return extremum(emit, f"{name[1:]}imum", left, right)

    return function


def _truncated_remainder(emit: Emitter, left: Operand, right: Operand) -> Ref:
    dtype = common_type((left, right)).dtype
    return emit.elementwise("BinaryType::Fmod", (left, right), i8 if dtype == boolean else dtype)


def _square(emit: Emitter, x: Operand) -> Ref:
    dtype = type_of(x).dtype
    x = cast(emit, x, i8 if dtype == boolean else dtype)
    return binary(emit, "*", x, x)


def _itself(emit: Emitter, x: Operand) -> Ref:
    """An array, also of a number."""
    return cast(emit, x, type_of(x).dtype)


def _operator(apply: Callable[..., Ref], op: str) -> _Function:
    """An operator of Python's under its name in NumPy, or an extremum."""
    return lambda emit, *operands: apply(emit, op, *operands)


_ALIASES = {
    **ALIASES,
    "mod": "remainder",
    "fix": "trunc",
    "invert": "bitwise_not",
    "bitwise_invert": "bitwise_not",
    "bitwise_left_shift": "left_shift",
    "bitwise_right_shift": "right_shift",
    "expit": "sigmoid",
    "gammaln": "lgamma",
}
_OPERATORS = {  # of two, by `operators.binary`
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
_COMPARISONS = dict(
    zip(("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"), COMPARED, strict=True)
)
_OF_ONE: dict[str, _Function] = {
    **{name: _of_floats("UnaryType", name) for name in FUNCTIONS_OF_ONE | {"rint"}},
    **{name: _of_floats("SpecFunc", name) for name in _SPECIAL},
    **{name: _rounding(name) for name in ROUNDINGS - {"rint"}},
    "relu": _of_own_dtype("SpecFunc::Relu"),
    "abs": _of_own_dtype("UnaryType::Abs"),
    "fabs": _of_floats("UnaryType", "abs"),
    "sign": _of_own_dtype("UnaryType::Sign"),
    "square": _square,
    "reciprocal": lambda emit, x: binary(emit, "/", 1, x),
    "negative": lambda emit, x: unary(emit, "-", _itself(emit, x)),
    "positive": lambda emit, x: unary(emit, "+", _itself(emit, x)),
    "bitwise_not": lambda emit, x: unary(emit, "~", _itself(emit, x)),
    "logical_not": _of_bools("UnaryType::Not"),
    "isnan": lambda emit, x: emit.elementwise("BinaryType::Ne", (x, x), type_of(x).dtype, boolean),
}
_OF_TWO: dict[str, _Function] = {
    **{name: _of_floats("BinaryType", name) for name in FUNCTIONS_OF_TWO},
    **{name: _operator(binary, op) for name, op in _OPERATORS.items()},
    **{name: _operator(compared, op) for name, op in _COMPARISONS.items()},
    **{name: _operator(extremum, name) for name in ("minimum", "maximum")},
    **{name: _passing_over_nans(name) for name in ("fmin", "fmax")},
    **{f"logical_{name}": _of_bools(f"BinaryType::{name.capitalize()}") for name in ("and", "or", "xor")},
    "fmod": _truncated_remainder,
}
