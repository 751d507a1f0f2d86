import random

import numpy as np
import pytest

from polysched.codegen.expr.inverses import with_inverses
from polysched.ir.build import add, binary, const, load, sub, var
from polysched.ir.dtypes import f64
from polysched.ir.nodes import Alloc, Array, Binary, Call, Let, Store, Var
from polysched.ir.text import show
from tests.nests import arguments_for, loop, nest, outcome

n, i, j = var("n"), var("i"), var("j")
w, t = var("w", f64), var("t", f64)
A, B, S = Array("A", f64, (n,)), Array("B", f64, (n,)), Array("s", f64, (), "private")


def over(left, right):
    return Binary("/", left, right)


def function(*body):
    return nest("f", "n", [A, B], *body, scalars=(Var("w", f64),))


def changed(*body):
    fn = function(*body)
    return show(with_inverses(fn)) != show(fn)


def stored(value):
    return loop("i", 0, n, Store("B", (i,), value))


def test_the_inverse_of_what_stays_is_a_factor():
    assert "A[i] * (1.0 / w)" in show(with_inverses(function(stored(over(load(A, i), w)))))


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (stored(over(w, load(A, i))), "the divisor is another one each time"),
        (stored(over(load(A, i), load(B, const(0)))), "the loop may store it"),
        (stored(over(load(A, i), const(3.0, f64))), "the compiler knows the constant"),
        (stored(over(w, w)), "all of it stays"),
        (stored(over(load(A, i), Call("exp", (w,), f64))), "a call is left where it is"),
        (loop("i", 0, n, Let("t", load(A, i)), Store("B", (i,), over(load(A, i), t))), "it is named anew each time"),
        (Store("B", (const(0),), over(load(A, const(0)), w)), "there is no loop"),
        (stored(binary("floordiv", i, n)), "integers have no inverse"),
    ],
)
def test_what_would_not_gain_stays(body, why):
    assert not changed(body), why


def test_values_are_those_of_the_quotients_but_for_a_rounding():
    inner = loop("j", 0, n, Store("A", (j,), over(load(A, j), load(B, i))))
    outer = loop("i", 0, n, Store("B", (i,), over(sub(load(A, i), w), load(S))), inner)
    fn = function(Alloc(S), Store("s", (), add(w, const(2.0, f64))), outer)
    assert show(with_inverses(fn)).count("(1.0 / ") == 2
    given = arguments_for(fn, random.Random(0), n=5)
    with np.errstate(all="ignore"):
        before, after = outcome(fn, given), outcome(with_inverses(fn), given)
    for name in before:
        np.testing.assert_allclose(after[name], before[name], rtol=1e-14)
