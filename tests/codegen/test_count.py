"""codegen/count.py: integer operations, written and executed."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from polysched.codegen.count import integer_operations, number, operations_by_loop
from polysched.ir.build import add, binary, const, load, mul, store, var
from polysched.ir.dtypes import i64
from polysched.ir.interp import interpret
from polysched.ir.node import children, walk
from polysched.ir.nodes import Array, Binary, Expr, For, Function, If, Let, Stmt, Store
from tests.nests import arguments_for, canonical, loop, nest, random_nest

OUT = Array("Out", i64, (const(100),))
a, i, j, k, n, m = map(var, "aijknm")


def function(*body: Stmt) -> Function:
    return nest("f", "n m", (OUT,), *body, scalars=(a,))


def one(subscript: object = 0) -> Store:
    return store(OUT, (subscript,), 1)


def executed(fn: Function, **sizes: int) -> str:
    return number(integer_operations(fn, sizes).executed)


def test_of_a_function_and_of_each_loop():
    fn = function(Let("row", mul(n, m)), loop("i", 0, n, one(i), loop("j", 0, m, one(add(mul(i, m), j)))))
    assert str(integer_operations(fn)) == "3 integer operations, 2 * m * n + 1 executed, 1 temporaries"
    assert str(integer_operations(fn, {"n": 10, "m": 3})) == "3 integer operations, 61 executed, 1 temporaries"
    loops = operations_by_loop(fn, {"n": 10, "m": 3})
    assert [(loop, count.written, count.executed) for loop, count in loops.items()] == [
        ("", 1, 1),
        ("i", 0, 0),
        ("j", 2, 60),
    ]


def test_loops_that_depend_on_others():
    fn = function(loop("i", 0, n, loop("j", i, n, one(add(i, j)))))
    assert executed(fn) == "n**2 / 2 + n / 2"
    assert executed(fn, n=10) == "55"
    tiles = function(loop("i", 0, n, loop("j", i, binary("min", n, add(i, 32)), one(add(i, j))), step=32))
    assert executed(tiles) == "unknown"
    assert executed(tiles, n=100) == "108"  # two for each of four bounds


def test_steps():
    assert executed(function(loop("i", 9, -1, one(mul(i, 2)), step=-3))) == "4"
    assert executed(function(loop("i", 0, 10, loop("j", i, n, one(add(i, j))), step=5))) == "2 * n - 5"


def test_conditions_at_sizes():
    fn = function(loop("i", 0, n, If(binary("<", i, 3), (one(add(i, 1)),), (one(add(mul(i, 2), 1)),))))
    assert executed(fn, n=10) == str(10 + 3 + 2 * 7)
    assert executed(fn) == "4 * n"  # both sides


def test_data_decides():
    fn = function(loop("i", 0, n, If(binary("<", load(OUT, i), 3), (one(add(i, 1)),))))
    assert executed(fn, n=10) == "20"
    fn = function(loop("i", 0, load(OUT, const(0)), one(add(i, 1))))
    assert executed(fn, n=10) == executed(fn) == "unknown"
    assert executed(function(loop("i", 0, a, one(add(i, 1)))), n=10) == "unknown"


def test_only_so_many_blocks_are_looked_at():
    fn = function(loop("i", 0, n, loop("j", 0, i, one(add(i, j)))))
    assert number(integer_operations(fn, {"n": 9}, most=20).executed) == "36"
    assert number(integer_operations(fn, {"n": 9}, most=5).executed) == "unknown"


def test_names_in_bounds():
    inner = loop("j", 0, var("last"), one(add(j, 1)))
    fn = function(Let("end", add(n, 1)), loop("i", 0, var("end"), Let("last", mul(i, 2)), inner))
    assert executed(fn, n=3) == str(1 + 4 + 2 * (0 + 1 + 2 + 3))
    assert executed(fn) == "n**2 + 2 * n + 2"


def test_large_sizes_without_a_visit_of_each_iteration():
    fn = function(loop("i", 0, n, loop("j", 0, n, loop("k", 0, n, one(add(i, mul(j, k)))))))
    assert executed(fn, n=10**6) == str(2 * 10**18)


COUNT = Array("count", i64, (const(1),))


def counting(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """The statements, which count their own operations as they run."""
    out: list[Stmt] = []
    for stmt in body:
        own = (child for child in children(stmt) if isinstance(child, Expr))
        written = sum(isinstance(node, Binary) and not node.left.dtype.is_float for expr in own for node in walk(expr))
        out += [store(COUNT, (0,), add(load(COUNT, const(0)), written))]
        match stmt:
            case For(body=inner):
                stmt = replace(stmt, body=counting(inner))
            case If(then=then, other=other):
                stmt = replace(stmt, then=counting(then), other=counting(other))
        out += [stmt]
    return tuple(out)


@pytest.mark.parametrize("seed", range(30))
def test_what_runs_is_counted(seed):
    rng = random.Random(seed)
    nests = canonical()
    fn = nests[seed] if seed < len(nests) else random_nest(rng)
    arguments = arguments_for(fn, rng, 4)
    count = np.zeros(1, dtype=np.int64)
    counted = replace(fn, arrays=(*fn.arrays, COUNT), params=(), body=counting(fn.body))
    interpret(counted, {**arguments, "count": count})
    sizes = {size: int(arguments[size]) for size in fn.sizes}
    assert integer_operations(fn, sizes).executed == count[0]
