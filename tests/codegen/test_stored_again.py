"""polysched/codegen/emit/gcc/stored_again.py: outer loops that gcc must not run as vectors."""

from __future__ import annotations

import numpy as np
import pytest
from nests import loop, nest

from polysched.codegen.emit.c import emit_c
from polysched.ir.build import add, const, load, mul, sub, var
from polysched.ir.dtypes import f64
from polysched.ir.nodes import Array, Expr, Function, Let, Store
from polysched.runtime.cpu import load as compiled

i, j, k, n, t = map(var, "ijknt")
A, B = Array("A", f64, (const(1000),)), Array("B", f64, (const(1000),))
KEPT = '__asm__ volatile ("");'


def stored(index: Expr, kind: str = "serial", rows: Expr | int = n, columns: Expr | int = n) -> Function:
    """for i: for j: A[index] = B[i]"""
    body = Let("t", index), Store("A", (t,), load(B, i))
    return nest("kernel", "n", [A, B], loop("i", 0, rows, loop("j", 0, columns, *body, kind=kind)))


@pytest.mark.parametrize("kind", ["serial", "vector"])
@pytest.mark.parametrize(
    "index", [add(i, j), add(sub(i, j), n), add(mul(i, 2), j)], ids=["i + j", "i - j + n", "2 * i + j"]
)
def test_the_last_store_stays_the_last(index, kind):
    fn = stored(index, kind)
    source = emit_c(fn)
    assert KEPT in source.text
    a, b, expected = np.zeros(1000), np.arange(1.0, 1001), np.zeros(1000)
    compiled(source, fn)(A=a, B=b, n=130)
    for row in range(130):
        for column in range(130):
            expected[{0: row + column, 1: row - column + 130, 2: 2 * row + column}[_which(index)]] = b[row]
    np.testing.assert_array_equal(a, expected)


def _which(index: Expr) -> int:
    return [add(i, j), add(sub(i, j), n), add(mul(i, 2), j)].index(index)


@pytest.mark.parametrize(
    ("index", "is_kept"),
    [
        (add(mul(i, n), j), False),
        (add(mul(j, n), i), False),
        (add(mul(i, add(n, 1)), j), False),
        (mul(add(i, j), n), True),
        (i, False),
        (j, False),
    ],
    ids=["rows", "columns", "diagonals", "rows again", "the outer alone", "the inner alone"],
)
def test_elements_of_different_rows_are_apart(index, is_kept):
    assert (KEPT in emit_c(stored(index)).text) == is_kept


def test_rows_of_constant_size_are_compared_with_how_far_the_loops_run():
    assert KEPT not in emit_c(stored(add(mul(i, 40), j), columns=40)).text
    assert KEPT not in emit_c(stored(add(mul(j, 25), i), rows=25)).text
    assert KEPT in emit_c(stored(add(mul(i, 40), j), columns=41)).text
    assert KEPT in emit_c(stored(add(mul(i, 40), j))).text


def test_a_block_of_rows_is_as_far_as_it_runs_once():
    start = mul(i, 24)
    body = loop("j", 0, n, Store("A", (add(sub(k, start), mul(j, 24)),), load(B, k)))
    fn = nest("kernel", "n", [A, B], loop("i", 0, n, loop("k", start, add(start, 24), body)))
    assert KEPT not in emit_c(fn).text


def test_what_is_loaded_too_is_seen_by_gcc():
    update = Store("A", (add(i, j),), add(load(A, add(i, j)), load(B, i)))
    fn = nest("kernel", "n", [A, B], loop("i", 0, n, loop("j", 0, n, update)))
    assert KEPT not in emit_c(fn).text
