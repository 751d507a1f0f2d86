import random

import pytest

from polysched.ir.build import add, binary, load, mul, store, var
from polysched.ir.dtypes import f32, f64
from polysched.ir.nodes import Alloc, Array, Cast, Const, Function, If, Let, Stmt
from polysched.ir.text import show
from polysched.ir.verify import verify
from polysched.prelude.in_place import accumulate_in_place
from tests.codegen.programs import random_program
from tests.nests import arguments_for, assert_same_outcome, canonical, loop, nest

i, k, n, m = map(var, "iknm")
A, C = (Array(name, f64, (n,)) for name in "AC")
B = Array("B", f64, (n, m))
S = Array("s", f64, (), "private")
ZERO = Const(0.0, f64)
START, TOTAL = store(S, (), ZERO), load(S)
SUM = loop("k", 0, m, store(S, (), add(TOTAL, load(B, i, k))))
END = store(A, (i,), TOTAL)


def function(*body: Stmt) -> Function:
    fn = nest("f", "n m", (A, B, C), loop("i", 0, n, *body))
    verify(fn, "source")
    return fn


def test_a_row_sum():
    assert show(accumulate_in_place(function(Alloc(S), START, SUM, END)).body) == (
        "for i in 0..n:\n    A[i] = 0.0\n    for k in 0..m:\n        A[i] = A[i] + B[i, k]"
    )


def test_what_comes_after_stays_and_branches_are_looked_into():
    fn = function(If(binary("<", i, m), (Alloc(S), START, SUM, END, store(C, (i,), load(A, i)))))
    assert show(accumulate_in_place(fn).body).splitlines()[-1].strip() == "C[i] = A[i]"


@pytest.mark.parametrize(
    "body",
    [
        (Alloc(S), START, SUM, END, store(C, (i,), mul(TOTAL, TOTAL))),  # it is needed on
        (Alloc(S), START, SUM, store(A, (i,), mul(TOTAL, load(C, i)))),
        (Alloc(S), START, store(A, (i,), ZERO), SUM, END),  # the element is used in between
        (Alloc(S), START, loop("k", 0, m, store(S, (), add(TOTAL, load(A, k)))), END),
        (Alloc(S), If(binary("<", i, m), (START,)), SUM, END),  # it may not be set
        (Alloc(S), START, Let("at", mul(i, 1)), SUM, store(A, (var("at"),), TOTAL)),
        (Alloc(S), START, SUM, If(binary("<", i, m), (END,))),  # it may not be stored
        (Alloc(S), START, SUM, store(A, (binary("floordiv", i, m),), TOTAL)),
        (Alloc(S), START, store(S, (), add(TOTAL, load(C, i))), END),  # one statement, without a loop
    ],
)
def test_scalars_that_stay(body):
    fn = function(*body)
    assert accumulate_in_place(fn) is fn


def test_a_sum_of_another_type_stays():
    narrow = Array("s", f32, (), "private")
    total = load(narrow)
    fn = function(Alloc(narrow), store(narrow, (), Const(0.0, f32)), store(A, (i,), Cast(total, f64)))
    assert accumulate_in_place(fn) is fn


def test_other_nests_come_back_as_they_are():
    for fn in canonical():
        assert accumulate_in_place(fn) is fn


@pytest.mark.parametrize("seed", range(40))
def test_random_programs_compute_the_same_bits(seed):
    rng = random.Random(seed)
    fn = random_program(rng)
    after = accumulate_in_place(fn)
    verify(after, "source")
    assert accumulate_in_place(after) is after
    for size in (0, 2):
        assert_same_outcome(fn, after, arguments_for(fn, rng, size))
