"""Vector forms of functions of the library, before a kernel that may round otherwise (`fast_math`).

    #ifdef POLYSCHED_LIBMVEC_expf
    #pragma omp declare simd notinbranch
    float expf(float);
    #endif

glibc's libmvec has them for x86-64, within 4 units in the last place: `runtime/vector_math.py` finds out which, and
defines the macros. In a loop that runs as SIMD, gcc then calls the form for as many values as a vector holds.
"""

from __future__ import annotations

from collections.abc import Iterator

from polysched.ir.dtypes import f64
from polysched.ir.node import walk
from polysched.ir.nodes import Call, Function

MACRO = "POLYSCHED_LIBMVEC_"  # and the name of a function: libmvec has it

# The number of their arguments; sin, cos, exp, log and pow since glibc 2.22, the others since 2.35.
_OF_ONE = """
    sin cos exp log acos acosh asin asinh atan atanh cbrt cosh erf erfc exp2 expm1 log10 log1p log2 sinh tan tanh
"""
FORMS = {**dict.fromkeys(_OF_ONE.split(), 1), "pow": 2, "atan2": 2, "hypot": 2}


def vector_forms(fn: Function) -> str:
    """The lines that declare the vector forms of what `fn` calls."""
    called = {(n.fn, n.dtype) for n in walk(fn.body) if isinstance(n, Call) and n.fn in FORMS}
    names = sorted({name if dtype == f64 else f"{name}f" for name, dtype in called})
    return "\n".join(line for name in names for line in _declared(name))


def prototype(name: str) -> str:
    """The declaration of a function of the library, as one that has a vector form."""
    base, own = (name, "double") if name in FORMS else (name.removesuffix("f"), "float")
    return f"#pragma omp declare simd notinbranch\n{own} {name}({', '.join([own] * FORMS[base])});"


def _declared(name: str) -> Iterator[str]:
    yield f"#ifdef {MACRO}{name}"
    yield from prototype(name).splitlines()
    yield "#endif"
