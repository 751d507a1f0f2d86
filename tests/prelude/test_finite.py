"""polysched/prelude/padding/zeros.py: factors that are neither infinite nor NaN."""

from __future__ import annotations

import math

import pytest
from nests import loop, nest, var

import polysched as ps
from polysched.ir.build import binary, const, load, store
from polysched.ir.nodes import Alloc, Array, Cast, Const, Expr, Select, Stmt
from polysched.prelude.padding.zeros import finite_tables, is_finite

i = var("i")
A = Array("A", ps.f32, (const(3),))
TABLE = Array("table", ps.f32, (const(3),), "private")


@pytest.mark.parametrize(
    ("expr", "is_it"),
    [
        (Const(0.5, ps.f32), True),
        (Const(math.inf, ps.f32), False),
        (Const(math.nan, ps.f64), False),
        (Cast(Const(1e39, ps.f64), ps.f32), False),
        (Cast(Const(7e4, ps.f64), ps.f16), False),
        (Cast(binary("==", i, 0), ps.f32), True),
        (Cast(i, ps.f32), True),
        (Cast(i, ps.f16), False),
        (Select(binary("==", i, 0), Const(1.0, ps.f32), Const(-2.0, ps.f32)), True),
        (Select(binary("==", i, 0), Const(1.0, ps.f32), Const(math.inf, ps.f32)), False),
        (binary("*", Const(1e30, ps.f32), Const(1e30, ps.f32)), False),
        (load(A, i), False),
    ],
    ids=str,
)
def test_constants_integers_and_flags_are_finite(expr: Expr, is_it: bool):
    assert is_finite(expr) == is_it


@pytest.mark.parametrize(
    ("body", "tables"),
    [
        ([store(TABLE, (i,), Select(binary("==", i, 0), Const(1.0, ps.f32), Const(0.5, ps.f32)))], {"table"}),
        ([store(TABLE, (i,), Const(1.0, ps.f32)), store(TABLE, (i,), load(A, i))], set()),
        ([store(TABLE, (i,), Const(1.0, ps.f32)), store(A, (i,), Const(1.0, ps.f32))], {"table"}),
        ([store(A, (i,), Const(1.0, ps.f32))], set()),
    ],
    ids=["constants", "data", "a parameter", "nothing"],
)
def test_tables_of_finite_constants_are_those_a_nest_fills_itself(body: list[Stmt], tables: set[str]):
    fn = nest("fn", "", [A], Alloc(TABLE), loop("i", 0, 3, *body))
    assert finite_tables(fn) == tables
    assert is_finite(load(TABLE, i), finite_tables(fn)) == bool(tables)
