"""What a nest can call, by name: sqrt, math.sqrt and np.sqrt are one."""

from __future__ import annotations

from collections.abc import Sequence

from polysched.errors import InputError
from polysched.frontend.arithmetic import FLOAT_FUNCTIONS, Typed, absolute, cast, counted, extremum, function, power
from polysched.ir.dtypes import ALL, DType, boolean, f64, i64

DTYPES: dict[str, DType] = {**ALL, "bool_": boolean, "boolean": boolean}  # by the names of `polysched`


def call(module: str, name: str, args: Sequence[Typed]) -> Typed:
    """`module.name(args)`, where the module is "" for a plain name; an InputError without a place if there is none."""
    written, name = (f"{module}.{name}" if module else name), ALIASES.get(name, name)
    _check(written, name, len(args))
    match name:
        case "min" | "max":
            return extremum(name, args)
        case "abs":
            return absolute(args[0])
        case "pow":
            return power(*args)
        case "float":
            return Typed(cast(args[0], f64), weak=True)
        case "int":
            return Typed(cast(args[0], i64), weak=True)
        case "floor" | "ceil" | "trunc" if module == "math":  # Python's own give an int
            return Typed(cast(function(name, args), i64), weak=True)
    return Typed(cast(args[0], CASTS[name])) if name in CASTS else function(name, args)


def _check(written: str, name: str, given: int) -> None:
    """InputError if there is no such function, or not of so many arguments."""
    least, most = (1, 1) if name in CASTS else _ARITY.get(name, (0, 0))
    if most == 0:
        hint = "there are abs, min, max, C's functions of floats such as sqrt, exp or pow, and casts such as ps.f32"
        raise InputError(f"'{written}' is not a function that a nest can call", None, hint)
    if not least <= given <= most:
        wanted = counted(least, "argument") + ("" if most == least else " or more")
        raise InputError(f"'{written}' takes {wanted}, not {given}", None)


# The least and greatest number of arguments; functions of floats go by their C names.
_ARITY: dict[str, tuple[int, int]] = {
    **{name: (count, count) for name, count in FLOAT_FUNCTIONS.items()},
    **dict.fromkeys(("abs", "float", "int"), (1, 1)),
    **dict.fromkeys(("min", "max"), (2, 100)),
}
ALIASES = {  # of NumPy
    "absolute": "abs",
    "power": "pow",
    "gamma": "tgamma",
    **{f"arc{name}": f"a{name}" for name in ("sin", "cos", "tan", "tan2", "sinh", "cosh", "tanh")},
}
CASTS = {**DTYPES, **{dtype.numpy: dtype for dtype in ALL.values()}}  # and by those of NumPy
