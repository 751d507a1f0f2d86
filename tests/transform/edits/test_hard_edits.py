"""Edits that isl fails at, or makes unusual loops of: legal ones are taken, and no exception of isl's leaves."""

import time

import pytest

import polysched as ps
from polysched.support import isl
from polysched.transform.edits.base import edit


@ps.nest
def two_nests(a: ps.f64["n"], b: ps.f64["m"], n: ps.size, m: ps.size):
    for i in range(n):
        a[i] = a[i] + 1.0
    for j in range(m):
        b[j] = b[j] * 2.0


@pytest.mark.parametrize("peeled", [False, True])
def test_loops_of_two_sizes_that_are_fused_and_tiled(peeled):
    schedule = ps.Schedule(two_nests).fuse("i", "j", shift=2).tile("i", sizes=(3,))
    if peeled:
        schedule = schedule.peel("i_o", last=1)
    ps.optimize(two_nests, schedule=schedule).verify()


def test_what_isl_fails_at_is_refused(monkeypatch):
    def failing(*_):
        raise isl.Error("original tableau does not correspond to original basic map")

    monkeypatch.setattr("polysched.transform.edits.order.reorder._reversed", failing)
    with pytest.raises(ps.IllegalSchedule, match=r'^\.reverse\("i"\): .* not decided .*isl failed: original tableau'):
        ps.Schedule(two_nests).reverse("i")


def test_what_cannot_be_coalesced_stays_as_it_is():
    def failing(value):
        raise isl.Error("original tableau does not correspond to original basic map")

    pieces = isl.Set("{ [0]; [1] }")
    assert isl._or_as_it_was(failing)(pieces) is pieces
    assert pieces.coalesce().n_basic_set() == 1


def test_coalescing_within_a_budget_ends_with_it():
    with pytest.raises(ps.BudgetExceeded), isl.within(operations=1):
        isl.Set("{ [i] : 0 <= i < 5 or i = 5 }").coalesce()


@pytest.mark.slow
def test_pieces_of_an_unrolled_product_are_taken_or_refused():
    from_ilp = ps.Schedule(product, "ilp").unroll_and_jam("i", 3).unroll_and_jam("k", 3)
    schedule = from_ilp.split("k_o", 2, tail="guard").parallel("i_o").cache_write("C", "k_o")
    try:
        schedule.split_set("i_o", "i_o < 3")
    except ps.IllegalSchedule as refusal:
        assert "not decided in time" in str(refusal)


@pytest.mark.slow
def test_an_edit_has_all_of_the_budget_that_it_is_given():
    """No step of it has a smaller one, of which a user could not know."""
    schedule = ps.Schedule(modulo, options=ps.Options(edit_seconds=100.0)).tile("j", sizes=(3,))
    with pytest.raises(ps.IllegalSchedule, match="would get from A_c"):
        schedule.cache_read("A", "j_o", scope="private")


@ps.nest
def modulo(A: ps.f64["2 * m + 8", "2 * n + 8", "2 * n + 8"], n: ps.size, m: ps.size):
    for i in range(n + 1):
        for j in range(1, m):
            A[j, i % 3, i + i] = max(A[j // 2, i + 1, 2 * i + 1], A[j + j, i + 3, i + 2])
            if i % 3 == 0:
                A[2 * j + 1, i // 2, i + 3] = i
            else:
                A[j, i, i] += min((A[j // 2, i, i + 2] * A[j + j, i + 1, i]), A[m + 3 - j, n + 3 - i, i + 2])


def test_the_tries_for_a_hint_end_together(monkeypatch):
    def late():
        time.sleep(0.1)
        raise ps.IllegalSchedule("late")

    legal = ps.Schedule(two_nests).draft
    tries = [("late", late), ("legal", lambda: legal)]
    assert edit.first_legal(tries) == "legal"
    monkeypatch.setattr(edit, "_SECONDS", 0.05)
    assert edit.first_legal(tries) == ""


@ps.nest
def product(C: ps.i32["n", "m"], A: ps.i32["n", "w"], B: ps.i32["w", "m"], n: ps.size, m: ps.size, w: ps.size):
    for i in range(n):
        for j in range(m):
            for k in range(w):
                C[i, j] += A[i, k] * B[k, j]
