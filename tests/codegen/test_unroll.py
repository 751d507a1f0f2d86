from functools import partial

import pytest

from polysched.codegen.loops import unroll
from polysched.ir.build import add, const, load, mul, store, var
from polysched.ir.dtypes import f32
from polysched.ir.node import walk
from polysched.ir.nodes import Array, Barrier, Binary, Expr, For, Function, If, Let, Select, Stmt
from polysched.ir.text import show
from tests.nests import canonical, loop, nest

hint_unrolling = partial(unroll.hint_unrolling, most_trips=8)
A, C = (Array(name, f32, (const(1 << 20),)) for name in "AC")
i, j, k, n = map(var, "ijkn")


def kernel(*body: Stmt) -> Function:
    threads = loop("t", 0, 32, *body, kind="thread.x")
    return nest("f", "n", (A, C), loop("b", 0, n, threads, kind="block.x"))


def hinted(fn: Function) -> list[str]:
    """The variables of loops that the pass marks."""
    return [node.var for node in walk(hint_unrolling(fn).body) if isinstance(node, For) and node.kind == "unrolled"]


def at(index: Expr) -> Stmt:
    return store(C, (var("t"),), load(A, index))


def test_A21_constant_loops_of_few_iterations_carry_a_hint():
    fn = kernel(loop("i", 0, n, loop("j", 0, 3, at(add(mul(i, 3), j)))))
    assert show(hint_unrolling(fn).body) == (
        "for b in 0..n (block.x):\n"
        "    for t in 0..32 (thread.x):\n"
        "        for i in 0..n:\n"
        "            for j in 0..3 (unrolled):\n"
        "                C[t] = A[i * 3 + j]"
    )


def test_loops_in_each_other_are_unrolled_together():
    assert hinted(kernel(loop("i", 0, 4, loop("j", 0, 4, at(add(mul(i, 4), j)))))) == ["i", "j"]


@pytest.mark.parametrize(
    ("stmt", "marked"),
    [
        (loop("i", 0, 9, at(i)), []),
        (loop("i", 0, 1, at(i)), []),
        (loop("i", 0, n, at(i)), []),
        (loop("i", 0, 8, loop("j", 0, n, at(add(i, j)))), []),  # the loop in it stays
        (loop("i", 0, 8, Barrier(), at(i)), ["i"]),
        (If(Binary("<", n, const(3)), (loop("i", 0, 8, at(i)),), (loop("j", 0, 8, at(j)),)), ["i", "j"]),
    ],
)
def test_which_loops(stmt, marked):
    assert hinted(kernel(stmt)) == marked


def test_A21_what_is_loaded_fits_registers():
    grid = loop("i", 0, 8, loop("j", 0, 8, loop("k", 0, 2, at(add(mul(i, 8), j)))))
    assert hinted(kernel(grid)) == ["i", "j", "k"]  # 64 elements, each of them twice
    grid = loop("i", 0, 8, loop("j", 0, 8, loop("k", 0, 2, at(add(mul(i, 16), mul(j, 2), k)))))
    assert hinted(kernel(grid)) == ["j", "k"]


def test_what_a_name_is_bound_to_counts():
    row = loop("j", 0, 8, Let("t", add(mul(i, 8), j)), loop("k", 0, 2, at(add(var("t"), k))))
    assert hinted(kernel(loop("i", 0, 8, row))) == ["j", "k"]  # 128 elements; t changes with i and j


def test_what_folds_when_unrolled_is_not_counted():
    sign = Select(Binary("<", add(i, j), k), const(1), const(0))
    body: Stmt = store(C, (mul(sign, n),), load(A, n))
    for name in "kji":
        body = loop(name, 0, 8, body)
    assert hinted(kernel(body)) == ["i", "j", "k"]
    factors = [add(mul(n, i), j), add(mul(n, j), k), add(mul(n, k), i)] * 12
    costly: Stmt = store(C, (mul(*factors),), load(A, n))
    for name in "kji":
        costly = loop(name, 0, 8, costly)
    assert hinted(kernel(costly)) == ["j", "k"]


def test_only_in_threads_of_a_gpu():
    for fn in canonical():
        assert hint_unrolling(fn) is fn
    once = hint_unrolling(kernel(loop("i", 0, 8, at(i))))
    assert hint_unrolling(once) is once
