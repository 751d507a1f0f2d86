"""model/counting/touched.py: what must be copied for a nest to run elsewhere."""

# ruff: noqa: F821 - nests are not ordinary Python: annotations name sizes by texts
import polysched as ps
from polysched.ir.text import show
from polysched.model.counting.touched import touched_elements
from polysched.model.extract import extract


def counts(nest) -> dict[str, str]:
    return {name: show(count) for name, count in touched_elements(extract(nest.function)).items()}


def test_rows_that_are_not_touched_need_not_be_there():
    @ps.nest
    def first(A: ps.f64["n", "m"], B: ps.f64["n"], s: ps.f64[()], n: ps.size, m: ps.size, k: ps.size):
        for i in range(k):
            A[i, 0] = B[2 * i + 1]

    assert counts(first) == {
        "A": "(m >= 1 && k >= 1 ? k : 0) * m",
        "B": "m >= 1 && k >= 1 ? 2 * k : 0",
        "s": "1",
    }


def test_what_depends_on_data_may_be_anywhere():
    @ps.nest
    def scatter(A: ps.f64["n"], at: ps.i64["m"], n: ps.size, m: ps.size):
        for i in range(m):
            A[at[i]] = 1.0

    assert counts(scatter) == {"A": "n >= 1 && m >= 1 ? n : 0", "at": "m >= 1 ? m : 0"}


def test_an_array_that_nothing_touches_is_not_copied():
    @ps.nest
    def idle(A: ps.f64["n"], B: ps.f64["n"], n: ps.size):
        for i in range(n):
            A[i] = 1.0

    assert counts(idle) == {"A": "n >= 1 ? n : 0", "B": "0"}
