"""polysched/frontend/tensor/inline.py: which tensors get no array."""

from __future__ import annotations

import pytest

import polysched as ps
from polysched.ir.text import show

n, m = ps.var("n"), ps.var("m")
A = ps.placeholder((n, m), ps.f32, "A")
k = ps.reduce_axis(m, "k")


def body(*outputs: ps.Tensor) -> str:
    return show(ps.function("f", [A], list(outputs)).body)


def test_cheap_values_are_computed_where_they_are_read():
    P = ps.compute((n, m), lambda i, j: A[i, j] + 1.0, "P")
    S = ps.compute((n,), lambda i: ps.sum(P[i, k] * 2.0, axis=k), "S")
    D = ps.compute((n,), lambda i: ps.maximum(S[i], 0), "D")
    assert (
        body(D)
        == """\
for i in 0..n:
    D[i] = 0.0f32
    for k in 0..m:
        D[i] = D[i] + (A[i, k] + 1.0f32) * 2.0f32
    D[i] = max(D[i], 0.0f32)"""
    )


def test_the_user_may_ask_for_an_array():
    P = ps.compute((n, m), lambda i, j: A[i, j] + 1.0, "P", inline=False)
    D = ps.compute((n, m), lambda i, j: P[i, j] * 2.0, "D")
    assert (
        body(D)
        == """\
alloc P: private f32[n, m]
for i in 0..n:
    for j in 0..m:
        P[i, j] = A[i, j] + 1.0f32
for i in 0..n:
    for j in 0..m:
        D[i, j] = P[i, j] * 2.0f32"""
    )


@pytest.mark.parametrize("inline", [None, True])
def test_an_expensive_value_that_is_read_again_and_again_gets_an_array_unless_the_user_forbids_it(inline):
    E = ps.compute((n,), lambda i: ps.exp(A[i, 0]), "E", inline=inline)
    D = ps.compute((n, m), lambda i, j: A[i, j] * E[i], "D")
    assert ("alloc E: private f32[n]" in body(D)) == (inline is None)
    assert ("A[i, j] * exp(A[i, 0])" in body(D)) == (inline is True)


def test_along_an_axis_of_one_element_0_is_its_own_index():
    S = ps.compute((1, n), lambda b, i: ps.sum(A[i, k], axis=k), "S")
    D = ps.compute((1, n), lambda b, i: S[0, i] * 2.0, "D")
    assert (
        body(D)
        == """\
for b in 0..1:
    for i in 0..n:
        D[b, i] = 0.0f32
        for k in 0..m:
            D[b, i] = D[b, i] + A[i, k]
        D[b, i] = D[b, i] * 2.0f32"""
    )


def test_a_loop_of_one_iteration_computes_nothing_again():
    E = ps.compute((1, n), lambda b, i: ps.exp(A[i, 0]), "E")
    D = ps.compute((1, n), lambda b, i: E[0, i] * 2.0, "D")
    assert body(D).endswith("D[b, i] = exp(A[i, 0]) * 2.0f32")
    again = ps.compute((n, m), lambda i, j: E[0, i] * A[i, j], "D")
    assert body(again).startswith("alloc E: private f32[1, n]")


def test_a_sum_that_two_tensors_read_gets_an_array():
    S = ps.compute((n,), lambda i: ps.sum(A[i, k], axis=k), "S")
    D, E = (ps.compute((n,), lambda i, c=c: S[i] * c, name) for name, c in (("D", 2.0), ("E", 3.0)))
    assert body(D, E).startswith("alloc S: private f32[n]\n")


def test_a_sum_that_is_read_at_other_indices_gets_an_array():
    S = ps.compute((n,), lambda i: ps.sum(A[i, k], axis=k), "S")
    for D in (
        ps.compute((n,), lambda i: S[n - 1 - i], "D"),
        ps.compute((n, m), lambda i, j: S[i], "D"),
        ps.compute((n - 1,), lambda i: S[i], "D"),
    ):
        assert body(D).startswith("alloc S: private f32[n]\n")


def test_a_sum_cannot_be_computed_at_every_read():
    S = ps.compute((n,), lambda i: ps.sum(A[i, k], axis=k), "S", inline=True)
    with pytest.raises(ps.InputError) as error:
        body(ps.compute((n, m), lambda i, j: S[i], "D"))
    assert error.value.message == "S has a reduction and cannot be computed where it is read"
    assert error.value.hint == "leave inline=True out: it gets an array"


def test_a_guard_keeps_guarding_what_is_put_in_its_place():
    P = ps.compute((n, m), lambda i, j: A[i, j] * 2.0, "P")
    D = ps.compute((n, m), lambda i, j: ps.select(j > 0, P[i, j - 1], 0.0), "D")
    assert "D[i, j] = j > 0 ? A[i, j - 1] * 2.0f32 : 0.0f32" in body(D)
    ps.optimize(ps.function("shift", [A], [D])).verify(n=5, m=7)


def test_what_an_update_copies_whole_is_made_in_its_place():
    S = ps.scan((n, m), lambda S, i, j: ps.select(j > 0, S[i, j - 1], 0) + A[i, j], ps.f32, "S")
    U = ps.update(S, (n,), lambda i: ((i, 0), 0.0), "U")
    assert (
        body(U)
        == """\
for i in 0..n:
    for j in 0..m:
        U[i, j] = (j > 0 ? U[i, j - 1] : 0.0f32) + A[i, j]
for i in 0..n:
    U[i, 0] = 0.0f32"""
    )


def test_divisions_by_sizes_that_are_no_digits_of_an_index_are_not_done_again_and_again():
    V = ps.compute((n, m), lambda i, j: A[(i * m + j) // n % n, (i * m + j) % m], "V")
    W = ps.compute((n * m,), lambda i: A[i // m % n, i % m], "W")
    once = ps.compute((n, m), lambda i, j: V[i, j] + W[i], "once")
    again = ps.compute((n, n), lambda i, j: ps.sum(V[i, k] * V[j, k] * W[k], axis=k), "again")
    assert "alloc" not in body(once)
    assert "alloc V" in body(again) and "alloc W" not in body(again)
