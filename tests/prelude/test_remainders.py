"""Remainders that change nothing."""

# ruff: noqa: F821 - nests are not ordinary Python: annotations name sizes by texts

from itertools import product

import numpy as np
import pytest

import polysched as ps
from polysched.ir.interp import interpret
from polysched.ir.nodes import Function
from polysched.ir.text import show
from polysched.ir.verify import verify
from polysched.prelude.structure.radix import products_in
from polysched.prelude.structure.remainders import without_remainders

size = ps.size


def simpler(given: ps.Nest) -> Function:
    fn = given.function
    found = without_remainders(fn, set(products_in(fn)))
    verify(found, "source")
    return found


@ps.nest
def split(a: ps.f64["n * h * w"], out: ps.f64["n", "h", "w"], n: size, h: size, w: size):
    for i in range(n):
        for j in range(h):
            for k in range(w):
                out[i, j, k] = a[(j * w + (i * (h * w) + k)) % (n * h * w)] + a[(k + w * j) % (n * h * w)]


@ps.nest
def numbers(a: ps.f64[24], out: ps.f64[2, 3], n: size):
    for i in range(2):
        for j in range(3):
            out[i, j] = a[(i * 3 + j) % 6] + a[(i * 12 + j * 4) % 24] + a[(i * 2 + j // 3) % 4]


@ps.nest
def digits(a: ps.f64["h * w"], out: ps.f64["h * 4", "w"], n: size, h: size, w: size):
    for i in range(h * 4):
        for j in range(w):
            out[i, j] = a[(i // 4 * w + j) % (h * w)] + a[(i % h * w + j % w) % (h * w)]


@pytest.mark.parametrize("given", [split, numbers])
def test_what_is_below_the_divisor_is_no_remainder(given):
    assert "floormod" not in show(simpler(given))


def test_of_digits_and_remainders():
    assert show(simpler(digits)).splitlines()[-1].strip() == (
        "out[i, j] = a[floordiv(i, 4) * w + j] + a[floormod(i, h) * w + j]"
    )


@ps.nest
def others(a: ps.f64["n"], out: ps.f64["n * m"], n: size, m: size, k: size):
    for i in range(n):
        for j in range(m):
            out[(i * m + j) % (n * m)] += a[(i * m + j) % n] + a[(i + 1) % n] + a[(n - i) % n]
            out[i * m + j] += (i * n + j) % (n * m) + (i * m - j) % (n * m) + (i * m + j * 2) % (n * m)
        for j in range(m + 1):
            out[i * m] += (i * m + j) % (n * m)
        for j in range(1, m):
            out[i * m] += (i * m + j) % (n * m)
        out[0] += i % (n * k)


def test_others_stay():
    """One goes: the others may be the divisor or more, start at one, or trap where k is zero."""
    before, after = show(others.function), show(simpler(others))
    assert before.replace("out[floormod(i * m + j, n * m)]", "out[i * m + j]") == after


def test_every_value_is_kept():
    for given, sizes in product((split, numbers, digits), product((1, 2, 3), repeat=3)):
        fn, after = given.function, simpler(given)
        names = dict(zip(fn.sizes, sizes, strict=False))
        results = []
        for each in (fn, after):
            arguments = dict(names)
            for number, array in enumerate(each.arrays):
                shape = [int(eval(str(extent), {}, names)) for extent in array.shape]
                arguments[array.name] = np.arange(float(np.prod(shape, dtype=int))).reshape(shape) * (number + 3)
            interpret(each, arguments)
            results.append(arguments)
        assert results[0].keys() == results[1].keys()
        for name, value in results[0].items():
            np.testing.assert_array_equal(value, results[1][name])
