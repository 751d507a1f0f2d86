import pytest

from polysched.codegen.expr.conditions import claim, merged
from polysched.ir.build import binary, const, load, store, var
from polysched.ir.dtypes import f64, i8, i64
from polysched.ir.interp import evaluate
from polysched.ir.nodes import Array, Expr, If, Unary
from polysched.ir.text import show

A = Array("A", i64, (const(9),))
i, n = var("i"), var("n")
x, y = var("x", f64), var("y", f64)


def no(cond: Expr) -> Expr:
    return Unary("!", cond)


EQUAL = [
    (binary("<", i, n), binary(">", n, i)),
    (binary("<", i, n), no(binary("<=", n, i))),
    (binary("<", i, 2), binary("<=", i, 1)),
    (binary(">", i, 2), binary(">=", i, 3)),
    (binary("==", i, 2), binary("==", const(2), i)),
    (binary("<", x, y), binary(">", y, x)),
    (binary("<=", x, y), no(no(binary(">=", y, x)))),
]


@pytest.mark.parametrize(("one", "two"), EQUAL)
def test_equal_and_opposite_conditions_claim_the_same(one, two):
    expr, holds = claim(one)
    assert claim(two) == (expr, holds)
    assert claim(no(two)) == (expr, not holds)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (binary("<", x, y), no(binary(">=", x, y))),  # x may be no number
        (binary("<", i, n), binary("<", n, i)),
        (binary("<=", var("b", i8), const(127, i8)), binary("<", var("b", i8), const(-128, i8))),
    ],
)
def test_other_conditions_do_not(one, two):
    assert claim(one)[0] != claim(two)[0]


@pytest.mark.parametrize("op", ["<", "<=", "==", "!=", ">=", ">"])
def test_a_claim_is_right_also_at_the_ends_of_a_type(op):
    values = [-128, -127, -1, 0, 1, 126, 127]
    for bound in values:
        for cond in (binary(op, var("b", i8), const(bound, i8)), binary(op, const(bound, i8), var("b", i8))):
            expr, holds = claim(cond)
            for value in values:
                assert evaluate(cond, {"b": value}) == (evaluate(expr, {"b": value}) == holds)


def put(value: int) -> tuple[object, ...]:
    return (store(A, (i,), value),)


def test_A12_opposite_conditions_merge_crosswise():
    one, two = If(binary("<", i, n), put(1), put(2)), If(binary("<=", n, i), put(3), put(4))
    assert show(merged(one, two)) == ("if i < n:\n    A[i] = 1\n    A[i] = 4\nelse:\n    A[i] = 2\n    A[i] = 3")


def test_A12_not_where_the_first_changes_the_condition():
    positive = binary(">", load(A, 0), 0)
    assert merged(If(positive, put(0)), If(no(positive), put(1))) is None
