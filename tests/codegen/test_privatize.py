"""polysched/codegen/parallel/privatize.py: threads and lanes get accumulators of their own."""

from __future__ import annotations

import random
from dataclasses import replace

import nests
import numpy as np
import pytest
from nests import loop, nest

from polysched.codegen.emit.c import emit_c
from polysched.codegen.memory.linearize import linearize
from polysched.codegen.parallel.privatize import privatize
from polysched.config.heuristics.cpu import PARTS
from polysched.errors import PolyschedError
from polysched.ir.arithmetic import binary as value_of
from polysched.ir.build import add, binary, load, mul, store, sub, var
from polysched.ir.dtypes import f32, f64, i32, i64, u8
from polysched.ir.interp import interpret
from polysched.ir.node import map_children, walk
from polysched.ir.nodes import PARALLEL, Alloc, Array, Const, For, If, Let
from polysched.ir.text import show
from polysched.ir.verify import verify
from polysched.model.reduction import identity

i, j, n, m = var("i"), var("j"), var("n"), var("m")
A, S, Y = Array("A", f64, (n, n)), Array("s", f64, (Const(1),)), Array("y", f64, (n,))
a, b = Array("a", f64, (n,)), Array("b", f64, (n,))
add_up = store(S, (0,), add(load(S, 0), mul(load(a, i), load(b, i))))


def reducing(*body, names="s", kind="parallel", lo=0, hi=n, step=1, arrays=(S, a, b, A, Y), around=None):
    """A nest of one loop that reduces the arrays named."""
    made = replace(loop("i", lo, hi, *body, step=step, kind=kind), reduces=tuple(names.split()))
    return nest("sums", "n", arrays, around(made) if around else made)


def run(fn, **arguments):
    interpret(fn, arguments)
    return arguments


def assert_same(fn, sizes=(0, 1, 2, 5, PARTS - 1, PARTS, PARTS + 1, 70), exact=False):
    """What it computes does not change, but for the rounding of floats."""
    done = privatize(fn)
    verify(done, "lowered")
    assert not any(node.reduces for node in walk(done.body) if isinstance(node, For) and node.kind in PARALLEL)
    for size in sizes:
        arguments = nests.arguments_for(fn, random.Random(size), size)
        expected, actual = nests.outcome(fn, arguments), nests.outcome(done, arguments)
        for name, values in expected.items():
            np.testing.assert_allclose(actual[name], values, rtol=0 if exact else 1e-12, err_msg=f"{name} of {size}")
    return done


def kinds(fn) -> list[str]:
    return [node.kind for node in walk(fn.body) if isinstance(node, For)]


def test_a_sum_on_threads_is_a_sum_of_32_parts():
    assert show(privatize(reducing(add_up))) == (
        "def sums(n: size, s: f64[1], a: f64[n], b: f64[n], A: f64[n, n], y: f64[n]):\n"
        "    alloc s_0: private f64[32]\n"
        "    p0 = floordiv(n + 31, 32) * 1\n"
        "    for p1 in 0..32 (parallel):\n"
        "        alloc s_1: private f64[]\n"
        "        s_1[] = -0.0\n"
        "        for i in 0 + p1 * p0..min(n, 0 + p1 * p0 + p0) (vector, reduces s_1):\n"
        "            s_1[] = s_1[] + a[i] * b[i]\n"
        "        s_0[p1] = s_1[]\n"
        "    for p2 in 0..32:\n"
        "        s[0] = s[0] + s_0[p2]"
    )


def test_a_sum_on_lanes_is_a_sum_in_a_variable_where_the_loop_runs():
    assert show(privatize(reducing(add_up, kind="vector"))) == (
        "def sums(n: size, s: f64[1], a: f64[n], b: f64[n], A: f64[n, n], y: f64[n]):\n"
        "    if 0 < n:\n"
        "        alloc s_0: private f64[]\n"
        "        s_0[] = s[0]\n"
        "        for i in 0..n (vector, reduces s_0):\n"
        "            s_0[] = s_0[] + a[i] * b[i]\n"
        "        s[0] = s_0[]"
    )


@pytest.mark.parametrize("kind", ["parallel", "dynamic", "vector"])
@pytest.mark.parametrize("op", ["+", "*", "min", "max"])
def test_every_reduction_of_floats_computes_the_same(op, kind):
    assert_same(reducing(store(S, (0,), binary(op, load(S, 0), load(a, i))), kind=kind))


