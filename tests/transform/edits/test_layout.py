"""transform_layout and fold_storage: elements in other places, where no value is lost."""

import random

import numpy as np
import pytest
from edited import assert_same_results

import polysched as ps
from polysched import IllegalSchedule, InputError, Schedule
from polysched.ir.text import show


@ps.nest
def blur(a: ps.f64["n", "m"], out: ps.f64["n", "m"], n: ps.size, m: ps.size):
    t = np.empty((n, m - 2))
    for i in range(n):
        for j in range(m - 2):
            t[i, j] = a[i, j] + a[i, j + 1] + a[i, j + 2]
    for i in range(n - 2):
        for j in range(m - 2):
            out[i, j] = t[i, j] + t[i + 1, j] + t[i + 2, j]


@ps.nest
def steps(a: ps.f64["n"], T: ps.size, n: ps.size):
    u = np.empty((T + 1, n))
    for i in range(n):
        u[0, i] = a[i]
    for t in range(T):
        for i in range(1, n - 1):
            u[t + 1, i] = u[t, i - 1] + u[t, i + 1]
        u[t + 1, 0] = u[t, 0]
        u[t + 1, n - 1] = u[t, n - 1]
    for i in range(n):
        a[i] = u[T, i]


@ps.nest
def twice(a: ps.f64["n"], b: ps.f64["n"], n: ps.size):
    t = np.empty(n)
    for i in range(n):
        t[i] = a[i] * 2.0
    for i in range(n):
        b[i] = t[i] + 1.0


WINDOW = Schedule(blur).fuse("i", "i_2")


def shape(schedule: Schedule) -> list[str]:
    return [show(extent) for extent in schedule.draft.scop.arrays[-1].shape]


def test_a_window_slides_over_few_rows():
    folded = WINDOW.fold_storage("t")
    assert shape(folded) == ["4", "max(m - 2, 0)"]  # three are alive, and the next power of two is cheap
    assert shape(WINDOW.fold_storage("t", 0, size=3)) == ["3", "max(m - 2, 0)"]
    for schedule in (folded, WINDOW.fold_storage("t", size=3)):
        assert_same_results(blur.function, schedule)
    done = ps.optimize(blur, schedule=folded)
    assert "& 3" in done.source.text
    done.verify()


def test_too_few_rows_are_refused_with_what_would_be_overwritten():
    with pytest.raises(IllegalSchedule) as raised:
        WINDOW.fold_storage("t", size=2)
    assert str(raised.value).splitlines()[0] == (
        "fold_storage(t, 0, size=2): S1[i=0, j=0] would get from t: what S0[i=2, j=0] writes, not what S0[i=0, j=0] "
        "writes (n = 3, m = 3)"
    )


def test_without_a_window_nothing_can_be_folded():
    with pytest.raises(IllegalSchedule, match=r"fold_storage\(t, 0, size=64\): S1\[i=0, j=0\] would get from t"):
        Schedule(blur).fold_storage("t")


def test_steps_of_time_take_turns():
    folded = Schedule(steps).fold_storage("u")
    assert shape(folded) == ["2", "n"]
    assert_same_results(steps.function, folded)


def test_iterations_on_threads_share_no_place():
    rows = Schedule(blur).parallel("j").parallel("j_2")
    assert shape(rows.fuse("i", "i_2").fold_storage("t")) == ["4", "max(m - 2, 0)"]
    at_once = Schedule(twice).fuse("i", "i_2").parallel("i")
    with pytest.raises(IllegalSchedule, match="iterations of loop 'i' would run at the same time"):
        at_once.fold_storage("t", size=8)


LAYOUTS = {
    "i, j -> j, i": ["max(m - 2, 0)", "n"],
    "i, j -> i // 8, j, i % 8": ["floordiv(n + 7, 8)", "max(m - 2, 0)", "8"],
    "i, j -> i, j + 1": ["n", "max(m - 1, 0)"],
    "i, j -> i + j, j": ["max(n + m - 3, 0)", "max(m - 2, 0)"],
    "i, j -> j // 4, i, j % 4": ["floordiv(m + 1, 4)", "n", "4"],
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_elements_stand_in_other_places(layout):
    laid = Schedule(blur).transform_layout("t", layout)
    assert_same_results(blur.function, laid)
    assert len(shape(laid)) == len(LAYOUTS[layout])
    ps.optimize(blur, schedule=laid).verify()


def test_the_shape_follows():
    assert {layout: shape(Schedule(blur).transform_layout("t", layout)) for layout in LAYOUTS} == LAYOUTS


@pytest.mark.parametrize(
    ("layout", "message"),
    [
        ("i -> i", "'i -> i' is no layout of 't'\nhint: name the 2 subscripts of 't', and say what they become, as in"),
        ("i, j", "'i, j' is no layout of 't'"),
        ("i, i -> i", "'i, i -> i' is no layout of 't'"),
        ("n, j -> j, n", "'n, j -> j, n' is no layout of 't'"),
        ("i, j -> j, k", "'k' is not known here"),
        ("i, j -> i * j", "not affine: i * j\nhint: use sums, multiples by constants, and // and % by constants"),
        ("i, j -> i, j - 1", "subscript 1 of 't' would be negative\nhint: add what makes the least one zero"),
    ],
)
def test_what_is_no_layout(layout, message):
    with pytest.raises(InputError) as raised:
        Schedule(blur).transform_layout("t", layout)
    assert message in str(raised.value)


def test_a_layout_that_loses_values_is_refused():
    with pytest.raises(IllegalSchedule, match=r"S1\[i=0, j=0\] would get from t: what S0\[i=2, j=0\] writes"):
        Schedule(blur).transform_layout("t", "i, j -> 0, j")


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda s: s.fold_storage("a"), "'a' is a parameter: where it lives, and its shape, is up to the caller"),
        (lambda s: s.fold_storage("t", 2), "'t' has no dimension 2\nhint: it has 2, counted from 0"),
        (lambda s: s.fold_storage("t", size=-1), "an array cannot have -1 elements"),
        (lambda s: s.transform_layout("u", "i -> i"), "there is no array 'u'"),
    ],
)
def test_wrong_arguments(edit, message):
    with pytest.raises(InputError) as raised:
        edit(Schedule(blur))
    assert message in str(raised.value)


def test_copies_of_a_loop_are_laid_out_as_well():
    tiled = Schedule(blur).tile("i_2", "j_2", sizes=(4, 4)).compute_at("t", at="j_2_o")
    (small,) = [array for array in tiled.draft.scop.arrays if array.name.startswith("t_at")]
    assert_same_results(blur.function, tiled.transform_layout(small.name, "i, j -> j, i"))


@pytest.mark.parametrize("seed", range(12))
def test_a_folded_array_is_right_or_refused(seed):
    """Random distances, random sizes: legal exactly where the window is as long as the distance."""
    rng = random.Random(seed)
    distance, size = rng.randint(0, 6), rng.randint(1, 8)
    text = f"""
def f(a: f64["n"], b: f64["n"], n: size):
    t = np.empty(n)
    for i in range(n):
        t[i] = a[i] * 2.0
    for i in range({distance}, n):
        b[i] = t[i] + t[i - {distance}]
"""
    fn = ps.frontend.python.parse_nest(text.strip(), "f.py")
    window = Schedule(fn).fuse("i", "i_2")
    if size > distance:
        assert_same_results(fn, window.fold_storage("t", size=size))
    else:
        with pytest.raises(IllegalSchedule):
            window.fold_storage("t", size=size)
