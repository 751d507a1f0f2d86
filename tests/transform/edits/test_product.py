"""polysched/transform/edits/run/product.py: a statement as a product of matrices."""

from __future__ import annotations

import pytest
from by_hand import matmul

from polysched import IllegalSchedule, InputError, Options, Schedule, f32, i32, nest, optimize
from polysched.model.tree_yaml import from_yaml, to_yaml

FREE = Options(reorder_reductions=True)


@nest
def mm(C: f32[64, 96], A: f32[64, 80], B: f32[80, 96]):
    for i in range(64):
        for j in range(96):
            for k in range(80):
                C[i, j] += A[i, k] * B[k, j]


@nest
def with_zeros(C: f32[64, 96], A: f32[64, 80], B: f32[80, 96]):
    for i in range(64):
        for j in range(96):
            C[i, j] = 0.0
            for k in range(80):
                C[i, j] += A[i, k] * B[k, j]


@nest
def few(C: f32[2, 5], A: f32[2, 7], B: f32[7, 5]):
    for i in range(2):
        for j in range(5):
            for k in range(7):
                C[i, j] += A[i, k] * B[k, j]


@nest
def rows(y: f32[40], A: f32[40, 100], x: f32[100]):
    for i in range(40):
        for k in range(100):
            y[i] += A[i, k] * x[k]


@nest
def whole_numbers(y: i32[40], A: i32[40, 100], x: i32[100]):
    for i in range(40):
        for k in range(100):
            y[i] += A[i, k] * x[k]


@nest
def differences(C: f32[64, 96], A: f32[64, 80], B: f32[80, 96]):
    for i in range(64):
        for j in range(96):
            for k in range(80):
                C[i, j] -= A[i, k] * B[k, j]


def test_the_code_is_that_of_the_automatic_way():
    schedule = Schedule(mm).reorder("k", "j").product("S")
    assert str(schedule) == """\
domain: { S[i, j, k] : 0 <= i <= 63 and 0 <= j <= 95 and 0 <= k <= 79 }
  context: { : }
    mark: packed:S
      band:
        i: [S[i, j, k] -> i] coincident
        j: [S[i, j, k] -> j] coincident
        k: [S[i, j, k] -> k]"""
    done = optimize(mm, schedule=schedule)
    assert done.source.text == optimize(mm).source.text
    done.verify()


def test_it_is_replayed_and_read_again():
    schedule = Schedule(mm).product("S")
    assert schedule.loops == ("i", "j", "k")
    assert schedule.replay(mm).tree == schedule.tree
    assert Schedule(mm, from_yaml(to_yaml(schedule.tree))).tree == schedule.tree


def test_what_begins_the_sums_is_made_another_loop_before():
    with pytest.raises(InputError) as raised:
        Schedule(with_zeros).product("S1")
    assert str(raised.value) == "loop 'i' runs S0, S1\nhint: distribute(\"i\")"
    done = optimize(with_zeros, schedule=Schedule(with_zeros).distribute("i").product("S1").parallel("i"))
    assert "packed" in done.explain()
    done.verify()


def test_few_rows_are_dot_products_where_sums_may_be_in_any_order():
    assert "mark: dots:S" in str(Schedule(rows, options=FREE).product("S"))
    optimize(rows, schedule=Schedule(rows, options=FREE).product("S")).verify()
    optimize(whole_numbers, schedule=Schedule(whole_numbers).product("S", kind="dots")).verify()
    with pytest.raises(IllegalSchedule) as raised:
        Schedule(rows).product("S", kind="dots")
    assert str(raised.value) == (
        "product(S): dot products add the terms of S in another order\n"
        "hint: allow it with Options(reorder_reductions=True)"
    )


def test_what_does_not_pay_is_made_if_it_is_asked_for():
    with pytest.raises(InputError) as raised:
        Schedule(few).product("S")
    assert str(raised.value) == (
        "S has 2 rows, 5 columns and 7 terms, which pays as no product\n"
        'hint: if it is to be one all the same, product("S", kind="packed")'
    )
    optimize(few, schedule=Schedule(few).product("S", kind="packed")).verify()


REFUSED = {
    "no statement": (lambda: Schedule(mm).product("T"), "there is no statement 'T'\nhint: the statements are: S"),
    "sizes": (
        lambda: Schedule(matmul).product("S"),
        "S is no sum of products over a box\nhint: its loops run from 0 to constants of 2 or more, whatever",
    ),
    "no sum": (
        lambda: Schedule(differences).product("S"),
        "S is no sum of products\nhint: it is as C[i, j] += A[i, k] * B[k, j], with loops that count up",
    ),
    "tiles": (
        lambda: Schedule(mm).tile("i", sizes=(8,)).product("S"),
        "S runs in i_o, i, j, k, not in one loop for each of its iterators\nhint: a product makes its own tiles",
    ),
    "marks": (lambda: Schedule(mm).parallel("i").product("S"), "loop 'i' is marked parallel already"),
    "marks inside": (lambda: Schedule(mm).parallel("j").product("S"), "S runs in i, j, k, not in one loop for each"),
    "parts": (lambda: Schedule(mm).split_set("i", "i < 8").product("S"), "S runs in several loops in turn"),
    "lanes": (
        lambda: Schedule(mm).product("S", kind="dots"),
        "the factors of S do not lie in memory along its terms\nhint: both factors end in the one loop of terms",
    ),
    "another edit": (
        lambda: Schedule(mm).product("S").skew("j", by="i"),
        "skew(j, by=i, factor=1): mark 'packed:S': the band below is not over i, j, k of S, and no more",
    ),
    "another mark": (lambda: Schedule(mm).product("S").parallel("i"), "loop 'i' is marked product already"),
    "a copy inside": (
        lambda: Schedule(mm).product("S").cache_write("C", at="i"),
        "cache_write(C, at=i): mark 'packed:S': ",
    ),
    "a GPU": (
        lambda: optimize(mm, "cuda", schedule=Schedule(mm).product("S")),
        "the schedule has S as a product of matrices, which CUDA has not\nhint: the target is c",
    ),
}


@pytest.mark.parametrize(("edit", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_missing_is_said(edit, message):
    with pytest.raises(InputError) as raised:
        edit()
    assert str(raised.value).startswith(message)
