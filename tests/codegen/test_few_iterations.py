"""polysched/codegen/emit/gcc/few_iterations.py: sums over loops that run few times."""

from __future__ import annotations

import numpy as np
import pytest
from nests import loop, nest

from polysched.codegen.emit.c import emit_c
from polysched.ir.build import add, binary, const, load, mul, store, sub, var
from polysched.ir.dtypes import f64, i64
from polysched.ir.nodes import Array, Expr, Function
from polysched.runtime.cpu import load as compiled

i, j, n = map(var, "ijn")
KEPT = '__asm__ volatile ("");'


def summed(rows: Expr | int, dtype=f64) -> Function:
    s, b = Array("s", dtype, (const(1),)), Array("b", dtype, (const(99),))
    terms = loop("j", 0, 4, store(s, [const(0)], add(load(s, 0), load(b, add(mul(i, 4), sub(3, j))))))
    return nest("summed", "n", [s, b], loop("i", 0, rows, terms))


@pytest.mark.parametrize("size", range(4))
def test_no_term_is_added_that_is_not_there(size):
    fn = summed(binary("min", n, 2))
    s, b = np.zeros(1), np.arange(1.0, 100)
    compiled(emit_c(fn), fn)(s=s, b=b, n=size)
    assert s[0] == b[: 4 * min(size, 2)].sum()


def test_only_sums_of_floats_over_few_iterations_are_kept():
    assert KEPT in emit_c(summed(binary("min", n, 2))).text
    for fn in (summed(n), summed(2), summed(binary("min", n, 40)), summed(binary("min", n, 2), i64)):
        assert KEPT not in emit_c(fn).text
