"""A nest means what its Python function does: run both, compare the bits."""

# ruff: noqa: F821, F841, SIM300, RUF021 - nests are not ordinary Python: annotations name sizes by texts

import doctest
import math
import random
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest
from nests import arguments_for, outcome

from polysched.errors import InputError
from polysched.frontend.python import Nest, nest, parse_nest
from polysched.ir import dtypes as ps
from polysched.ir.dtypes import ALL, f64, i64, size
from polysched.ir.nodes import Array, Binary, Const, For, Load, Store, Var
from polysched.ir.text import show


@nest
def seidel(a: ps.f64["n", "n"], tsteps: ps.size, n: ps.size):
    for _ in range(tsteps):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                a[i, j] = (a[i - 1, j] + a[i, j - 1] + a[i, j] + a[i, j + 1] + a[i + 1, j]) / 5.0


def test_example() -> None:
    assert show(seidel.function) == dedent("""\
        def seidel(a: f64[n, n], tsteps: size, n: size):
            for _ in 0..tsteps:
                for i in 1..n - 1:
                    for j in 1..n - 1:
                        a[i, j] = (a[i - 1, j] + a[i, j - 1] + a[i, j] + a[i, j + 1] + a[i + 1, j]) / 5.0""")
    assert seidel.name == "seidel"


def test_nodes() -> None:
    function = parse_nest('def scale(a: f32["n"], n: size):\n    for i in range(n): a[i] = 2 * a[i]', "f.py")
    i, n = Var("i"), Var("n")
    store = Store("a", (i,), Binary("*", Const(2.0, ps.f32), Load("a", (i,), ps.f32)))
    assert function.body == (For("i", Const(0), n, 1, (store,)),)
    assert (function.sizes, function.arrays, function.params) == (("n",), (Array("a", ps.f32, (n,)),), ("a", "n"))


# --- nests that run both ways; annotations by any spelling


@nest
def lu(a: f64["n", "n"], n: size):
    """In place."""
    for i in range(n):
        for j in range(i):
            for k in range(j):
                a[i][j] -= a[i][k] * a[k][j]
            a[i][j] /= a[j][j]
        for j in range(i, n):
            for k in range(i):
                a[i, j] = a[i, j] - a[i, k] * a[k, j]
    return


