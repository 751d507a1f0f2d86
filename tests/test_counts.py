"""polysched/counts/: formulas against the interpreter's log of accesses."""

from __future__ import annotations

import random
from collections import Counter

import nests
import pytest
from nests import loop, nest

import polysched as ps
from polysched.counts.count import counts
from polysched.counts.figures import ArrayCounts, Counts, Figure, NestCounts, ratio
from polysched.ir.build import load, mul, store, var
from polysched.ir.integers.polynomial import Polynomial
from polysched.ir.interp import interpret
from polysched.ir.nodes import Array
from polysched.support import isl


@ps.nest
def matmul(C: ps.f64["n", "n"], A: ps.f64["n", "n"], B: ps.f64["n", "n"], n: ps.size):
    for i in range(n):
        for j in range(n):
            for k in range(n):
                C[i, j] += A[i, k] * B[k, j]


def test_the_whole_table():
    assert str(ps.counts(matmul)) == (
        "matmul where n > 0\n"
        "for i, test_counts.py:24\n"
        "  operations  f64 *: n**3, f64 +: n**3\n"
        "  bytes       24 * n**3 read, 8 * n**3 written, 24 * n**2 touched\n"
        "  intensity   n / 12 a byte touched, 1 / 16 a byte accessed\n"
        "  array  elements  reads  writes  reuse\n"
        "  C      n**2      n**3   n**3    2 * n\n"
        "  A      n**2      n**3   0       n\n"
        "  B      n**2      n**3   0       n"
    )


def test_numbers_at_sizes():
    assert str(ps.optimize(matmul).counts({"n": 1000})) == (
        "matmul where n = 1000\n"
        "for i, test_counts.py:24\n"
        "  operations  f64 *: 1000000000, f64 +: 1000000000\n"
        "  bytes       24000000000 read, 8000000000 written, 24000000 touched\n"
        "  intensity   83.3 a byte touched, 0.0625 a byte accessed\n"
        "  array  elements  reads       writes      reuse\n"
        "  C      1000000   1000000000  1000000000  2000\n"
        "  A      1000000   1000000000  0           1000\n"
        "  B      1000000   1000000000  0           1000"
    )


def test_several_nests_and_all_together():
    @ps.nest
    def twice(b: ps.f64["n", "m"], a: ps.f64["n", "m"], c: ps.f32["n"], n: ps.size, m: ps.size):
        for i in range(n):
            for j in range(i):
                b[i, j] = 2.0 * a[i, j]
        for i in range(n):
            c[i] = c[i] + c[n - 1 - i]

    found = ps.counts(twice)
    first, second, both = found.nests
    assert found.where == "n >= 2", "m >= n - 1 is what a call requires"
    assert text(first.operations) == {"f64 *": "n**2 / 2 - n / 2"}
    assert text(second.operations) == {"f32 +": "n"}
    assert [array.name for array in both.arrays] == ["b", "a", "c"]
    assert str(both.bytes_touched) == "8 * n**2 - 4 * n"
    assert both.title == "all together"


def text(operations: dict[str, Figure]) -> dict[str, str]:
    return {kind: str(figure) for kind, figure in operations.items()}


def test_some_sizes_may_be_given():
    found = ps.counts(matmul_of_sizes(), {"m": 3})
    assert found.where == "n > 0 and m = 3"
    assert text(found.nests[0].operations) == {"f64 *": "3 * n"}


def matmul_of_sizes():
    i, j, n, m = (var(name) for name in ("i", "j", "n", "m"))
    a = Array("a", ps.f64, (n, m))
    body = store(a, (i, j), mul(load(a, i, j), load(a, i, j)))
    return nest("square", "n m", [a], loop("i", 0, n, loop("j", 0, m, body)))


def test_what_data_decides_counts_and_the_table_says_so():
    @ps.nest
    def clipped(b: ps.f64["n"], a: ps.f64["n"], n: ps.size):
        for i in range(n):
            if a[i] > 0.5:
                b[i] = a[i] * 2.0

    found = ps.counts(clipped)
    assert not found.is_exact
    assert str(found) == (
        'clipped where n > 0; "at most" where data decides, all else exact\n'
        f"for i, test_counts.py:{line_of(clipped)}\n"
        "  operations  f64 *: at most n, f64 >: n\n"
        "  bytes       at most 16 * n read, at most 8 * n written, at most 16 * n touched\n"
        "  intensity   about 1 / 8 a byte touched, about 1 / 12 a byte accessed\n"
        "  array  elements   reads          writes     reuse\n"
        "  b      at most n  0              at most n  about 1\n"
        "  a      n          at most 2 * n  0          at most 2"
    )


@ps.nest
def hist(h: ps.f64["m"], x: ps.i64["n"], n: ps.size, m: ps.size):
    for i in range(n):
        h[x[i]] += 1.0


def line_of(nest) -> int:
    return ps.Schedule(nest).draft.scop.function.body[0].loc.line


def test_elements_that_data_chooses_are_at_most_as_many_as_accesses():
    """And the subscript of an update is loaded once, though `h[x[i]] = h[x[i]] + 1.0` names it twice."""
    assert str(ps.counts(hist, {"n": 10, "m": 1000})) == (
        'hist where n = 10, m = 1000; "at most" where data decides, all else exact\n'
        f"for i, test_counts.py:{line_of(hist)}\n"
        "  operations  f64 +: 10\n"
        "  bytes       160 read, 80 written, at most 160 touched\n"
        "  intensity   at least 0.0625 a byte touched, 0.0417 a byte accessed\n"
        "  array  elements    reads  writes  reuse\n"
        "  h      at most 10  10     10      at least 2\n"
        "  x      10          10     0       1"
    )
    assert str(ps.counts(hist, {"n": 1000, "m": 10}).nests[0].arrays[0].elements) == "at most 10"
    assert str(ps.counts(hist).nests[0].arrays[0].elements) == "at most m", "which is smaller is not known"


