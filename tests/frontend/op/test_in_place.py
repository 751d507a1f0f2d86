"""Parameters that are changed: in place where nothing that is still needed is lost, else by way of a copy."""

import numpy as np
import pytest
from op_programs import agree


@pytest.mark.parametrize(
    ("body", "needs_copy"),
    [
        ("a += 1", False),
        ("a[1:-1] = 0", False),
        ("a[::2] += a[1::2]", False),
        ("a[0] = a[1]", False),
        ("a[:3] = a[3:]", False),
        ("a[1:] = a[:-1]", False),
        ("a[...] = a[::-1]", True),
        ("a[:] = a.sum()", False),
        ("a[0] = a[5]\n    a[5] = 2", False),
        ("a[[1, -5]] += 2", True),  # the same element twice, of the same value
    ],
)
def test_copies_only_where_values_would_be_lost(body, needs_copy):
    op = agree(f"def f(a: ps.f64[6]):\n    {body}", a=np.arange(6.0))
    assert ("alloc a_new" in str(op.nest)) == needs_copy, op.nest


def test_what_is_stored_is_computed_first_where_it_reads_what_is_overwritten():
    op = agree("def f(a: ps.f64['n']):\n    a[1:] = a[:-1] + 1", a=np.arange(5.0))
    expected = """\
def f(a: f64[n], n: size):
    alloc v2: private f64[max(n - 1, 0)]
    for i in 0..max(n - 1, 0):
        v2[i] = a[i] + 1.0
    for i in 0..max(n - 1, 0):
        a[i + 1] = v2[i]"""
    assert str(op.nest) == expected


def test_a_loop_that_runs_down_reads_the_values_of_before():
    text = "def f(a: ps.f64['n', 4]):\n    k = a.argmin(axis=1)\n    a[0] = 1\n    b = a[1:]\n    return b, k"
    agree(text, a=-np.arange(20.0).reshape(5, 4))


def test_two_parameters_are_swapped():
    agree(
        "def f(a: ps.f64['n'], b: ps.f64['n']):\n    t = a.copy()\n    a[:] = b\n    b[:] = t",
        a=np.arange(5.0),
        b=-np.arange(5.0),
    )


def test_a_result_reads_a_parameter_as_it_was():
    agree("def f(a: ps.f64['n']):\n    b = a * 2\n    a += 1\n    return b", a=np.arange(5.0))
