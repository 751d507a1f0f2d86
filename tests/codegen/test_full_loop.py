import pytest

from polysched.codegen.full_loop import full_loop
from polysched.ir.build import add, binary, mul, store, sub, var
from polysched.ir.dtypes import f64
from polysched.ir.nodes import Array, Const, For
from polysched.ir.text import show

n, o, x = var("n"), var("o"), var("x")
BODY = (store(Array("a", f64, (n,)), (add(mul(8, o), x),), 0.0),)


def loop(lo, hi, step=1, kind="serial") -> For:
    return For("x", lo, hi, step, BODY, kind)


def first_lines(node: For) -> list[str]:
    return [line.strip() for line in show(node).splitlines()[:-1]]


@pytest.mark.parametrize(
    ("lo", "hi", "guard"),
    [
        (Const(0), add(binary("min", 7, sub(sub(n, mul(8, o)), 1)), 1), "8 * o + x < n"),
        (Const(0), add(binary("min", 7, sub(sub(n, mul(8, o)), 3)), 1), "8 * o + x < n - 2"),
        (Const(0), add(mul(-8, o), n), "8 * o + x < n"),
        (binary("max", 0, sub(1, o)), Const(8), "1 - o <= x"),
    ],
)
def test_bounds_become_a_guard(lo, hi, guard):
    assert first_lines(full_loop(loop(lo, hi), 8)) == ["for x in 0..8:", f"if {guard}:"]


def test_a_loop_that_is_full_has_no_guard():
    assert first_lines(full_loop(loop(Const(0), add(7, 1)), 8)) == ["for x in 0..8:"]


@pytest.mark.parametrize("kept", [loop(Const(0), n, step=2), loop(Const(0), n, kind="thread.x")])
def test_strides_and_threads_keep_their_bounds(kept):
    assert full_loop(kept, 8) is kept
