"""polysched/codegen/expr/digits.py: digits of a number that are put together again."""

import random

from polysched.codegen.expr.digits import join_digits
from polysched.ir.build import add, const, floordiv, floormod, load, mul, store, var
from polysched.ir.dtypes import f64, i64
from polysched.ir.nodes import Array, Binary, Function, If, Let, Stmt
from polysched.ir.text import show
from tests.codegen.programs import random_program
from tests.nests import arguments_for, assert_same_outcome, canonical, loop, nest

n, m, w, p, x, y = map(var, ("n", "m", "w", "p", "x", "y"))
A, B = Array("A", f64, (mul(n, m, w),)), Array("B", f64, (mul(n, m),))
NUMBERS = Array("numbers", i64, (n,))


def digits(*body: Stmt, end=None) -> Function:
    lets = (Let("x", floormod(p, m)), Let("y", floordiv(p, m)))
    return nest("f", "n m w", (A, B), loop("p", 0, mul(n, m) if end is None else end, *lets, *body))


def lines(fn: Function) -> list[str]:
    return [line.strip() for line in show(join_digits(fn).body).splitlines()]


def test_planes_that_were_folded_are_addressed_by_their_number():
    fn = digits(store(A, (add(mul(y, m, w), mul(w, x), 0),), load(B, add(x, mul(m, y)))))
    assert lines(fn) == ["for p in 0..n * m:", "A[w * p + 0] = B[p]"]
    arguments = {"n": 2, "m": 3, "w": 1}
    given = arguments_for(fn, random.Random(0), 3) | arguments
    given |= {"A": given["A"][:6].copy(), "B": given["B"][:6].copy()}
    assert_same_outcome(fn, join_digits(fn), given)


def test_three_digits():
    lets = (Let("x", floormod(p, m)), Let("q", floordiv(p, m)), Let("y", floormod(var("q"), n)))
    lets += (Let("z", floordiv(var("q"), n)),)
    index = add(mul(var("z"), mul(n, m)), mul(y, m), x)
    fn = nest("f", "n m w", (A,), loop("p", 0, mul(w, n, m), *lets, store(A, (index,), 1.0)))
    assert lines(fn) == ["for p in 0..w * n * m:", "A[p] = 1.0"]


def test_digits_that_are_used_otherwise_stay():
    fn = digits(store(A, (add(mul(y, m), x),), load(B, x)))
    assert lines(fn) == ["for p in 0..n * m:", "x = floormod(p, m)", "A[p] = B[x]"]


def test_what_is_no_number():
    for index in (add(mul(y, w), x), add(mul(y, m), mul(x, 2)), add(mul(x, m), y)):
        fn = digits(store(A, (index,), 1.0))
        assert join_digits(fn) is fn
    mixed = (Let("x", Binary("truncmod", p, m)), Let("y", floordiv(p, m)), store(A, (add(mul(y, m), x),), 1.0))
    fn = nest("f", "n m w", (A,), loop("p", 0, mul(n, m), *mixed))
    assert join_digits(fn) is fn


def test_a_division_that_may_trap_stays():
    fn = digits(store(A, (add(mul(y, m), x),), 1.0), end=n)
    assert lines(fn) == ["for p in 0..n:", "x = floormod(p, m)", "y = floordiv(p, m)", "A[p] = 1.0"]
    inline = nest("f", "n m w", (A,), loop("p", 0, n, store(A, (add(mul(floordiv(p, m), m), floormod(p, m)),), 1.0)))
    assert join_digits(inline) is inline


def test_a_condition_keeps_a_division_from_trapping_on_one_side():
    number = store(A, (add(mul(floordiv(p, m), m), floormod(p, m)),), 1.0)
    fn = nest("f", "n m w", (A,), loop("p", 0, n, If(Binary("<", const(0), m), (number,), (number,))))
    assert lines(fn)[1:] == ["if 0 < m:", "A[p] = 1.0", "else:", "A[floordiv(p, m) * m + floormod(p, m)] = 1.0"]


def test_digits_of_what_was_stored_over_stay():
    number = load(NUMBERS, const(0))
    lets = (Let("x", floormod(number, m)), Let("y", floordiv(number, m)))
    fn = nest("f", "n m w", (A, NUMBERS), *lets, store(NUMBERS, (const(0),), 0), store(A, (add(mul(y, m), x),), 1.0))
    assert join_digits(fn) is fn


def test_random_programs_compute_the_same():
    for seed in range(60):
        fn = random_program(random.Random(seed))
        after = join_digits(fn)
        assert join_digits(after) is after
    for fn in canonical():
        assert join_digits(fn) is fn
