# ruff: noqa: UP037 - annotations of nests name sizes by texts
from __future__ import annotations

import pytest

import polysched as ps
from polysched.ir.build import add, binary, const, load, mul, store, sub, var
from polysched.ir.dtypes import f64, i64
from polysched.ir.nodes import Array, Binary, Call, Expr, If, Load
from polysched.model.extract import extract
from polysched.model.reduction import reduction_operator

i, n = var("i"), var("n")
a, b = Array("a", f64, (n,)), Array("b", f64, (n,))
old, new = load(a, i), load(b, i)


@pytest.mark.parametrize(
    "value, operator",
    [
        (add(old, new), "+"),
        (add(new, old), "+"),
        (sub(old, new), "+"),
        (add(add(old, new), new), "+"),
        (sub(add(new, old), new), "+"),
        (mul(old, new), "*"),
        (binary("max", new, old), "max"),
        (binary("min", old, new), "min"),
        (add(old, load(a, add(i, 1))), "+"),
    ],
)
def test_updates_by_an_associative_operator(value, operator):
    assert reduction_operator((store(a, (i,), value),)) == operator


@pytest.mark.parametrize(
    "value",
    [
        new,
        old,
        sub(new, old),
        binary("/", old, new),
        add(mul(old, new), new),
        add(old, old),
        add(load(a, add(i, 1)), new),
        add(old, Call("roll", (), f64, pure=False)),
    ],
)
def test_what_is_no_reduction(value):
    assert reduction_operator((store(a, (i,), value),)) == ""


def test_bitwise_reductions_of_integers():
    bits = Array("bits", i64, ())
    assert reduction_operator((store(bits, (), Binary("^", load(bits), i)),)) == "^"


def test_a_subscript_that_is_loaded_may_differ_each_time():
    index: Expr = Load("where", (i,), i64)
    assert reduction_operator((store(a, (index,), add(load(a, index), new)),)) == ""


def test_one_unconditional_store_and_nothing_else():
    update = store(a, (i,), add(old, new))
    assert reduction_operator((update, update)) == ""
    assert reduction_operator((If(binary("<", i, const(3)), (update,)),)) == ""
    assert reduction_operator(()) == ""


@ps.nest
def triangular(x: ps.f64["n"], L: ps.f64["n", "n"], n: ps.size):
    for i in range(n):
        for j in range(i):
            x[i] = x[i] - L[i, j] * x[j]


@ps.nest
def paths(d: ps.f64["n", "n"], n: ps.size):
    for k in range(n):
        for i in range(n):
            for j in range(n):
                d[i, j] = min(d[i, j], d[i, k] + d[k, j])


@pytest.mark.parametrize(("nest", "operator"), [(triangular, "+"), (paths, "")])
def test_other_elements_may_be_read_if_none_is_the_updated_one(nest, operator):
    """d[i, k] is d[i, j] where j = k."""
    (statement,) = extract(nest.function).statements
    assert statement.reduction == operator
