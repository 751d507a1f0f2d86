"""model/rows.py and model/known.py: rows in subscripts, by what is known where they stand."""

# ruff: noqa: F821 - nests are not ordinary Python: annotations name sizes by texts

import pytest

import polysched as ps
from polysched.ir.build import binary, sub, var
from polysched.ir.dtypes import i64
from polysched.ir.text import show
from polysched.model.known import Known, Unproven, accesses
from polysched.model.rows import rows_of

size = ps.size


def rows(nest: ps.Nest, *, constants: bool = False) -> tuple[list[str], list[list[str]]] | None:
    """The extents of the rows of `a`, and its subscripts in them, as text."""
    fn = nest.function
    uses = [(access.index[0], where) for access, where in accesses(fn.body) if access.array == "a"]
    found = rows_of(uses, Known(dict.fromkeys(fn.sizes, i64)), constants=constants)
    return found and ([*map(show, found.extents)], [[*map(show, found.subscripts[index])] for index, _ in uses])


@ps.nest
def stencil(a: ps.f64["n * m"], n: size, m: size):
    for i in range(1, n):
        for j in range(m):
            a[i * m + j] = a[(i - 1) * m + j]


def test_rows_of_a_matrix():
    assert rows(stencil) == (["m"], [["i - 1", "j"], ["i", "j"]])


@ps.nest
def unbounded(a: ps.f64["n * m"], n: size, m: size):
    for i in range(1, n):
        for j in range(n):
            a[i * m + j] = 0.0


@ps.nest
def bounded(a: ps.f64["n * m"], n: size, m: size):
    for i in range(1, n):
        for j in range(n):
            if j < m:
                a[i * m + j] = 0.0


def test_a_subscript_may_leave_its_row_unless_a_condition_keeps_it_in():
    """Nothing is assumed: a nest that reaches the next row means what it says."""
    assert rows(unbounded) is None
    assert rows(bounded) == (["m"], [["i", "j"]])


@ps.nest
def box(a: ps.f64["n * m * k"], n: size, m: size, k: size):
    for i in range(n):
        for j in range(m):
            for l in range(k):  # noqa: E741
                a[(i * m + j) * k + l] = a[i * (m * k) + j * k]


def test_rows_of_rows():
    assert rows(box) == (["m", "k"], [["i", "j", "0"], ["i", "j", "l"]])


@ps.nest
def triples(a: ps.f64["n * 3 * m"], n: size, m: size):
    for i in range(n):
        for j in range(m * 3):
            a[i * (m * 3) + j] = 0.0


@ps.nest
def third(a: ps.f64["n * 3 * m"], n: size, m: size):
    for i in range(n):
        for j in range(m):
            a[i * (m * 3) + j] = 0.0


def test_constants_in_the_length_of_a_row():
    assert rows(triples) is None
    assert rows(triples, constants=True) == (["3 * m"], [["i", "j"]])
    assert rows(third) == (["m"], [["i * 3", "j"]])


def test_what_is_known_at_a_place():
    (_, where), _ = accesses(stencil.function.body)
    known = Known({"n": i64, "m": i64})
    i, n = var("i"), var("n")
    assert known.shows(binary(">=", sub(i, 1), 0), where)
    assert known.shows(binary(">", n, i), where)
    assert not known.shows(binary(">", i, 1), where)
    known.require(binary("<", i, n), where)
    with pytest.raises(Unproven, match="nothing shows that i > 1"):
        known.require(binary(">", i, 1), where)
