"""polysched/check/trials/rounding.py: bounds that hold for every order of the terms, and hide no fault."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import numpy as np
import pytest

import polysched as ps
from polysched.check.trials.rounding import at_first, calls_of_constants, is_whole, tolerance, with_bounds
from polysched.ir.dtypes import f16, f32, f64
from polysched.ir.interp import interpret
from polysched.plan.prepare import function_of


@ps.nest
def dot(s: ps.f32["1"], a: ps.f32["n"], b: ps.f32["n"], n: ps.size):
    for i in range(n):
        s[0] += a[i] * b[i]


@ps.nest
def dot16(s: ps.f16["1"], a: ps.f16["n"], b: ps.f16["n"], n: ps.size):
    for i in range(n):
        s[0] += a[i] * b[i]


@ps.nest
def functions(s: ps.f64["1"], a: ps.f64["n"], n: ps.size):
    for i in range(n):
        s[0] += ps.exp(a[i]) / (1.0 + ps.sqrt(a[i]))
    s[0] = ps.log(s[0])


def bounds_of(nest, arguments, *, exact=False):
    fn = function_of(nest)
    more, names = with_bounds(fn)
    given = {name: np.copy(value) for name, value in arguments.items()}
    given |= at_first(names, given)
    interpret(more, given)
    size, depth, reach = (given[name] for name in names["s"])
    return given["s"], tolerance(fn.array("s").dtype, size, depth, reach, exact=exact)


def in_order(terms, start, dtype):
    total = dtype(start)
    for term in terms:
        total = dtype(total + term)
    return total


@pytest.mark.parametrize(("nest", "dtype", "n"), [(dot, np.float32, 3000), (dot16, np.float16, 60)], ids=["f32", "f16"])
@pytest.mark.parametrize("seed", range(4))
def test_all_orders_are_within_the_bound(nest, dtype, n, seed):
    rng = np.random.default_rng(seed)
    a, b = (rng.uniform(-2, 2, n).astype(dtype) for _ in "ab")
    computed, bound = bounds_of(nest, {"n": n, "s": np.zeros(1, dtype), "a": a, "b": b})
    terms = (a * b).astype(dtype).tolist()
    shuffled = random.Random(seed).sample(terms, n)
    halves = [in_order(shuffled[k::2], 0, dtype) for k in range(2)]
    for other in (in_order(terms[::-1], 0, dtype), in_order(sorted(terms), 0, dtype), dtype(halves[0] + halves[1])):
        assert abs(float(other) - float(computed[0])) <= bound[0]
    exact = math.fsum(float(x) * float(y) for x, y in zip(a, b, strict=True))
    assert abs(exact - float(computed[0])) <= bound[0] / 2


def test_the_bound_is_of_the_precision_and_the_number_of_terms():
    """2 gamma_k times the sum of absolute values; k is n + 1, the product's rounding among them."""
    n, u = 100, 2.0**-24
    ones = np.ones(n, np.float32)
    _, bound = bounds_of(dot, {"n": n, "s": np.zeros(1, np.float32), "a": ones, "b": ones})
    assert bound[0] == pytest.approx(2 * n * ((n + 1) * u / (1 - (n + 1) * u)), rel=1e-6)


def test_of_whole_numbers_every_bit_counts():
    rng = np.random.default_rng(0)
    a, b = (rng.choice([-3, -2, -1, 1, 2, 3], 9000).astype(np.float32) for _ in "ab")
    arguments = {"n": 9000, "s": np.zeros(1, np.float32), "a": a, "b": b}
    computed, bound = bounds_of(dot, arguments, exact=True)
    assert bound[0] == 0 and computed[0] == (a.astype(np.int64) * b.astype(np.int64)).sum()
    large = {**arguments, "a": a * 2.0**12}
    assert bounds_of(dot, large, exact=True)[1][0] > 0


@ps.nest
def into_a_scalar(s: ps.f32[()], a: ps.f32["n"], n: ps.size):
    for i in range(n):
        s[()] += a[i]


def test_an_array_without_dimensions():
    arguments = {"n": 4, "s": np.zeros((), np.float32), "a": np.ones(4, np.float32)}
    assert bounds_of(into_a_scalar, arguments)[1].shape == ()


def test_what_has_only_sums_and_products_is_whole():
    assert is_whole(function_of(dot)) and not is_whole(function_of(functions))


def test_functions_change_by_their_slope():
    a = np.random.default_rng(1).uniform(0.5, 1.5, 50)
    computed, bound = bounds_of(functions, {"n": 50, "s": np.zeros(1), "a": a})
    other = math.log(math.fsum(math.exp(x) / (1 + math.sqrt(x)) for x in a))
    assert abs(other - computed[0]) <= bound[0] < 1e-12


@pytest.mark.parametrize(("dtype", "digits"), [(f16, 11), (f32, 24), (f64, 53)])
def test_nothing_rounded_is_no_difference(dtype, digits):
    size = np.ones(2)
    found = tolerance(dtype, size, np.array([0.0, 2.0**-digits]), exact=False)
    assert found[0] == 0 and found[1] == pytest.approx(2 * 2.0**-digits, rel=1e-2)


@ps.nest
def product(s: ps.f32["1"], a: ps.f32["n"], n: ps.size):
    for i in range(n):
        s[0] *= a[i]


@pytest.mark.parametrize(
    ("factors", "is_known"),
    [
        ([1e30, 0.0, 1e30], False),
        ([1e20, 1e-20, 1e20, 1e-20], False),
        ([1e-30, 1e-30, 1e30], False),
        ([1e10, 0.0, 1e10], True),
        ([1.5] * 60, True),
    ],
    ids=["inf * 0", "overflow", "underflow", "zero", "small"],
)
def test_products_that_may_overflow_in_another_order_are_not_compared(factors, is_known):
    a = np.array(factors, np.float32)
    _, bound = bounds_of(product, {"n": a.size, "s": np.ones(1, np.float32), "a": a})
    assert np.isfinite(bound[0]) == is_known


def test_values_of_types_differ_in_what_overflows():
    @ps.nest
    def narrow(s: ps.f16["1"], a: ps.f64["n"], n: ps.size):
        for i in range(n):
            s[0] = ps.f16(a[i] * a[i])

    _, bound = bounds_of(narrow, {"n": 1, "s": np.ones(1, np.float16), "a": np.array([250.0])})
    assert not np.isfinite(bound[0])


@ps.nest
def of_constants(s: ps.f64["1"], a: ps.f64["1"]):
    s[0] = 1.0 + ps.log1p(2.0)
    a[0] = ps.sqrt(2.0) + ps.log1p(a[0])


def test_functions_of_constants_are_those_of_the_compiler():
    """gcc rounds log1p(2.0) right, the C library down."""
    kernel = ps.optimize(of_constants).kernel
    assert calls_of_constants(kernel)
    assert not calls_of_constants(replace(kernel, body=kernel.body[1:]))
    ps.optimize(of_constants).verify()
