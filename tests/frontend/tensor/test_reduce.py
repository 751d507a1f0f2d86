"""polysched/frontend/tensor/functions.py and nest.py: reductions, and the statements that make them."""

from __future__ import annotations

import numpy as np
import pytest

import polysched as ps
from polysched.ir.text import show

n, m = ps.var("n"), ps.var("m")
A = ps.placeholder((n, m), ps.f32, "A")
k, r = ps.reduce_axis(m, "k"), ps.reduce_axis(n, "r")


def text(output: ps.Tensor) -> str:
    return show(ps.function("f", [A], [output]).body)


def test_what_comes_after_a_reduction_is_in_its_place():
    mean = ps.compute((n,), lambda i: ps.sum(A[i, k], axis=k) / m, "mean")
    assert (
        text(mean)
        == """\
for i in 0..n:
    mean[i] = 0.0f32
    for k in 0..m:
        mean[i] = mean[i] + A[i, k]
    mean[i] = mean[i] / f32(m)"""
    )


def test_several_reductions_are_made_in_scalars_beside_the_first():
    spread = ps.compute((n,), lambda i: ps.max(A[i, k], axis=k) - ps.min(A[i, k], axis=k), "spread")
    assert (
        text(spread)
        == """\
for i in 0..n:
    spread[i] = -inff32
    for k in 0..m:
        spread[i] = max(spread[i], A[i, k])
    alloc acc: private f32[]
    acc[] = inff32
    for k in 0..m:
        acc[] = min(acc[], A[i, k])
    spread[i] = spread[i] - acc[]"""
    )
    ps.optimize(ps.function("f", [A], [spread])).verify(n=5, m=9)


def test_a_reduction_that_is_used_twice_is_made_once():
    def square(i: ps.Value) -> ps.Value:
        total = ps.sum(A[i, k], axis=k)
        return total * total

    assert text(ps.compute((n,), square, "S")).count("for k") == 1


def test_another_dtype_needs_a_scalar():
    any_positive = ps.compute((n,), lambda i: ps.any(A[i, k] > 0, axis=k).astype(ps.i32), "P")
    assert (
        text(any_positive)
        == """\
for i in 0..n:
    alloc acc: private bool[]
    acc[] = false
    for k in 0..m:
        acc[] = acc[] || A[i, k] > 0.0f32
    P[i] = i32(acc[])"""
    )


def test_what_is_added_to_an_element_is_summed_beside_it():
    first = ps.compute((n,), lambda i: A[i, 0], "first")
    assert (
        text(ps.update(first, (n,), lambda i: (i, ps.sum(A[i, k], axis=k)), "S", op="+"))
        == """\
for i in 0..n:
    S[i] = A[i, 0]
for i in 0..n:
    alloc acc: private f32[]
    acc[] = 0.0f32
    for k in 0..m:
        acc[] = acc[] + A[i, k]
    S[i] = S[i] + acc[]"""
    )


def test_terms_that_count_are_those_of_a_condition():
    inside = ps.compute((m,), lambda j: ps.sum(A[r, j - r], axis=r, where=(j - r >= 0) & (j - r < m)), "T")
    assert "        if j - r >= 0 && j - r < m:\n            T[j] = T[j] + A[r, j - r]" in text(inside)
    ps.optimize(ps.function("f", [A], [inside])).verify(n=5, m=6)


def test_an_axis_may_have_bounds_that_depend_on_indices():
    def before(i: ps.Value) -> ps.Value:
        j = ps.reduce_axis(0, i + 1, "j")
        return ps.sum(A[0, j], axis=j)

    P = ps.compute((m,), before, "P")
    assert "    for j in 0..i + 1:\n        P[i] = P[i] + A[0, j]" in text(P)
    with pytest.raises(ps.InputError, match="'A' has shape"):
        ps.optimize(ps.function("f", [A], [ps.compute((m,), lambda i: before(i + 1), "P")]))


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_the_first_of_equal_ones_as_numpy(name):
    rng = np.random.default_rng(0)
    values = rng.integers(0, 3, (40, 6, 5)).astype(np.float32)
    values[0] = -np.inf
    values[1] = np.inf
    B = ps.placeholder((40, 6, 5), ps.f32, "B")
    x, y = ps.reduce_axis(6, "x"), ps.reduce_axis(5, "y")
    op, expected = getattr(ps, name), getattr(np, name)
    both = ps.compute((40,), lambda i: op(B[i, x, y], axis=(x, y)), "both")
    one = ps.compute((40, 5), lambda i, j: op(B[i, x, j], axis=x), "one", dtype=ps.i32)
    results = {"both": np.zeros(40, np.int64), "one": np.zeros((40, 5), np.int32)}
    ps.optimize(ps.function("f", [B], [both, one]))(B=values, **results)
    np.testing.assert_array_equal(results["both"], expected(values.reshape(40, 30), axis=1))
    np.testing.assert_array_equal(results["one"], expected(values, axis=1))


@pytest.mark.parametrize(
    ("op", "dtype", "of_none"),
    [("sum", ps.f32, 0), ("prod", ps.i32, 1), ("max", ps.f32, -np.inf), ("min", ps.u8, 255), ("argmax", ps.f32, 0)],
)
def test_what_a_reduction_of_no_terms_is(op, dtype, of_none):
    B = ps.placeholder((3,), dtype, "B")
    i = ps.reduce_axis(3, "i")
    T = ps.compute((), lambda: getattr(ps, op)(B[i], axis=i, where=i > 3), "T")
    result = np.full((), 7, T.dtype.numpy)
    ps.interpret(ps.function("f", [B], [T]), {"B": np.ones(3, dtype.numpy), "T": result})
    assert result[()] == of_none


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ps.sum(A[0, 0], axis=n), "sum is over 'n', which is no reduce axis; make one: k = ps.reduce_axis"),
        (lambda: ps.sum(A[0, 0], axis=(0,)), "sum is over 0, which is no reduce axis; make one"),
        (lambda: ps.sum(A[0, k] > 0, axis=k), "a term of sum is a bool; cast it, as in x.astype(ps.i32)"),
        (lambda: ps.any(A[0, k], axis=k), "a term of any must be a bool, and 'A[0, k]' is f32; compare it"),
        (lambda: ps.sum(A[0, k], axis=k, where=1), "the condition of sum must be a bool, and '1' is i64; compare it"),
        (
            lambda: ps.sum(ps.sum(A[r, k], axis=k), axis=r),
            "there is a reduction inside of sum; compute the inner one as a tensor of its own",
        ),
        (lambda: ps.reduce_axis(3), "a reduce axis needs an extent or two bounds, and a name; write ps.reduce_axis"),
        (
            lambda: A[0, k] + A[0, ps.reduce_axis(3, "k")],
            "two different things are named k: a reduce axis; rename one of them",
        ),
    ],
)
def test_what_is_refused(make, message):
    with pytest.raises(ps.InputError) as error:
        make()
    assert f"{error.value.message}; {error.value.hint}".startswith(message)
