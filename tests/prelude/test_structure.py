"""Fused loops and flat arrays taken apart together, as `optimize` does first."""

# ruff: noqa: F821 - nests are not ordinary Python: annotations name sizes by texts

import random

import numpy as np
import pytest

import polysched as ps
from polysched.codegen.memory.linearize import linearize
from polysched.ir.build import add, floormod, load, mul, store, var
from polysched.ir.dtypes import f64
from polysched.ir.interp import evaluate, interpret
from polysched.ir.nodes import Alloc, Array, Binary, Expr, Function
from polysched.ir.text import show
from polysched.ir.verify import verify
from polysched.prelude.structure.dimensions import with_dimensions
from polysched.prelude.structure.structure import structured
from tests.nests import arguments_for, canonical, loop, nest, outcome, random_nest

size = ps.size


def lines(given: ps.Nest) -> list[str]:
    fn = structured(given.function)
    verify(fn, "source")
    return show(fn).splitlines()


@ps.nest
def scale(a: ps.f32["n * h * w"], out: ps.f32["n", "h * w"], n: size, h: size, w: size):
    for p in range(n * h * w):
        out[p // (h * w), p % (h * w)] = a[p] * 2.0


def test_a_flat_array_gets_the_dimensions_of_its_subscripts():
    assert lines(scale) == [
        "def scale(a: f32[n, h, w], out: f32[n, h, w], n: size, h: size, w: size):",
        "    for p0 in 0..n:",
        "        for p1 in 0..h:",
        "            for p2 in 0..w:",
        "                out[p0, p1, p2] = a[p0, p1, p2] * 2.0f32",
    ]


@ps.nest
def rows(a: ps.f64["n * m"], n: size, m: size):
    for i in range(1, n):
        for j in range(1, m - 1):
            a[i * m + j] = a[i * m + j - 1] + a[(i - 1) * m + j + 1] + a[i * m - 1]


def test_flat_arrays_without_fused_loops():
    """The last subscript goes to the row before."""
    assert lines(rows)[-1].strip() == "a[i, j] = a[i, j - 1] + a[i - 1, j + 1] + a[i - 1, -(1) + m]"
    fn = structured(rows.function)
    assert structured(fn) is fn


def flat_between() -> Function:
    """b[p] = a[p] in one loop, out[i, j] = b[(i * m + j) % (n * m)] in two."""
    n, m, i, j, p = map(var, ("n", "m", "i", "j", "p"))
    a, b, out = Array("a", f64, (mul(n, m),)), Array("b", f64, (mul(n, m),), "private"), Array("out", f64, (n, m))
    use = store(out, (i, j), load(b, floormod(add(mul(i, m), j), mul(n, m))))
    return nest(
        "between", "n m", (a, out), Alloc(b),
        loop("p", 0, mul(n, m), store(b, (p,), load(a, p))),
        loop("i", 0, n, loop("j", 0, m, use)),
    )  # fmt: skip


def test_temporaries_get_dimensions_too():
    fn = structured(flat_between())
    verify(fn, "source")
    assert show(fn).splitlines() == [
        "def between(n: size, m: size, a: f64[n, m], out: f64[n, m]):",
        "    alloc b: private f64[n, m]",
        "    for p0 in 0..n:",
        "        for p1 in 0..m:",
        "            b[p0, p1] = a[p0, p1]",
        "    for i in 0..n:",
        "        for j in 0..m:",
        "            out[i, j] = b[i, j]",
    ]


@ps.nest
def pixels(a: ps.f32["h", "w", "3"], out: ps.f32["h * w * 3"], h: size, w: size):
    for p in range(h * w * 3):
        out[p] = a[p // (w * 3), p // 3 % w, p % 3]


def test_dimensions_of_constant_extents():
    assert lines(pixels)[0].startswith("def pixels(a: f32[h, w, 3], out: f32[h, w, 3]")
    assert lines(pixels)[-1].strip() == "out[p0, p1, p2] = a[p0, p1, p2]"


@ps.nest
def data(at: ps.i64["n * m"], a: ps.f64["n * m"], n: size, m: size):
    for i in range(n):
        for j in range(m):
            if 0 <= at[i * m + j] < n:
                a[at[i * m + j] * m + j] = 1.0


def test_a_row_that_data_chooses():
    assert lines(data)[0].startswith("def data(at: i64[n, m], a: f64[n, m]")
    assert lines(data)[-1].strip() == "a[at[i, j], j] = 1.0"


@ps.nest
def unguarded(a: ps.f64["h * w"], out: ps.f64["h * w"], h: size, w: size):
    for p in range(h * w):
        out[p] = a[p // w * w + (p % w + 1)]


@ps.nest
def two_shapes(a: ps.f64["n * c"], out: ps.f64["n * c"], n: size, c: size):
    for p in range(n * c):
        if p % n < 3:
            out[p] = a[p // c]


@ps.nest
def no_multiple(a: ps.f64["e"], h: size, w: size, e: size):
    for p in range(h * w):
        if p < e:
            a[p // w * w + p % w] = 1.0


@pytest.mark.parametrize("given", [unguarded, two_shapes, no_multiple])
def test_where_rows_cannot_be_shown_all_stays_as_it_was(given):
    """The loop is one statement then."""
    assert structured(given.function) is given.function
    assert [statement.iterators for statement in ps.optimize(given).scop.statements] == [()]


def test_what_is_affine_stays():
    for fn in (*canonical(), *(random_nest(random.Random(seed)) for seed in range(20))):
        assert structured(fn) is fn


def test_dimensions_alone():
    assert with_dimensions(scale.function) is scale.function


@pytest.mark.parametrize("fn", [*canonical(), *(random_nest(random.Random(seed)) for seed in range(40))])
def test_what_linearize_makes_flat_gets_dimensions_that_mean_the_same(fn):
    flat = linearize(fn)
    shaped = with_dimensions(flat)
    verify(shaped, "source")
    arguments = arguments_for(flat, random.Random(1), n=4)
    shapes = {array.name: tuple(evaluate(extent, arguments) for extent in array.shape) for array in shaped.arrays}
    reshaped = {name: arguments[name].reshape(shape) for name, shape in shapes.items()}
    expected = outcome(flat, arguments)
    for name, result in outcome(shaped, arguments | reshaped).items():
        np.testing.assert_array_equal(result.ravel(), expected[name].ravel(), err_msg=name)


def test_most_flat_arrays_get_dimensions():
    flat = [linearize(random_nest(random.Random(seed))) for seed in range(40)]
    products = [fn for fn in flat if any(isinstance(extent, Binary) and extent.op == "*" for extent in _extents(fn))]
    assert sum(with_dimensions(fn) is not fn for fn in products) > len(products) // 2


def _extents(fn: Function) -> list[Expr]:
    return [extent for array in fn.arrays for extent in array.shape]


@ps.nest
def blur(a: ps.f32["n", "m"], out: ps.f32["n * m"], n: size, m: size):
    for p in range(n * m):
        acc = ps.f32(0)
        for k in range(3):
            if 0 <= p // m - k < n:
                acc += a[p // m - k, p % m]
        out[p] = acc


@pytest.mark.parametrize("target", ["c", "cuda"])
def test_a_fused_nest_runs_in_parallel_and_is_called_as_it_was_written(target):
    done = ps.optimize(blur, target=target)
    assert done.nest is blur.function
    assert all("blocks of" in kernel.note for kernel in done.source.kernels)
    done.verify(n=5)
    a, out = np.random.default_rng(0).random((7, 5), np.float32), np.zeros(35, np.float32)
    expected = out.copy()
    interpret(blur.function, {"a": a, "out": expected, "n": 7, "m": 5})
    done.program(a=a, out=out)
    np.testing.assert_array_equal(out, expected)
    message = r"out is f32\[n \* m\], with m = 5, n = 7 of shape \(35,\), not \(34,\)"
    with pytest.raises(ps.PolyschedError, match=message):
        done.program(a=a, out=out[:-1])


@ps.nest
def beyond(a: ps.f32["h", "w"], h: size, w: size):
    for p in range(h * w):
        a[p // w, p % w + 1] = 1.0


def test_faults_are_reported_at_the_line_of_the_fused_nest():
    with pytest.raises(ps.InputError, match=r"test_structure.py:\d+.*'a' has shape \[h, w\], but .* touches a\[0, 1\]"):
        ps.optimize(beyond)
