"""Vector forms of functions of the library, before a kernel that may round otherwise (`fast_math`).

    #ifdef POLYSCHED_LIBMVEC_expf
    #pragma omp declare simd notinbranch
    float expf(float);
    #endif

glibc's libmvec has them for x86-64, within 4 units in the last place (ulp): `runtime/vector_math.py` finds out which,
and defines the macros. In a loop that runs as SIMD, gcc then calls the form for as many values as a vector holds. Where
it has none of exp and tanh of f32, ours stands in an #else.
"""

from __future__ import annotations

from collections.abc import Iterator

from polysched.ir.dtypes import f64
from polysched.ir.node import statements, walk
from polysched.ir.nodes import PARALLEL, Call, For, Function

MACRO = "POLYSCHED_LIBMVEC_"  # and the name of a function: libmvec has it

# The number of their arguments; sin, cos, exp, log and pow since glibc 2.22, the others since 2.35.
_OF_ONE = """
    sin cos exp log acos acosh asin asinh atan atanh cbrt cosh erf erfc exp2 expm1 log10 log1p log2 sinh tan tanh
"""
FORMS = {**dict.fromkeys(_OF_ONE.split(), 1), "pow": 2, "atan2": 2, "hypot": 2}


def vector_forms(*functions: Function) -> str:
    """The lines that declare the vector forms of what the functions call."""
    called = {(n.fn, n.dtype) for fn in functions for n in walk(fn.body) if isinstance(n, Call) and n.fn in FORMS}
    names = sorted({name if dtype == f64 else f"{name}f" for name, dtype in called})
    return "\n".join(line for name in names for line in _declared(name))


def called_in_lanes(fn: Function) -> list[str]:
    """The functions with vector forms that innermost loops with independent iterations call."""
    loops = [node for node in statements(fn.body) if isinstance(node, For) and node.kind in ("vector", *PARALLEL)]
    innermost = (loop for loop in loops if not any(isinstance(node, For) for node in statements(loop.body)))
    calls = (node.fn for loop in innermost for node in walk(loop.body) if isinstance(node, Call) and node.fn in FORMS)
    return list(dict.fromkeys(calls))


def prototype(name: str) -> str:
    """The declaration of a function of the library, as one that has a vector form."""
    base, own = (name, "double") if name in FORMS else (name.removesuffix("f"), "float")
    return f"#pragma omp declare simd notinbranch\n{own} {name}({', '.join([own] * FORMS[base])});"


def _declared(name: str) -> Iterator[str]:
    yield f"#ifdef {MACRO}{name}"
    yield from prototype(name).splitlines()
    if name in OURS:
        yield "#else"
        yield from OURS[name].splitlines()
    yield "#endif"


# 2^f - 1 is its Taylor series for |f| <= 1/2, to 1e-11. In double no order of the operations loses what a float has.
_POWER = """\
    const double t = x * 1.4426950408889634, k = rint(t), f = t - k;
    const double p = f * (0.6931471805599453 + f * (0.2402265069591007 + f * (0.05550410866482158
        + f * (0.009618129107628477 + f * (0.0013333558146428443 + f * (0.0001540353039338161
        + f * (1.525273380405984e-05 + f * (1.321548679014431e-06 + f * 1.0178086009239699e-07))))))));
    const int64_t bits = ((int64_t)(int32_t)(k == k ? k : 0.0) + 1023) << 52;
    double s;
    __builtin_memcpy(&s, &bits, sizeof s);
"""

# Where there is no other form of a function: ours, within 0.6 ulp, in plain C that every compiler makes vectors of.
OURS = {
    "expf": f"""\
static inline float polysched_expf(float a)
{{
    const double x = a < -104.0f ? -104.0 : a > 89.0f ? 89.0 : (double)a;
{_POWER}    return (float)(s + s * p);
}}
#define expf polysched_expf""",
    "tanhf": f"""\
static inline float polysched_tanhf(float a)
{{
    const double b = fabs((double)a), x = b > 10.0 ? 20.0 : 2.0 * b;
{_POWER}    const double e = (s - 1.0) + s * p;
    const float r = (float)copysign(e / (e + 2.0), (double)a);
    return b < 1e-4 ? a : r;
}}
#define tanhf polysched_tanhf""",
}
