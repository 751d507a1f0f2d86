import itertools
import random

import pytest

from polysched.ir.build import add, binary, const, floordiv, floormod, lift, mul, sub, var
from polysched.ir.dtypes import f64, i64
from polysched.ir.interp import evaluate
from polysched.ir.nodes import Load
from polysched.ir.text import show
from polysched.prelude.structure.radix import ONE, Digits, Number, Product, product_of

n, h, w, k, p = (var(name) for name in "nhwkp")
SIZES = ("n", "h", "w", "k")


def product(*factors):
    found = product_of(mul(*factors) if len(factors) > 1 else lift(factors[0]), SIZES)
    assert found is not None
    return found


def number(*factors):
    return Number("p", product(*factors), SIZES)


def test_digits_of_a_pixel():
    pixels = number(n, h, w)
    assert pixels.digits(floordiv(p, mul(h, w))) == Digits(product(h, w), product(n, h, w))
    assert pixels.digits(floormod(floordiv(p, w), h)) == Digits(product(w), product(h, w))
    assert pixels.digits(floormod(p, w)) == Digits(ONE, product(w))


@pytest.mark.parametrize(
    ("expr", "low", "high"),
    [
        (p, ONE, (n, h, w)),
        (floordiv(floordiv(p, w), h), (h, w), (n, h, w)),
        (floordiv(floormod(p, mul(w, h)), w), (w,), (h, w)),
        (binary("truncmod", binary("truncdiv", p, w), h), (w,), (h, w)),
        (sub(p, mul(floordiv(p, w), w)), ONE, (w,)),
        (sub(p, mul(w, floordiv(p, w))), ONE, (w,)),
        (floormod(p, mul(n, w, h)), ONE, (n, h, w)),
        (floormod(p, mul(n, w, h, 2)), ONE, (n, h, w)),
        (floordiv(p, mul(n, w, h)), (n, h, w), (n, h, w)),
        (floormod(floordiv(p, mul(h, w)), n), (h, w), (n, h, w)),
    ],
)
def test_each_way_to_write_a_digit(expr, low, high):
    low, high = (part if part is ONE else product(*part) for part in (low, high))
    assert number(n, h, w).digits(expr) == Digits(low, high)


@pytest.mark.parametrize(
    "expr",
    [
        floordiv(p, k),  # no factor of the bound
        floormod(p, mul(w, 2)),
        floormod(p, mul(n, h, w, k)),  # k may be zero
        floormod(floordiv(p, mul(h, w)), w),
        floordiv(sub(p, 1), w),
        sub(p, mul(floordiv(p, w), h)),
        floormod(p, lift(0)),
        floormod(p, lift(-1)),
        floordiv(w, p),
    ],
    ids=show,
)
def test_what_is_no_digit(expr):
    assert number(n, h, w).digits(expr) is None


@pytest.mark.parametrize("dtype", [i64, f64])
def test_long_sums_of_loads_are_no_digits(dtype):
    """Their minima, of which each doubles the number of linear forms, are not taken apart."""
    minima = [binary("min", Load("x", (add(p, k),), dtype), const(k, dtype)) for k in range(40)]
    assert number(n, h, w).digits(add(*minima)) is None


def test_products_are_equal_in_any_order():
    assert product(n, mul(2, h), 3) == product(6, h, n) == Product(6, (h, n))
    assert product(n, h).over(product(h)) == product(n)
    assert product(n, 4).over(product(8)) is None


def test_digits_are_worth_what_they_say():
    """Whatever is taken for digits, at all values of the number, for bounds of sizes and constants."""
    rng = random.Random(3)
    found = 0
    factors = [n, h, w, lift(2), lift(3)]
    for _ in range(200):
        chosen = rng.sample(factors, rng.randint(1, 4))
        this, expr = number(*chosen), p
        for _ in range(rng.randint(1, 3)):
            divisor = mul(*rng.sample(rng.choice((factors, chosen, chosen)), rng.randint(1, len(chosen))))
            expr = binary(rng.choice(("floordiv", "floormod", "truncdiv", "truncmod")), expr, divisor)
            expr = sub(p, mul(expr, divisor)) if rng.random() < 0.2 else expr
        digits = this.digits(expr)
        if digits is None:
            continue
        found += 1
        for values in itertools.product((1, 2, 3), repeat=3):
            sizes = dict(zip("nhw", values, strict=True), k=1)
            low, high, end = (evaluate(part.expression(), sizes) for part in (digits.low, digits.high, this.end))
            for value in range(end):
                assert evaluate(expr, {**sizes, "p": value}) == value // low % (high // low), show(expr)
    assert found > 40
