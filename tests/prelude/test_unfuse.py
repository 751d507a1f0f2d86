"""Fused loops, taken apart."""

# ruff: noqa: F821 - nests are not ordinary Python: annotations name sizes by texts

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import polysched as ps
from polysched.ir.build import add, binary, floordiv, floormod, lift, load, mul, store, sub, var
from polysched.ir.dtypes import i64
from polysched.ir.interp import evaluate
from polysched.ir.node import walk
from polysched.ir.nodes import Alloc, Array, Expr, For, Function, If, Let, Stmt
from polysched.ir.text import show
from polysched.ir.verify import verify
from polysched.prelude.structure.unfuse import unfuse
from tests.nests import canonical, loop, nest, outcome, random_nest

size = ps.size


def apart(given: ps.Nest | Function) -> str:
    fn = given if isinstance(given, Function) else given.function
    taken = unfuse(fn)
    verify(taken, "source")
    return "\n".join(show(stmt) for stmt in taken.body)


@ps.nest
def flatten(a: ps.f64["n", "h", "w"], out: ps.f64["n * h * w"], n: size, h: size, w: size):
    for p in range(n * h * w):
        out[p] = a[p // (h * w), p // w % h, p % w]


def test_a_loop_for_each_digit():
    assert apart(flatten) == (
        "for p0 in 0..n:\n"
        "    for p1 in 0..h:\n"
        "        for p2 in 0..w:\n"
        "            out[(p0 * h + p1) * w + p2] = a[p0, p1, p2]"
    )


@ps.nest
def named(a: ps.f64["n", "h", "w"], out: ps.f64["n * h * w"], n: size, h: size, w: size):
    for p in range(w * n * h):
        x = p % w
        b = p // (w * h)
        y = (p - b * (h * w)) // w
        out[p] = a[b, y, x]


def test_loops_are_called_as_the_nest_calls_their_digits():
    assert apart(named) == (
        "for b in 0..n:\n"
        "    for y in 0..h:\n"
        "        for x in 0..w:\n"
        "            out[(b * h + y) * w + x] = a[b, y, x]"
    )


@ps.nest
def guarded(a: ps.f64["n", "m"], out: ps.f64["n * m"], n: size, m: size):
    for p in range(n * m):
        for k in range(3):
            if 0 <= p // m - k < n:
                out[p] += a[p // m - k, p % m]


def test_conditions_and_inner_loops_take_digits_too():
    assert apart(guarded) == (
        "for p0 in 0..n:\n"
        "    for p1 in 0..m:\n"
        "        for k in 0..3:\n"
        "            if 0 <= p0 - k && p0 - k < n:\n"
        "                out[p0 * m + p1] = out[p0 * m + p1] + a[p0 - k, p1]"
    )


@ps.nest
def partly(out: ps.f64["h", "w"], h: size, w: size):
    for p in range(h * w):
        out[p // w, 0] = 0.0


def test_a_digit_may_go_unused():
    assert apart(partly) == "for p0 in 0..h:\n    for p1 in 0..w:\n        out[p0, 0] = 0.0"


@ps.nest
def whole(a: ps.f64["n * m"], n: size, m: size):
    for p in range(n * m):
        a[p] = 0.0


def test_a_product_of_sizes_is_taken_apart_for_being_none_of_the_affine_ones():
    assert apart(whole) == "for p0 in 0..n:\n    for p1 in 0..m:\n        a[p0 * m + p1] = 0.0"


@ps.nest
def by_constants(a: ps.f64["n", "4"], b: ps.f64["n * 4"], n: size):
    for p in range(n * 4):
        b[p] = a[p // 4, p % 4]


def test_constants_as_factors():
    assert apart(by_constants) == (
        "for p0 in 0..n:\n    for p1 in 0..4:\n        b[p0 * 4 + p1] = a[p0, p1]"
    )


@ps.nest
def parity(a: ps.f64["2 * n"], n: size):
    for p in range(n * 2):
        if p % 2 == 0:
            a[p] = 0.0


def test_an_affine_loop_whose_body_takes_one_part_alone_stays():
    assert unfuse(parity.function) is parity.function


@ps.nest
def shuffle(a: ps.f64["n", "g", "k", "s"], out: ps.f64["n", "k * g", "s"], n: size, g: size, k: size, s: size):
    for p in range(n * (g * k) * s):
        c = p // s % (k * g)
        out[p // (g * k * s), c % g * k + c // g, p % s] = a[p // (g * k * s), c // g, c % g, p % s]


def test_systems_of_digits_one_of_which_refines_the_other():
    assert apart(shuffle) == (
        "for p0 in 0..n:\n"
        "    for p1 in 0..k:\n"
        "        for p2 in 0..g:\n"
        "            for p3 in 0..s:\n"
        "                out[p0, p2 * k + p1, p3] = a[p0, p1, p2, p3]"
    )


@ps.nest
def two_systems(a: ps.f64["n", "c"], b: ps.f64["c", "n"], n: size, c: size):
    for p in range(n * c):
        if p // c + p % c > 1:
            a[p // c, p % c] = b[p // n, p % n]


def test_of_systems_that_do_not_fit_the_more_frequent_one():
    assert apart(two_systems) == (
        "for p0 in 0..n:\n"
        "    for p1 in 0..c:\n"
        "        if p0 + p1 > 1:\n"
        "            a[p0, p1] = b[floordiv(p0 * c + p1, n), floormod(p0 * c + p1, n)]"
    )


@ps.nest
def clash(a: ps.f64["h", "w"], p0: ps.f64["h", "w"], h: size, w: size):
    for x in range(h):
        for p in range(h * w):
            y = p // w
            for q in range(w * h):
                a[y, p % w] = p0[q % h, q // h] + a[x, 0]


def test_names_that_are_taken():
    assert apart(clash) == (
        "for x in 0..h:\n"
        "    for y in 0..h:\n"
        "        for p1 in 0..w:\n"
        "            for q0 in 0..w:\n"
        "                for q1 in 0..h:\n"
        "                    a[y, p1] = p0[q1, q0] + a[x, 0]"
    )


def test_a_name_from_another_nest_that_is_a_loop_around_this_one():
    h, w, p, x = (var(name) for name in "hwpx")
    out = Array("out", i64, (w,))
    named = loop("p", 0, mul(h, w), Let("x", floormod(p, w)), store(out, (x,), 0))
    other = loop("p", 0, mul(h, w), store(out, (floormod(p, w),), x))
    assert apart(nest("f", "h w", [out], named, loop("x", 0, 2, other))).splitlines()[1:] == [
        "    for p1 in 0..w:",
        "        out[p1] = 0",
        "for x in 0..2:",
        "    for p2 in 0..h:",
        "        for p3 in 0..w:",
        "            out[p3] = x",
    ]


@ps.nest
def reserved(a: ps.f64["h", "w"], h: size, w: size):
    for p in range(h * w):
        mod = p % w
        a[p // w, mod] = 0.0


def test_a_name_that_isl_keeps_for_itself():
    assert "for p1 in 0..w" in apart(reserved)
    ps.optimize(reserved)


@ps.nest
def extents(a: ps.f64["h - 2", "w // 2"], h: size, w: size):
    for p in range((h - 2) * (w // 2)):
        a[p // (w // 2), p % (w // 2)] = 0.0


def test_factors_are_what_extents_may_be():
    assert apart(extents) == (
        "for p0 in 0..h - 2:\n    for p1 in 0..floordiv(w, 2):\n        a[p0, p1] = 0.0"
    )


@ps.nest
def below_zero(a: ps.f64["n"], h: size, w: size, n: size):
    for p in range((h - 2) * (w - 2)):
        a[p // (w - 2) % n] += p % (w - 2)


@ps.nest
def one_below_zero(a: ps.f64["n"], h: size, w: size, n: size):
    for p in range(h * (w - 2)):
        a[0] += p // (w - 2)


def test_two_factors_below_zero_have_a_product_above():
    assert unfuse(below_zero.function) is below_zero.function
    assert "for p0 in 0..h:\n    for p1 in 0..w - 2:" in apart(one_below_zero)


@ps.nest
def downwards(a: ps.f64["n", "m"], b: ps.f64["n * m"], n: size, m: size):
    for p in range(n * m - 1, -1, -1):
        b[p] = a[p // m, p % m] + p


def test_a_loop_that_counts_down_becomes_loops_that_do():
    assert apart(downwards) == (
        "for p0 in n - 1..-1 by -1:\n"
        "    for p1 in m - 1..-1 by -1:\n"
        "        b[p0 * m + p1] = a[p0, p1] + f64(p0 * m + p1)"
    )


@ps.nest
def mirrored(a: ps.f64["n", "h", "w"], b: ps.f64["n * h * w"], n: size, h: size, w: size):
    for p in range(n * h * w):
        b[p] = a[(n * h * w - 1 - p) // (h * w), (n * h * w - p - 1) // w % h, (n * (w * h) - (1 + p)) % w]


def test_digits_of_what_counts_from_the_end():
    assert apart(mirrored).splitlines()[-1].strip() == (
        "b[(p0 * h + p1) * w + p2] = a[n - 1 - p0, h - 1 - p1, w - 1 - p2]"
    )


@ps.nest
def one_off(a: ps.f64["n", "m"], b: ps.f64["n * m"], n: size, m: size):
    for p in range(n * m):
        b[p] = a[(n * m - p) // m, p % m] + a[(n * m - 2 * p - 1) // m, p % m] + a[(2 * n * m - 1 - p) // m, p % m]


def test_other_differences_are_no_digits():
    assert apart(one_off).count("a[floordiv(") == 3


@ps.nest
def rows_elsewhere(a: ps.f64["h * w"], b: ps.f64["w * h"], h: size, w: size):
    for p in range(h * w):
        a[p] = 1.0
    for i in range(w):
        for j in range(h):
            b[i * h + j] = a[i * h + j]


def test_without_digits_rows_are_as_long_as_elsewhere():
    assert apart(rows_elsewhere).startswith("for p0 in 0..w:\n    for p1 in 0..h:\n        a[p0 * h + p1] = 1.0")


@ps.nest
def others(a: ps.f64["n", "m"], n: size, m: size):
    for p in range(1, n * m):
        a[p // m, p % m] = 1.0
    for p in range(0, n * m, 2):
        a[p // m, p % m] = 2.0
    for p in range(n * m - 1, 0, -1):
        a[p // m, p % m] = 3.0
    for p in range(n * m + 1):
        a[p // m % n, p % m] = 4.0
    for p in range(n):
        a[p // 4, p % 4] = 5.0


def test_other_loops_stay():
    assert unfuse(others.function) is others.function


@pytest.mark.parametrize("fn", [*canonical(), random_nest(random.Random(0))])
def test_where_there_is_nothing_to_do_the_same_object_comes_back(fn):
    assert unfuse(fn) is fn


def test_it_is_idempotent():
    for given in (flatten, named, guarded, shuffle, two_systems, clash, downwards, mirrored, one_off):
        once = unfuse(given.function)
        assert unfuse(once) is once


def test_the_kind_of_a_loop_and_its_place_stay():
    (fused,) = flatten.function.body
    for kind, same in (("parallel", False), ("vector", True), ("block.x", True)):
        fn = replace(flatten.function, body=(replace(fused, kind=kind),))
        taken = unfuse(fn)
        assert (taken is fn) is same
        loops = [node for node in walk(taken.body) if isinstance(node, For)]
        assert {node.kind for node in loops} == {kind}
        assert {node.loc for node in loops} == {fused.loc}


def test_a_product_that_no_call_is_checked_for_stays():
    """Of n * m alone it is known that it does not wrap."""
    n, m, k, p, nm, out = *(var(name) for name in "nmkp"), var("nm"), Array("out", i64, (var("n"),))
    body = loop("p", 0, mul(nm, k), store(out, (floordiv(p, mul(m, k)),), 0))
    fn = nest("f", "n m k", [out], Let("nm", mul(n, m)), body)
    assert unfuse(fn) is fn
    assert unfuse(nest("f", "n m k", [out], Let("nm", mul(n, m, k)), replace(body, hi=nm))) is not fn


def test_calls_whose_products_wrap_are_refused():
    @ps.nest
    def count(a: ps.i64["1"], n: ps.size, m: ps.size):
        for p in range(n * m):
            a[0] += p // m

    counted = ps.optimize(count)
    a = np.zeros(1, np.int64)
    counted(a=a, n=3, m=5)
    assert a[0] == 15
    with pytest.raises(ps.PolyschedError, match=r"with n = 4294967296 and m = 4294967296, n \* m in count outgrows 7"):
        counted(a=a, n=1 << 32, m=1 << 32)
    with pytest.raises(ps.PolyschedError, match="outgrows"):
        counted(a=a, n=1 << 56, m=2)


# --- random fused nests

SIZES = "n m k"
FACTORS = [var("n"), var("m"), var("k"), lift(2), lift(3)]


class _Fused:
    """A nest over a product, whose body takes the variable apart in ways that fit, and in others."""

    def __init__(self, rng: random.Random):
        self.rng = rng
        self.factors = rng.sample(FACTORS, rng.randint(1, 4))
        self.scalars: list[Expr] = []
        self.size = mul(*self.factors)

    def function(self) -> Function:
        out, data = Array("out", i64, (self.size,)), Array("data", i64, (lift(7),))
        self.arrays = out, data
        body = loop("p", 0, self.size, *self.block(2))
        again = loop("p", 0, self.size, store(out, (var("p"),), add(load(out, var("p")), self.index(2))))
        return nest("fused", SIZES, [out, data], *self.rng.sample((body, again), self.rng.randint(1, 2)))

    def block(self, depth: int) -> list[Stmt]:
        before, body = list(self.scalars), list[Stmt]()
        for _ in range(self.rng.randint(0, 2)):
            body += self.scalar()
        for _ in range(self.rng.randint(1, 2)):
            body.append(self.statement(depth))
        self.scalars = before
        return body

    def scalar(self) -> list[Stmt]:
        name = f"s{self.rng.randrange(10**6)}"
        value = self.index(2)
        if self.rng.random() < 0.3:
            self.scalars.append(var(name))
            return [Let(name, value)]
        scalar = Array(name, i64, (), "private")
        self.scalars.append(load(scalar))
        return [Alloc(scalar), store(scalar, (), value)]

    def statement(self, depth: int) -> Stmt:
        out, data = self.arrays
        chance = self.rng.random()
        if depth and chance < 0.2:
            cond = binary(self.rng.choice(("<", "==", ">=")), self.index(1), self.index(1))
            return If(cond, tuple(self.block(depth - 1)))
        if depth and chance < 0.4:
            return loop(f"q{depth}", 0, self.rng.choice((lift(2), var("k"), mul(var("m"), 2))), *self.block(depth - 1))
        at = self.rng.choice((var("p"), var("p"), floormod(self.index(1), self.size)))
        value = add(load(out, at), load(data, floormod(self.index(2), 7)), self.index(2))
        return store(out, (at,), value)

    def index(self, depth: int) -> Expr:
        """In a loop over the product, no quotient by some of its factors traps."""
        if not depth or self.rng.random() < 0.2:
            return self.rng.choice((var("p"), var("p"), var("p"), *self.scalars))
        inner = self.index(depth - 1)
        among = self.factors if self.rng.random() < 0.9 else FACTORS
        divisor = mul(*self.rng.sample(among, self.rng.randint(1, len(self.factors))))
        match self.rng.randrange(8):
            case 0:
                return sub(inner, mul(floordiv(inner, divisor), divisor))
            case 1:
                return add(inner, self.index(depth - 1))
            case _:
                return binary(self.rng.choice(("floordiv", "floormod", "truncdiv", "truncmod")), inner, divisor)


def _arguments(fn: Function, rng: random.Random) -> dict[str, Any]:
    sizes = {name: rng.choice((0, 1, 2, 3)) for name in fn.sizes}
    counts = {array.name: evaluate(array.shape[0], sizes) for array in fn.arrays}
    values = {name: [rng.randint(-9, 9) for _ in range(count)] for name, count in counts.items()}
    return sizes | {name: np.array(some, np.int64) for name, some in values.items()}


def _outcome(fn: Function, arguments: dict[str, Any]) -> Any:
    """The results, or that it traps."""
    try:
        return outcome(fn, arguments)["out"].tolist()
    except ZeroDivisionError:
        return "trap"


@pytest.mark.parametrize("seed", range(200))
def test_the_interpreter_sees_no_difference(seed):
    rng = random.Random(seed)
    fn = _Fused(rng).function()
    taken = unfuse(fn)
    verify(taken, "source")
    for _ in range(3):
        arguments = _arguments(fn, rng)
        assert _outcome(taken, arguments) == _outcome(fn, arguments), f"{fn}\n{taken}\n{arguments}"


def test_most_random_nests_are_taken_apart():
    """... or the test above shows nothing."""
    changed = [unfuse(fn) is not fn for fn in (_Fused(random.Random(seed)).function() for seed in range(60))]
    assert sum(changed) > 30
