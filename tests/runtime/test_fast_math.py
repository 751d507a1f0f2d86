"""What `fast_math` lets the C compiler do, flag by flag, and what it does not."""

import ctypes
import errno
import math
import platform
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import numpy as np
import pytest

import polysched as ps
from polysched.runtime.toolchain import C_FLAGS, FAST, c_flags, compile_shared

ROOT = Path(__file__).parents[2]
INF, NAN = math.inf, math.nan
needs_x86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="reads the state of an x86")


def function(expr, *values, flags=None):
    """The value of a C expression in a, b, c, of doubles that the compiler does not know."""
    text = f"#include <math.h>\ndouble f(double a, double b, double c) {{ (void)b, (void)c; return {expr}; }}\n"
    f = ctypes.CDLL(str(compile_shared(text, "f", flags=c_flags(text, fast_math=True) if flags is None else flags))).f
    f.argtypes, f.restype = [ctypes.c_double] * 3, ctypes.c_double
    return f(*values, *[0.0] * (3 - len(values)))


def test_sums_are_reassociated():
    assert function("(a + b) - a", 1e30, 1.0) == 1.0
    assert function("(a + b) - a", 1e30, 1.0, flags=C_FLAGS) == 0.0


def test_the_sign_of_zero_is_free():
    assert math.copysign(1, function("a + 0.0", -0.0)) == -1
    assert math.copysign(1, function("a + 0.0", -0.0, flags=C_FLAGS)) == 1


def quotients(flags):
    """k / 3 for some k, which lie too far apart for SIMD: only then does gcc look for quotients by the same."""
    text = "void f(double *a, double w) { a[0] /= w; a[3] /= w; a[7] /= w; a[12] /= w; }\n"
    a = (ctypes.c_double * 13)()
    for place, value in zip(PLACES, VALUES, strict=True):
        a[place] = value
    ctypes.CDLL(str(compile_shared(text, "f", flags=flags))).f(a, ctypes.c_double(3.0))
    return [a[place] for place in PLACES]


PLACES = (0, 3, 7, 12)
VALUES = (5.0, 7.0, 10.0, 14.0)
INVERTED = [value * (1 / 3.0) for value in VALUES]


def test_a_divisor_of_many_becomes_a_factor():
    assert quotients(c_flags("", fast_math=True)) == INVERTED
    assert quotients(C_FLAGS) == [value / 3.0 for value in VALUES] != INVERTED


@pytest.mark.parametrize("flag", FAST)
def test_each_flag_is_needed(flag):
    """Without any one of them, one of the three above does not hold."""
    left = tuple(each for each in c_flags("", fast_math=True) if each != flag)
    found = (
        function("(a + b) - a", 1e30, 1.0, flags=left) == 1.0,
        math.copysign(1, function("a + 0.0", -0.0, flags=left)) == -1,
        quotients(left) == INVERTED,
    )
    assert not all(found)


@pytest.mark.parametrize(
    ("expr", "values", "result"),
    [
        ("a != a", (NAN,), 1.0),
        ("a == a", (NAN,), 0.0),
        ("a < b ? 1.0 : 2.0", (NAN, 0.0), 2.0),
        ("!(a >= b) ? 1.0 : 2.0", (NAN, 0.0), 1.0),
        ("a - a", (INF,), NAN),
        ("a * 0.0", (INF,), NAN),
        ("a * 0.0", (NAN,), NAN),
        ("a / a", (0.0,), NAN),
        ("isinf(a) ? 1.0 : 0.0", (-INF,), 1.0),
        ("b / a", (INF, 1.0), 0.0),
        ("b / a", (0.0, 1.0), INF),
        ("sqrt(a)", (-1.0,), NAN),
        ("a * b", (5e-324, 1.0), 5e-324),  # denormals are kept
        ("a / b", (1e-310, 1.0), 1e-310),
    ],
)
def test_rules_of_nan_infinity_and_denormals_stay(expr, values, result):
    np.testing.assert_equal(function(expr, *values), result)


def test_no_function_sets_errno():
    """It is the caller's; and a square root that may set it is no single instruction."""
    body = "errno = 0; *b = sqrt(a); return errno;"
    text = f"#include <errno.h>\n#include <math.h>\nint f(double a, double *b) {{ {body} }}\n"
    b = ctypes.byref(ctypes.c_double())
    usual = tuple(flag for flag in C_FLAGS if flag != "-fno-math-errno")
    for flags, expected in ((C_FLAGS, 0), (usual, errno.EDOM)):
        assert ctypes.CDLL(str(compile_shared(text, "f", flags=flags))).f(ctypes.c_double(-1.0), b) == expected


@ps.nest
def shifted(a: Annotated[np.ndarray, ps.f64["n"]], w: ps.f64, n: ps.size) -> None:  # type: ignore[valid-type]
    for i in range(n):
        a[i] = a[i] + w


@ps.nest
def total(a: Annotated[np.ndarray, ps.f64["n"]], s: Annotated[np.ndarray, ps.f64[1]], n: ps.size) -> None:
    for i in range(n):
        s[0] += a[i]


@pytest.mark.parametrize("fast", [False, True])
def test_the_option_reaches_the_compiler(fast):
    """In order, the first term hides the fifteen after it; on lanes, some of them are added to others."""
    done = ps.optimize(total, options=ps.Options(fast_math=fast))
    a, s = np.ones(1000), np.zeros(1)
    a[[0, 16]] = 1e30, -1e30
    done(a=a, s=s)
    assert bool(s[0] == 983) is not fast
    done.verify(n=50)


@needs_x86
def test_the_state_of_the_caller_stays():
    """In a process of its own, in which nothing else was loaded: a library linked with -ffast-math sets two bits."""
    program = """
import ctypes, numpy as np, polysched as ps
from polysched.runtime.toolchain import c_flags, compile_shared
from tests.runtime.test_fast_math import shifted
text = "unsigned state(void) { return __builtin_ia32_stmxcsr() & 0xffc0; }"
state = ctypes.CDLL(str(compile_shared(text, "state"))).state
before, a = state(), np.zeros(100_000)
for parallel in (False, True):
    ps.optimize(shifted, options=ps.Options(fast_math=True, reorder_reductions=True, parallel=parallel))(a=a, w=-1e-310)
    assert state() == before, (hex(state()), hex(before))
assert (a < -1e-311).all() and np.float64(5e-324) * 1.0 > 0
"""
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True)