@pytest.mark.parametrize("dtype", [i32, i64, u8])
@pytest.mark.parametrize("op", ["+", "*", "min", "max", "&", "|", "^"])
def test_every_reduction_of_integers_computes_the_same_bits(op, dtype):
    total, values = Array("s", dtype, (Const(1),)), Array("a", dtype, (n,))
    body = store(total, (0,), binary(op, load(total, 0), load(values, i)))
    assert_same(reducing(body, arrays=(total, values)), exact=True)


@pytest.mark.parametrize("dtype", [f32, f64, i32, i64, u8])
@pytest.mark.parametrize("op", ["+", "*", "min", "max", "&", "|", "^"])
def test_an_accumulator_begins_with_what_changes_no_value(op, dtype):
    if dtype.kind == "f" and op in "&|^":
        return
    samples = [-0.0, 0.0, 1.5, -2.0, float("inf"), float("-inf")] if dtype.kind == "f" else [0, 1, 5, 127]
    for x in samples:
        for pair in ((x, identity(op, dtype).value), (identity(op, dtype).value, x)):
            found = value_of(op, dtype)(*pair)
            assert repr(float(found)) == repr(float(x)), (op, dtype, x)


def test_differences_count_as_sums():
    assert_same(reducing(store(S, (0,), sub(load(S, 0), load(a, i)))))


def test_an_empty_loop_keeps_the_initial_value_and_its_sign():
    done = privatize(reducing(add_up, arrays=(S, a, b)))
    assert str(run(done, n=0, s=np.array([-0.0]), a=np.zeros(0), b=np.zeros(0))["s"][0]) == "-0.0"


def test_an_empty_simd_loop_does_not_touch_the_element():
    """s[n - 1] is not there when n is 0."""
    last = store(Y, (sub(n, 1),), add(load(Y, sub(n, 1)), load(a, i)))
    assert_same(reducing(last, names="y", kind="vector", arrays=(Y, a)))


def test_an_argument_without_dimensions_is_no_variable():
    argument = Array("s", f64, ())
    fn = reducing(store(argument, (), add(load(argument), load(a, i))), kind="vector", arrays=(argument, a))
    assert "(vector, reduces s_0)" in show(assert_same(fn))


def test_bounds_and_steps_are_kept():
    assert_same(reducing(add_up, lo=2, hi=sub(n, 1), step=3))


def test_two_accumulators_in_one_loop():
    squares = store(Y, (0,), binary("max", load(Y, 0), load(a, i)))
    fn = reducing(add_up, squares, names="s y")
    done = assert_same(fn, sizes=(1, 2, 5, 70))
    assert "(vector, reduces s_1, y_1)" in show(done)


def column_sums(lo=0, hi=n, index=j):
    return loop("j", lo, hi, store(Y, (index,), add(load(Y, index), mul(load(A, i, j), load(a, i)))))


def test_each_part_of_column_sums_has_a_row_where_the_loop_is_long():
    done = assert_same(reducing(column_sums(), names="y", arrays=(Y, A, a)), sizes=(0, 1, 5, 127, 128, 130))
    shapes = [show(node) for node in walk(done.body) if isinstance(node, Alloc)]
    assert shapes == ["alloc y_0: private f64[32, max(min(n - 1, n - 1) - max(0, 0) + 1, 0)]"]
    assert any(isinstance(node, If) and "n >= 128" in show(node.cond) for node in done.body)


def unconditional(fn):
    """Rows for loops of any length."""

    def visit(node):
        return node.then if isinstance(node, If) and "128" in show(node.cond) else map_children(node, visit)

    return map_children(fn, visit)


@pytest.mark.parametrize(
    ("lo", "hi", "index"),
    [(1, sub(n, 1), j), (0, i, j), (i, n, j), (0, sub(n, i), add(i, j)), (0, n, sub(sub(n, j), 1))],
)
def test_rows_hold_what_is_updated_and_stay_inside_of_the_array(lo, hi, index):
    fn = reducing(column_sums(lo, hi, index), names="y", arrays=(Y, A, a))
    done = unconditional(privatize(fn))
    for size in (0, 1, 2, 5, 40):
        arguments = nests.arguments_for(fn, random.Random(size), size)
        expected, actual = nests.outcome(fn, arguments), nests.outcome(done, arguments)
        np.testing.assert_allclose(actual["y"], expected["y"], rtol=1e-12)


