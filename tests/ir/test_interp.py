"""The interpreter against plain Python and numpy; the arithmetic has its own test."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest

from polysched.errors import LaunchError
from polysched.ir.build import add, binary, const, load, mul, store, sub, var
from polysched.ir.dtypes import ALL, DType, boolean, f32, f64, i64
from polysched.ir.interp import Touch, evaluate, interpret
from polysched.ir.nodes import Alloc, Array, Barrier, Expr, For, Function, If, Let, Load, Select, Var
from tests.nests import (
    arguments_for,
    gemm,
    guarded,
    jacobi_1d,
    loop,
    lu,
    outcome,
    random_nest,
    reversed_sweep,
    seidel_2d,
    stencil2,
    strided,
    triangular,
)

i, n = var("i"), var("n")
A = Array("A", i64, (n,))


def test_an_array_that_is_too_large_is_named() -> None:
    large = Array("large", f64, (const(9999), const(5002), const(5004)), space="private")
    fn = Function("f", ("n",), (A,), (Alloc(large), loop("i", 0, n, store(A, (i,), i))))
    with pytest.raises(LaunchError, match=r"'large' of 9999 x 5002 x 5004 elements takes 2.0e\+12 bytes, and the"):
        interpret(fn, {"n": 2, "A": np.arange(2)})


def test_a_sum() -> None:
    fn = Function("f", ("n",), (A,), (loop("i", 1, n, store(A, (i,), add(load(A, i), load(A, sub(i, 1))))),))
    array = np.arange(5)
    interpret(fn, {"n": 5, "A": array})
    assert array.tolist() == [0, 1, 3, 6, 10]


def test_gemm() -> None:
    given = arguments_for(gemm(), random.Random(0), 4)
    expected = given["beta"] * given["C"] + given["alpha"] * given["A"] @ given["B"]
    np.testing.assert_allclose(outcome(gemm(), given)["C"], expected)


def test_jacobi_1d() -> None:
    given = arguments_for(jacobi_1d(), random.Random(0), 6)
    a, b = given["A"].copy(), given["B"].copy()
    for _ in range(given["tsteps"]):
        b[1:-1] = 0.33333 * (a[:-2] + a[1:-1] + a[2:])
        a[1:-1] = 0.33333 * (b[:-2] + b[1:-1] + b[2:])
    after = outcome(jacobi_1d(), given)
    assert (after["A"] == a).all() and (after["B"] == b).all()


def test_seidel_2d() -> None:
    given = arguments_for(seidel_2d(), random.Random(0), 3)
    a = given["A"].copy()
    for _ in range(3):
        for i in range(1, 3):
            for j in range(1, 3):
                a[i, j] = a[i - 1 : i + 2, j - 1 : j + 2].sum() / 9
    np.testing.assert_allclose(outcome(seidel_2d(), given)["A"], a)


def test_lu() -> None:
    given = {"n": 4, "A": np.random.default_rng(0).random((4, 4)) + 4 * np.eye(4)}
    factors = outcome(lu(), given)["A"]
    lower, upper = np.tril(factors, -1) + np.eye(4), np.triu(factors)
    np.testing.assert_allclose(lower @ upper, given["A"])


def test_triangular() -> None:
    given = arguments_for(triangular(), random.Random(0), 5)
    x, b = given["x"].copy(), given["b"].copy()
    for i in range(5):
        x[i] = b[i] = b[i] + sum(given["L"][i, j] * x[j] for j in range(i + 1))
    np.testing.assert_allclose(outcome(triangular(), given)["x"], x)


def test_reversed_sweep() -> None:
    given = {"n": 5, "A": np.array([1, 10, 100, 1000, 10000])}
    a = given["A"].tolist()
    for i in range(3, -1, -1):
        a[i] -= a[i + 1]
    assert outcome(reversed_sweep(), given)["A"].tolist() == a


def test_strided() -> None:
    given = {"n": 5, "A": np.arange(6, dtype=np.int32)}
    assert outcome(strided(), given)["A"].tolist() == [1, 1, 5, 3, 9, 5]


def test_guarded() -> None:
    given = {"n": 3, "A": np.arange(9).reshape(3, 3)}
    a = given["A"].copy()
    for i in range(3):
        for j in range(3):
            a[i, j] = a[j, i] if j < i else a[i, j] + 1
            a[i, j] *= 3 if (i + j) % 2 == 0 else 1
    assert (outcome(guarded(), given)["A"] == a).all()


def test_random_nests_stay_inside_of_their_arrays() -> None:
    kinds: set[type] = set()
    for seed in range(150):
        nest = random_nest(random.Random(seed))
        for size in (0, 1, 2, 5):
            outcome(nest, arguments_for(nest, random.Random(seed), size))
        kinds |= {type(stmt) for stmt in _statements(nest.body)}
    assert {For, If} < kinds


def _statements(body: tuple[Any, ...]) -> list[Any]:
    return [s for stmt in body for s in (stmt, *_statements(getattr(stmt, "body", getattr(stmt, "then", ()))))]


def test_a_guard_protects_what_it_guards() -> None:
    trap = binary("==", binary("floordiv", 1, n), 1)
    for safe in (
        binary("&&", binary("!=", n, 0), trap),
        binary("||", binary("==", n, 0), trap),
        Select(binary("==", n, 0), const(True, boolean), trap),
    ):
        evaluate(safe, {"n": 0})


def test_bounds_are_evaluated_once() -> None:
    counter = Array("c", i64, ())
    body = loop("i", 0, Load("c", (), i64), store(counter, (), add(load(counter), 1)))
    cell = np.array(3)
    interpret(Function("f", (), (counter,), (body,)), {"c": cell})
    assert cell == 6


@pytest.mark.parametrize(
    ("lo", "hi", "step", "values"), [(0, 5, 2, [0, 2, 4]), (4, 0, -2, [4, 2]), (3, 3, 1, []), (3, 5, -1, [])]
)
def test_loop(lo: int, hi: int, step: int, values: list[int]) -> None:
    log: list[Touch] = []
    interpret(Function("f", ("n",), (A,), (loop("i", lo, hi, store(A, (i,), i), step=step),)), _ten(), log)
    assert [touch.iteration for touch in log] == [(v,) for v in values]


def _ten() -> dict[str, Any]:
    return {"n": 10, "A": np.zeros(10, np.int64)}


@pytest.mark.parametrize("index", [-1, 10])
def test_a_subscript_out_of_bounds(index: int) -> None:
    for body in (store(A, (index,), 0), Let("t", load(A, index))):
        with pytest.raises(IndexError, match=rf"A\[{index}\] is outside of A, whose shape is \[10\]"):
            interpret(Function("f", ("n",), (A,), (body,)), _ten())


@pytest.mark.parametrize(
    ("given", "what"),
    [([0] * 10, "list"), (np.zeros(10), r"float64\[10\]"), (np.zeros(9, np.int64), r"int64\[9\]")],
)
def test_an_array_that_does_not_fit(given: Any, what: str) -> None:
    with pytest.raises(ValueError, match=rf"A must be a numpy array int64\[10\], not {what}"):
        interpret(Function("f", ("n",), (A,), ()), {"n": 10, "A": given})


def test_a_local_array_starts_uninitialised() -> None:
    t, out = Array("t", f64, (const(2),)), Array("out", f64, (const(2),))
    body = Alloc(t), store(t, (0,), 1.0), *(store(out, (k,), load(t, k)) for k in range(2))
    result = np.zeros(2)
    interpret(Function("f", (), (out,), body), {"out": result})
    assert result[0] == 1 and math.isnan(result[1])


def test_scalars_have_their_precision() -> None:
    out, alpha = Array("out", f32, ()), Var("alpha", f32)
    result = np.zeros((), np.float32)
    interpret(Function("f", (), (out,), (store(out, (), alpha),), (alpha,)), {"out": result, "alpha": 0.1})
    assert result == np.float32(0.1)


@pytest.mark.parametrize("dtype", ALL.values(), ids=str)
def test_every_dtype_loads_and_stores(dtype: DType) -> None:
    array = Array("A", dtype, (n,))
    values = np.array([0, 1, 1, 0]).astype(dtype.numpy)
    fn = Function("f", ("n",), (array,), (loop("i", 1, n, store(array, (i,), load(array, sub(i, 1)))),))
    interpret(fn, {"n": 4, "A": values})
    assert values.tolist() == [0, 0, 0, 0]


def _reverse(*, barrier: bool = True, only: Expr | None = None) -> Function:
    """out[n - 1 - x] = A[x] through shared memory, for blocks of four threads in two dimensions."""
    x, y, b = var("x"), var("y"), var("b")
    tile, out = Array("tile", i64, (const(4),), "shared"), Array("out", i64, (n,))
    me = add(mul(2, y), x)
    wait: Any = () if not barrier else (Barrier(),) if only is None else (If(only, (Barrier(),)),)
    body = (
        Alloc(tile),
        store(tile, (me,), load(A, add(mul(4, b), me))),
        *wait,
        store(out, (add(mul(4, b), me),), load(tile, sub(3, me))),
    )
    threads = loop("y", 0, 2, loop("x", 0, 2, *body, kind="thread.x"), kind="thread.y")
    return Function("f", ("n",), (A, out), (loop("b", 0, binary("floordiv", n, 4), threads, kind="block.x"),))


def test_threads_wait_for_each_other_at_a_barrier() -> None:
    given = {"n": 8, "A": np.arange(8), "out": np.zeros(8, np.int64)}
    assert outcome(_reverse(), given)["out"].tolist() == [3, 2, 1, 0, 7, 6, 5, 4]
    assert outcome(_reverse(barrier=False), given)["out"].tolist() != [3, 2, 1, 0, 7, 6, 5, 4]


def test_a_barrier_that_some_threads_never_reach() -> None:
    given = {"n": 8, "A": np.arange(8), "out": np.zeros(8, np.int64)}
    for name in ("x", "y"):
        with pytest.raises(ValueError, match=f"some threads {name} wait at a barrier that others never reach"):
            interpret(_reverse(only=binary("==", var(name), 0)), given)


def test_barriers_in_a_loop() -> None:
    """A scan: in each of three rounds every thread adds its neighbour at distance 1, 2, 4."""
    x, r = var("x"), var("r")
    value = Let("v", add(load(A, x), load(A, sub(x, binary("<<", 1, r)))))
    read = If(binary(">=", x, binary("<<", 1, r)), (value, Barrier(), store(A, (x,), var("v"))), (Barrier(),))
    body = loop("x", 0, n, loop("r", 0, 3, read, Barrier()), kind="thread.x")
    after = outcome(Function("f", ("n",), (A,), (body,)), {"n": 8, "A": np.arange(8)})
    assert after["A"].tolist() == np.cumsum(np.arange(8)).tolist()


def test_the_log_names_element_statement_and_iteration() -> None:
    fn = stencil2(margin=1)
    log: list[Touch] = []
    interpret(fn, arguments_for(fn, random.Random(0), 2), log)
    statement = fn.body[0].body[0].body[0]  # type: ignore[attr-defined]
    assert all(touch.statement is statement for touch in log) and len(log) == 2 * 2 * 4
    assert [(touch.kind, touch.array, touch.index, touch.iteration) for touch in log[4:8]] == [
        ("read", "a", (0, 3), (0, 1)),
        ("read", "a", (0, 2), (0, 1)),
        ("read", "a", (0, 1), (0, 1)),
        ("write", "a", (1, 2), (0, 1)),
    ]


def test_the_log_holds_reads_of_bounds_and_conditions() -> None:
    bound = loop("i", 0, load(A, 0))
    branch = If(binary("==", load(A, 1), 0), (Let("t", mul(load(A, 2), 2)),))
    fn = Function("f", ("n",), (A,), (bound, loop("j", 0, 1, branch)))
    log: list[Touch] = []
    interpret(fn, _ten(), log)
    assert [(touch.index, touch.iteration) for touch in log] == [((0,), ()), ((1,), (0,)), ((2,), (0,))]
    assert [touch.statement for touch in log] == [bound, branch, branch.then[0]]
