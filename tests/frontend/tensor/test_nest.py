"""polysched/frontend/tensor/nest.py and tensor.py: a nest of tensors, and what cannot be one."""

from __future__ import annotations

import numpy as np
import pytest

import polysched as ps
from polysched.ir.text import show
from polysched.ir.verify import verify

n, m = ps.var("n"), ps.var("m")
A = ps.placeholder((n, 64), ps.f32, "A")
B = ps.placeholder((64, 32), ps.f32, "B")
k = ps.reduce_axis(64, "k")


def product() -> ps.Tensor:
    return ps.compute((n, 32), lambda i, j: ps.sum(A[i, k] * B[k, j], axis=k), "C")


def test_a_product_with_what_follows_it():
    C = product()
    D = ps.compute((n, 32), lambda i, j: ps.select(C[i, j] > 0.0, C[i, j], 0.0), "D")
    function = ps.function("relu_matmul", [A, B], [D])
    assert (
        show(function)
        == """\
def relu_matmul(A: f32[n, 64], B: f32[64, 32], D: f32[n, 32], n: size):
    for i in 0..n:
        for j in 0..32:
            D[i, j] = 0.0f32
            for k in 0..64:
                D[i, j] = D[i, j] + A[i, k] * B[k, j]
            D[i, j] = D[i, j] > 0.0f32 ? D[i, j] : 0.0f32"""
    )
    verify(function, "source")
    ps.optimize(function).verify(n=9)


def test_statements_know_their_lines():
    function = ps.function("matmul", [A, B], [product()])
    loc = function.body[0].loc
    assert loc is not None
    assert loc.file == __file__
    assert loc.text.strip().startswith('return ps.compute((n, 32), lambda i, j: ps.sum(A[i, k] * B[k, j], axis=k), "C"')
    assert loc.column == loc.text.index("ps.compute") + 1


def test_sizes_and_scalars_stand_where_the_inputs_say():
    alpha = ps.var("alpha", ps.f64)
    X = ps.placeholder((n,), ps.f64, "X")
    Y = ps.compute((n,), lambda i: alpha * X[i] + i, "Y")
    assert (
        show(ps.function("scale", [X], [Y]))
        == """\
def scale(X: f64[n], Y: f64[n], alpha: f64, n: size):
    for i in 0..n:
        Y[i] = alpha * X[i] + f64(i)"""
    )
    function = ps.function("scale", [n, alpha, X], [Y])
    assert function.params == ("n", "alpha", "X", "Y")
    y = np.zeros(3)
    ps.optimize(function)(alpha=2.0, X=np.ones(3), Y=y)
    assert y.tolist() == [2.0, 3.0, 4.0]


def test_an_element_of_no_dimensions():
    r = ps.reduce_axis(n, "r")
    X = ps.placeholder((n,), ps.i32, "X")
    T = ps.compute((), lambda: ps.sum(X[r], axis=r), "T")
    D = ps.compute((n,), lambda i: X[i] - T[()], "D")
    assert (
        show(ps.function("centre", [X], [T, D]))
        == """\
def centre(X: i32[n], T: i32[], D: i32[n], n: size):
    T[] = 0i32
    for r in 0..n:
        T[] = T[] + X[r]
    for i in 0..n:
        D[i] = X[i] - T[]"""
    )
    ps.optimize(ps.function("centre", [X], [T, D])).verify(n=7)


def test_subscripts_that_are_loaded():
    X, at = ps.placeholder((n,), ps.f32, "X"), ps.placeholder((m,), ps.i32, "at")
    G = ps.compute((m,), lambda j: X[at[j]], "G")
    H = ps.update(ps.compute((n,), lambda i: 0, "Z", dtype=ps.i32), (m,), lambda j: (at[j], 1), "H", op="+")
    assert (
        show(ps.function("gather", [X, at], [G, H]))
        == """\
def gather(X: f32[n], at: i32[m], G: f32[m], H: i32[n], n: size, m: size):
    for j in 0..m:
        G[j] = X[i64(at[j])]
    for i in 0..n:
        H[i] = 0i32
    for j in 0..m:
        H[i64(at[j])] = H[i64(at[j])] + 1i32"""
    )
    ps.optimize(ps.function("gather", [X, at], [G, H])).verify(n=9, m=9)


def test_small_integers_summed_in_large_ones():
    a, b = ps.placeholder((n, 64), ps.i8, "a"), ps.placeholder((64, n), ps.i8, "b")
    C = ps.compute((n, n), lambda i, j: ps.sum(a[i, k].astype(ps.i32) * b[k, j].astype(ps.i32), axis=k), "C")
    function = ps.function("dense", [a, b], [C])
    assert "C[i, j] = C[i, j] + i32(a[i, k]) * i32(b[k, j])" in show(function)
    c = np.zeros((2, 2), np.int32)
    ps.optimize(function)(a=np.full((2, 64), 127, np.int8), b=np.full((64, 2), 127, np.int8), C=c)
    assert c.tolist() == [[64 * 127**2] * 2] * 2


