"""polysched/codegen/emit/gcc/overwriting.py: branches that gcc must not turn into masked stores."""

from __future__ import annotations

import numpy as np
import pytest
from nests import loop, nest

from polysched.codegen.emit.c import emit_c
from polysched.ir.build import add, binary, const, load, mul, store, sub, var
from polysched.ir.dtypes import f32
from polysched.ir.nodes import Alloc, Array, Expr, Function, If, Stmt
from polysched.runtime.cpu import load as compiled

i, j, k, t = map(var, "ijkt")
OUT, A, Q = Array("out", f32, (const(60),)), Array("a", f32, (const(60),)), Array("q", f32, (const(30),), "private")
KEPT = '__asm__ volatile ("");'


def rows(statement: Stmt, first: Expr | int = 0) -> Stmt:
    return loop("k", first, 5, statement)


def at() -> Expr:
    return add(mul(sub(i, mul(t, 6)), 5), k)


ZERO, DATA = rows(store(Q, [at()], const(0.0, f32))), rows(store(Q, [at()], load(A, add(mul(i, 5), k))))
BRANCHES = {
    "an if": If(binary(">", i, 0), (DATA,)),
    "an else": If(binary("<=", i, 0), (), (DATA,)),
    "a loop of at most one iteration": loop("j", binary("max", sub(1, i), 0), 1, DATA),
}


def packed(*body: Stmt) -> Function:
    """Two blocks of six rows: `body` makes row i in q, which is copied out."""
    out = loop("j", 0, 30, store(OUT, [add(mul(t, 30), j)], load(Q, j)))
    return nest("packed", "", [OUT, A], loop("t", 0, 2, Alloc(Q), loop("i", mul(t, 6), mul(add(t, 1), 6), *body), out))


@pytest.mark.parametrize("branch", BRANCHES.values(), ids=BRANCHES)
def test_what_a_branch_overwrites_stays_overwritten(branch):
    fn = packed(ZERO, branch)
    source = emit_c(fn)
    assert source.text.count(KEPT) == (2 if isinstance(branch, If) and branch.other else 1)
    a = np.arange(1, 61, dtype=np.float32)
    out = np.zeros(60, np.float32)
    compiled(source, fn)(out=out, a=a)
    np.testing.assert_array_equal(out, np.where(np.arange(60) < 5, 0, a))


@pytest.mark.parametrize(
    "body",
    [
        (If(binary(">", i, 0), (DATA,), (ZERO,)),),
        (ZERO, DATA),
        (store(Q, [i], const(0.0, f32)), If(binary(">", i, 0), (store(Q, [i], const(1.0, f32)),))),
        (ZERO, loop("j", 0, i, If(binary(">", i, 0), (DATA,)))),
    ],
    ids=["one or the other", "no branch", "one element", "another loop"],
)
def test_other_branches_are_left_to_the_compiler(body):
    assert KEPT not in emit_c(packed(*body)).text
