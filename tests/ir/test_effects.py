from __future__ import annotations

import pytest

from polysched.ir.build import add, const, floordiv, mul, var
from polysched.ir.dtypes import f64, i64
from polysched.ir.effects import is_pure, is_total
from polysched.ir.nodes import Binary, Call, Cast, Expr, Load

i, n = var("i"), var("n")


@pytest.mark.parametrize(
    ("expr", "total"),
    [
        (add(mul(i, 4), n), True),
        (floordiv(i, 4), True),
        (floordiv(i, 0), False),
        (floordiv(i, n), False),  # n may be zero
        (Binary("<<", i, const(63)), True),
        (Binary("<<", i, const(64)), False),
        (Binary(">>", i, n), False),
        (Load("A", (i,), i64), False),  # may be out of bounds
        (add(1, Load("A", (i,), i64)), False),
        (Cast(i, f64), True),
        (Cast(var("v", f64), i64), False),  # may be out of range
        (Call("sqrt", (var("v", f64),), f64), True),
        (Call("rand", (), i64, pure=False), False),
    ],
)
def test_is_total(expr: Expr, total: bool) -> None:
    assert is_total(expr) == total


def test_is_pure() -> None:
    assert is_pure(floordiv(Load("A", (i,), i64), n))
    assert not is_pure(add(1, Call("rand", (), i64, pure=False)))