@nest
def steps(a: i64["n + 3", 4], n: size):
    for i in range(n, -1, -2):
        for j in range(max(0, i - 2), min(i + 1, 4), +2):
            a[i, j] += i * j - i // 2 + -i % 3
    for k in range(n // 2):
        a[2 * k, k % 4] = k


@nest
def guards(a: i64["n", "n"], n: size):
    for i in range(n):
        for j in range(n):
            if i < j <= i + 3 and not a[i, j] > 5 or a[j, i]:
                a[i, j] = a[j, i] if (i + j) % 2 == 0 else -a[i, j]
            elif i == j:
                pass
            else:
                a[i, j] ^= 3


@nest
def scalars(a: f64["n"], b: ps.f64["n"], alpha: ps.f64, n: size):
    total = 0
    for i in range(n):
        previous = a[i]
        total += previous
        b[i] = alpha * previous + total
    largest = a[0]
    for i in range(1, n):
        if a[i] > largest:
            largest = a[i]
    b[0] = largest


@nest
def carried(a: f64["n"], b: f64["n"], n: size):
    for i in range(n):
        if i > 0:
            b[i] = last + rising
        last = a[i]
        rising = a[i] > 0


@nest
def indirect(a: f64["n"], k: ps.i32["n"], rows: i64["n"], n: size):
    for i in range(n):
        if 0 <= k[i] and k[i] < n:
            a[k[i]] += 1
        for j in range(rows[i], min(rows[i] + 2, n)):
            if j >= 0:
                a[j] *= 0.5


@nest
def rank_zero(s: f64[()], a: f64["n"], n: size):
    s[()] = 0.0
    for i in range(n):
        s[()] += a[i]


@nest
def functions(a: ps.f32["n"], b: f64["n"], n: size):
    for i in range(n):
        b[i] = math.sqrt(abs(b[i])) + np.floor(4 * b[i]) + math.floor(b[i]) + min(b[i], 0.5, i) + np.exp(b[i])
        a[i] = np.sqrt(abs(a[i])) * max(a[i], 0.5) + ps.f32(i / 3) + np.float32(i) + float(i)
        b[i] += int(8 * a[i]) + (i << 2 | 1) + (i >> 1 & 1) + ~i + math.pi


@nest
def augmented(a: i64["n"], b: f64["n"], n: size):
    for i in range(n):
        a[i] += 3
        a[i] -= i
        a[i] *= 5
        a[i] //= 2
        a[i] %= 7
        a[i] &= 13
        a[i] |= 1
        a[i] ^= 4
        a[i] <<= 3
        a[i] >>= 1
        a[i] **= 2
        b[i] /= 3
        b[i] **= 2


@nest
def extents(a: f64["n", "n + 1"], b: f64["n"], n: size):
    for i in range(len(b)):
        for j in range(a.shape[1] - 1):
            b[i] = b[i] * a[i, j + 1] + a.shape[-1]


def ensure(result: Nest, n: int) -> None:
    """The interpreter and Python leave the same bits."""
    arguments = arguments_for(result.function, random.Random(n), n)
    actual = outcome(result.function, arguments)
    with np.errstate(all="ignore"):
        result(**arguments)
    for name, array in actual.items():
        np.testing.assert_array_equal(array, arguments[name], err_msg=name, strict=True)


NESTS = [seidel, lu, steps, guards, scalars, carried, indirect, rank_zero, functions, augmented, extents]


@pytest.mark.parametrize("n", [1, 2, 7])
@pytest.mark.parametrize("result", NESTS, ids=lambda result: result.name)
def test_runs_as_python(result: Nest, n: int) -> None:
    ensure(result, n)


ANY_DTYPE = {
    "copy": "b[i] = a[i]",
    "sum": "b[i] = a[i] + b[i]",
    "weak": "b[i] = a[i] * 2 + 1",
    "index": "b[i] = a[i] + i",
    "compare": "b[i] = (a[i] == b[i]) if i else a[i] > 1",
    "truth": "b[i] = 1 if a[i] and not b[i] else 0",
    "temporary": "t = a[i]; t = t + b[i]; b[i] = t",
    "reduce": "s = 0; s += a[i]; s += b[i]; b[i] = s",
    "divide": "b[i] = a[i] / 2",
}


@pytest.mark.parametrize("name", ANY_DTYPE)
@pytest.mark.parametrize("first", ALL.values(), ids=str)
def test_runs_as_numpy_for_all_dtypes(first: ps.DType, name: str) -> None:
    rng = random.Random(5)
    for second in ALL.values():
        if ps.boolean in (first, second) and name in ("sum", "temporary"):
            continue  # refused where both are bool
        head = f'def mixed(a: {first}["n"], b: {second}["n"], n: size):'
        text = f"{head}\n    for i in range(n):\n        {ANY_DTYPE[name]}"
        function = parse_nest(text, "mixed.py")
        scope: dict = {**ALL, "size": size}
        exec(text, scope)
        a, b = (dtype(np.arange(4) + rng.randint(0, 3)) for dtype in (first, second))
        arguments = {"a": a, "b": b, "n": 4}
        actual = outcome(function, arguments)["b"]
        scope["mixed"](**arguments)
        np.testing.assert_array_equal(actual, arguments["b"], err_msg=text, strict=True)


# --- types of scalars


@pytest.mark.parametrize(
    ("statements", "declared"),
    [
        ("s = 0", "i64"),
        ("s = 0.0", "f64"),
        ("s = i / 2", "f64"),
        ("s = x[i]", "f32"),
        ("s = 0; s += x[i]", "f32"),
        ("s = 0; s = k[i]", "i8"),
        ("s = k[i]; s = 0.5", "f64"),
        ("s = x[i]; s += y[i]", "f64"),
        ("s = x[i] > 0", "bool"),
        ("s = 0; t = s + x[i]; s = t * y[i]", "f64"),
    ],
)
def test_type_of_a_scalar(statements: str, declared: str) -> None:
    text = f'def f(x: f32["n"], y: f64["n"], k: i8["n"], n: size):\n  for i in range(n): {statements}'
    assert f"alloc s: private {declared}[]" in show(parse_nest(text, "f.py"))


# --- places


def test_places_of_statements() -> None:
    (loop,) = seidel.function.body
    inner = loop.body[0].body[0].body[0]
    lines = Path(__file__).read_text(encoding="utf-8").split("\n")
    line = next(k for k, text in enumerate(lines, 1) if text.startswith("def seidel"))
    assert str(seidel.function.loc) == f"{__file__}:{line}:1"
    assert str(loop.loc) == f"{__file__}:{line + 1}:5"
    assert str(inner.loc) == f"{__file__}:{line + 4}:17"
    assert inner.loc.text == lines[line + 3]


def test_indented_and_decorated() -> None:
    def same(function):
        return function

    @nest
    @same
    def inner(a: ps.f64["n"], n: ps.size):
        a[n - 1] = 0

    (store,) = inner.function.body
    assert store.loc.text == "        a[n - 1] = 0"
    assert store.loc.column == 9


def test_columns_count_characters() -> None:
    function = parse_nest('def f(ä: f64["n"], n: size):\n  if n > 0: ä[0] = 1; ä[0] = 2', "f.py", first_line=10)
    assert [str(stmt.loc) for stmt in function.body[0].then] == ["f.py:11:13", "f.py:11:23"]


def test_works_in_a_doctest() -> None:
    text = """
    >>> @nest
    ... def f(a: f64["n"], n: size):
    ...     a[0] = n
    >>> print(f.function.body[0].loc)
    <doctest tour[0]>:3:5
    """
    names = {"nest": nest, "f64": f64, "size": size}
    test = doctest.DocTestParser().get_doctest(text, names, "tour", None, None)
    assert doctest.DocTestRunner(verbose=False).run(test).failed == 0


def test_source_not_available() -> None:
    scope = {"f64": f64}
    exec('def f(a: f64["n"]): pass', scope)
    with pytest.raises(InputError) as error:
        nest(scope["f"])
    assert str(error.value) == (
        "<string>:1:1: the source of 'f' is not available\nhint: write it in a file or a notebook"
    )


def test_not_a_def() -> None:
    with pytest.raises(InputError, match="'<lambda>' is not written as a def"):
        nest(lambda a: a)
    with pytest.raises(InputError, match="a nest is a Python function, not 3"):
        nest(3)


def test_arrays_of_a_nests_own():
    text = """
def f(a: f64["n"], b: f32["n", "m"], n: size, m: size):
    '''Two arrays that nobody sees.'''
    t = np.empty(n + 1)
    u = numpy.empty((n, m), dtype=np.float32)
    for i in range(n):
        t[i] = a[i]
        for j in range(m):
            u[i, j] = b[i, j]
            b[i, j] = u[i, j] + u[i, 0]
        a[i] = t[i]
"""
    assert show(parse_nest(text.strip(), "f.py")).splitlines()[1:3] == [
        "    alloc t: private f64[n + 1]",
        "    alloc u: private f32[n, m]",
    ]