def test_names_that_meet_are_told_apart():
    i = ps.reduce_axis(4, "i")
    X = ps.placeholder((4, 4), ps.f32, "X")
    S = ps.compute((4,), lambda j: ps.sum(X[i, j], axis=i), "S")
    D = ps.compute((4,), lambda i: S[i] * 2, "D")
    E = ps.compute((4,), lambda X: S[X], "E", inline=False)
    assert (
        show(ps.function("columns", [X], [D, E]).body)
        == """\
alloc S: private f32[4]
for j in 0..4:
    S[j] = 0.0f32
    for i in 0..4:
        S[j] = S[j] + X[i, j]
for i in 0..4:
    D[i] = S[i] * 2.0f32
for X_2 in 0..4:
    E[X_2] = S[X_2]"""
    )
    assert (
        show(ps.function("columns", [X], [D]).body)
        == """\
for i in 0..4:
    D[i] = 0.0f32
    for i_2 in 0..4:
        D[i] = D[i] + X[i_2, i]
    D[i] = D[i] * 2.0f32"""
    )


def refused(make) -> str:
    with pytest.raises(ps.InputError) as error:
        make()
    assert error.value.loc is not None
    assert error.value.loc.file == __file__
    return f"{error.value.message}; {error.value.hint}"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: A[0], "A has 2 dimensions and is given 1 subscript; "),
        (
            lambda: A[0, 1.5],
            "a subscript of A must be an integer, and '1.5' is f64; divide with //, or convert it with .astype(ps.i64)",
        ),
        (
            lambda: ps.compute((n, 32), lambda i: A[i, 0], "C"),
            "C has 2 indices, and its function takes 1; write a lambda of 2 parameters",
        ),
        (
            lambda: ps.compute((n,), lambda i: A[i, k], "C"),
            "C uses the axis k outside of a reduction over it; reduce over it: ps.sum(..., axis=k)",
        ),
        (
            lambda: ps.compute(
                (n,), lambda k: ps.sum(A[k, ps.reduce_axis(64, "k")], axis=ps.reduce_axis(64, "k")), "C"
            ),
            "two different things are named k: an index and a reduce axis; rename one of them",
        ),
        (
            lambda: ps.compute((n,), lambda k: ps.sum(A[0, globals()["k"]], axis=globals()["k"]), "C"),
            "k is an index of C and an axis that it is reduced over; rename one of them",
        ),
        (
            lambda: ps.compute((n,), lambda i: A[i, 0] if A[i, 0] > 0.0 else 0.0, "C"),
            "'A[i, 0] > 0.0f32' is not known before the kernel runs; write ps.select(cond, x, y) for if, & for and, "
            "| for or, ~ for not, (a < b) & (b < c) for a < b < c",
        ),
        (
            lambda: ps.compute((A[0, 0],), lambda i: 0, "C"),
            "an extent of C must be an integer, and 'A[0, 0]' is f32; divide with //, or convert it with "
            ".astype(ps.i64)",
        ),
        (lambda: A[0, 0] + A, "Tensor is no scalar; subscript it, as in A[i, j]"),
        (lambda: A[0, 0] & 1, "'&' needs integers, not an f32; convert it, as in int(x)"),
        (
            lambda: ps.function("f", [A], [product()]),
            "C reads the placeholder B, which is not among the inputs of f; add B to the inputs",
        ),
        (
            lambda: ps.function("f", [A, B, ps.placeholder((n,), ps.f32, "E")], [product()]),
            "the input E is not used by what f computes; leave it out",
        ),
        (lambda: ps.function("f", [A, B], [A]), "the output A is a placeholder; outputs are computed"),
        (
            lambda: ps.function("f", [A, B], [product(), product()]),
            "two different things are named C: a tensor; rename one of them",
        ),
        (
            lambda: ps.function("f", [A], [ps.compute((n,), lambda i: A[i, 0], "A")]),
            "two different things are named A: a tensor; rename one of them",
        ),
        (
            lambda: ps.function("f", [A], [ps.compute((n,), lambda i: A[i, 0], "n")]),
            "two different things are named n: a size and a tensor; rename one of them",
        ),
    ],
)
def test_what_is_refused(make, message):
    assert refused(make) == message


def test_a_subscript_that_is_always_outside_is_refused_as_in_any_nest():
    C = ps.compute((64,), lambda i: B[i + 1, 0], "C")
    message = refused(lambda: ps.optimize(ps.function("f", [B], [C])))
    assert message.startswith("'B' has shape [64, 32], but i = 63 touches B[64, 0]; ")