def test_a_fixed_element_is_seen_through_names_and_sums():
    through = Let("k", sub(add(i, 3), i))
    fn = reducing(through, store(Y, (sub(var("k"), 3),), add(load(Y, sub(var("k"), 3)), load(a, i))), names="y")
    assert "alloc y_0: private f64[32]\n" in show(privatize(fn))
    assert_same(fn, sizes=(1, 2, 70))


def test_loops_inside_of_a_part_become_simd_on_its_variable():
    inner = replace(
        loop("j", 0, n, store(S, (0,), add(load(S, 0), load(A, i, j))), kind="vector"), reduces=("s",)
    )
    done = assert_same(reducing(inner, arrays=(S, A)), sizes=(0, 1, 5, 40))
    assert "(vector, reduces s_1)" in show(done) and kinds(done).count("parallel") == 1


def test_without_simd_a_part_is_a_plain_loop():
    assert kinds(privatize(reducing(add_up), vector=False)) == ["parallel", "serial", "serial"]


def test_where_threads_are_not_worth_it_lanes_are():
    fn = reducing(add_up)
    (only,) = fn.body
    fn = replace(fn, body=(replace(only, when=(binary(">=", n, 1000),)),))
    (branch,) = assert_same(fn).body
    assert show(branch.cond) == "n >= 1000"
    assert [node.kind for node in walk(branch.other) if isinstance(node, For)] == ["vector"]


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("vector", store(Y, (binary("floordiv", i, 2),), add(load(Y, binary("floordiv", i, 2)), load(a, i)))),
        ("parallel", store(Y, (0,), add(load(Y, 0), load(Y, 1)))),  # reads more of y than what it updates
        ("parallel", store(Y, (0,), sub(load(a, i), load(Y, 0)))),  # no reduction at all
    ],
)
def test_what_does_not_fit_runs_serially(kind, body):
    fn = reducing(body, names="y", kind=kind, arrays=(Y, a))
    assert kinds(assert_same(fn, sizes=(2, 5), exact=True)) == ["serial"]


def test_lanes_may_read_elements_that_nothing_updates():
    """As the rows of a triangular system do."""
    row = store(Y, (sub(n, 1),), sub(load(Y, sub(n, 1)), mul(load(a, i), load(Y, i))))
    done = assert_same(reducing(row, names="y", kind="vector", hi=sub(n, 1), arrays=(Y, a)))
    assert "y_0[] = y_0[] - a[i] * y[i]" in show(done)


def test_elements_that_move_in_two_dimensions_are_not_copied():
    block = loop("j", 0, n, loop("k", 0, n, store(A, (j, var("k")), add(load(A, j, var("k")), load(a, i)))))
    assert kinds(privatize(reducing(block, names="A", arrays=(A, a)))) == ["serial"] * 3


def test_an_element_that_gets_nothing_may_be_out_of_bounds():
    """y[i - 5] is not there at i = 0, 1, ..., where the loop inside has no iterations either."""
    place = sub(i, 5)
    update = store(Y, (place,), add(load(Y, place), load(a, j)))
    inner = replace(loop("j", 5, i, update, kind="parallel"), reduces=("y",))
    fn = nest("moved", "n", [Y, a], loop("i", 0, n, inner))
    assert "if i >= 5 && n + 4 >= i:" in show(privatize(fn))
    assert_same(fn)


def test_a_function_that_reduces_nothing_comes_back_as_it_is():
    fn = nests.gemm()
    assert privatize(fn) is fn


def test_the_text_of_simd_loops_names_operator_and_variable():
    fn = reducing(add_up, store(Y, (0,), binary("max", load(Y, 0), load(a, i))), names="s y", kind="vector")
    assert "#pragma omp simd reduction(+:s_0) reduction(max:y_0)" in emit_c(linearize(privatize(fn))).text


def test_a_parallel_loop_that_reduces_is_not_printed():
    with pytest.raises(PolyschedError, match="the parallel loop i all update s; run the pass `privatize` first"):
        emit_c(linearize(reducing(add_up)))


def test_an_array_that_is_not_there_is_not_reduced():
    with pytest.raises(Exception, match="loop i reduces q, which is no array"):
        verify(reducing(add_up, names="q"), "lowered")


def test_constants_of_unsigned_integers_fit():
    assert identity("&", u8) == Const(255, u8) and identity("max", u8) == Const(0, u8)
