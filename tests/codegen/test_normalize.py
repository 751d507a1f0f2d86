import os
import random
import subprocess
import sys

import pytest

from polysched.codegen.passes.count import integer_operations
from polysched.codegen.passes.normalize import normalize
from polysched.ir.build import add, binary, const, floordiv, load, mul, store, sub, var
from polysched.ir.dtypes import boolean, f64, i32, i64, u8
from polysched.ir.nodes import Alloc, Array, Call, Const, Expr, Function, If, Let, Select, Stmt, Unary
from polysched.ir.text import show
from polysched.ir.verify import verify
from tests.codegen.programs import random_program
from tests.nests import arguments_for, assert_same_outcome, canonical, loop, nest, random_nest

A, OUT, FLOATS = Array("A", i64, (const(100),)), Array("Out", i64, (const(100),)), Array("F", f64, (const(100),))
i, j, k, n, m = map(var, "ijknm")
x, y, z = (var(name, f64) for name in "xyz")


def in_loops(*body: Stmt) -> Function:
    """`body` inside of for i: for j: for k."""
    return nest("f", "n m", (A, OUT, FLOATS), loop("i", 0, n, loop("j", 0, n, loop("k", 0, n, *body))), scalars=(x, y, z))


def normal(expr: Expr, **options: bool) -> str:
    """The text of `expr` normalised as a Let inside of loops i, j, k."""
    fn = normalize(in_loops(Let("value", expr)), **options)
    return show(fn).splitlines()[-1].strip().removeprefix("value = ")


def test_operands_are_sorted_by_the_loops_they_depend_on():
    assert normal(add(k, mul(i, m), n, j)) == "n + i * m + j + k" or normal(add(k, mul(i, m), n, j)) == "n + m * i + j + k"