def test_what_a_subscript_loads_for_another_element_counts():
    @ps.nest
    def mixed(h: ps.f64["m"], x: ps.i64["n"], y: ps.i64["n"], n: ps.size, m: ps.size):
        for i in range(n):
            h[x[i]] = h[x[i]] + h[y[i]] + h[x[i] + 1]

    (table,) = ps.counts(mixed, {"n": 4, "m": 1000}).nests
    assert {array.name: str(array.reads) for array in table.arrays} == {"h": "12", "x": "8", "y": "4"}
    assert str(table.arrays[0].elements) == "at most 12", "three places are named in each instance"


def test_figures_through_counts_at_small_sizes_are_said_to_be_fitted():
    table = NestCounts(
        title="for i",
        operations={"f64 +": Figure(N, fitted=True)},
        arrays=(ArrayCounts(name="a", bytes=8, reads=Figure(N, fitted=True), writes=Figure(N), elements=Figure(N)),),
    )
    assert str(Counts(name="f", nests=(table,), where="n >= 2")) == (
        'f where n >= 2; "fitted" to counts at small sizes, all else exact\n'
        "for i\n"
        "  operations  f64 +: fitted n\n"
        "  bytes       fitted 8 * n read, 8 * n written, 8 * n touched\n"
        "  intensity   fitted 1 / 8 a byte touched, fitted 1 / 16 a byte accessed\n"
        "  array  elements  reads     writes  reuse\n"
        "  a      n         fitted n  n       fitted 2"
    )


def test_a_line_has_counts_of_its_own():
    @ps.nest
    def two(b: ps.f64["n"], c: ps.f64["n"], n: ps.size):
        for i in range(n):
            b[i] = 2.0 * b[i]
            c[i] = c[i] + 1.0

    start = line_of(two)
    (only,) = ps.counts(two, line=start + 2).nests
    assert only.title == f"for i, test_counts.py:{start}, only what line {start + 2} runs"
    assert text(only.operations) == {"f64 +": "n"} and [array.name for array in only.arrays] == ["c"]
    assert str(ps.counts(two, line=start)) == str(ps.counts(two))
    with pytest.raises(ps.InputError) as error:
        ps.counts(two, line=1)
    assert str(error.value) == f"line 1 has no loop or statement of 'two'\nhint: there are: {start + 1}, {start + 2}"


def test_numbers_that_no_polynomial_tells_are_unknown_until_the_size_is_given():
    @ps.nest
    def even(a: ps.f64["n"], n: ps.size):
        for i in range(0, n, 2):
            a[i] = 1.0

    assert "unknown written" in str(ps.counts(even))
    assert "400 written" in str(ps.counts(even, {"n": 99}))


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"k": 3}, "'matmul' has no size k\nhint: its sizes are: n"),
        ({"n": -1}, "'matmul' leaves its arrays at n = -1"),
    ],
)
def test_wrong_sizes_are_refused(sizes, message):
    with pytest.raises(ps.InputError) as error:
        ps.counts(matmul, sizes)
    assert str(error.value) == message


N, M = Polynomial.name("n"), Polynomial.name("m")


@pytest.mark.parametrize(
    ("above", "below", "lowest"),
    [
        (N * N * 2, N * 6, "n / 3"),
        (N * N - 1, N - 1, "n + 1"),
        (N * 5, N * 8 + 24, "5 * n / (8 * n + 24)"),
        (N * N * M, N * N * N, "m / n"),
        (Polynomial.number(7), Polynomial.number(2), "3.5"),
        (N, Polynomial(), "none"),
        (None, N, "unknown"),
    ],
)
def test_ratios_in_lowest_terms(above, below, lowest):
    assert ratio(above, below) == lowest


@pytest.mark.parametrize("seed", range(40))
def test_random_nests_access_what_the_formulas_say(seed):
    fn = nests.random_nest(random.Random(seed))
    formulas = counts(fn)
    for n in (4, 7, 11):
        holds = isl.Set(f"[n] -> {{ : {formulas.where or 'n >= 0'} }}")
        holds = not holds.intersect(isl.Set(f"[n] -> {{ : n = {n} }}")).is_empty()
        log = []
        interpret(fn, nests.arguments_for(fn, random.Random(seed), n), log)
        happened = Counter((touch.kind, touch.array) for touch in log)
        elements = Counter(array for array, _ in {(touch.array, touch.index) for touch in log})
        for found in (formulas, counts(fn, {"n": n})) if holds else (counts(fn, {"n": n}),):
            for array in found.nests[-1].arrays:
                known = {"read": array.reads, "write": array.writes}
                for kind, figure in known.items():
                    assert figure.formula is None or says(figure, n, happened[kind, array.name])
                assert array.elements.formula is None or says(array.elements, n, elements[array.name])


def says(figure: Figure, n: int, happened: int) -> bool:
    count = figure.formula.replaced("n", Polynomial.number(n)).constant
    return happened <= count if figure.at_most else happened == count


def test_random_nests_are_counted_when_their_sizes_are_given():
    given = [counts(nests.random_nest(random.Random(seed)), {"n": 9}) for seed in range(40)]
    assert not any("unknown" in str(found) for found in given)
