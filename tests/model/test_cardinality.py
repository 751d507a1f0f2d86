"""model/counting/cardinality.py: the number of points of a set as a polynomial, against points that are counted."""

from __future__ import annotations

import random

import pytest

from polysched.codegen.count import number
from polysched.model.counting.cardinality import cardinality, large_sizes
from polysched.model.counting.interpolated import interpolated
from polysched.support import isl

KNOWN = isl.Set("[n, m] -> { : n >= 0 and m >= 0 }")


def counted(text: str) -> tuple[str, str] | None:
    """The formula and where it holds."""
    found = cardinality(isl.Set(f"[n, m] -> {{ {text} }}"))
    if found is None:
        return None
    large = large_sizes(KNOWN)
    where = found.within(KNOWN, large).gist(KNOWN)
    return number(found.formula(large)), str(where).rpartition("{")[2].partition("}")[0].strip(" :")


@pytest.mark.parametrize(
    ("points", "formula", "where"),
    [
        ("S[i, j] : 0 <= i < n and 0 <= j < m", "m * n", "n > 0 and m > 0"),
        ("S[i, j] : 0 <= i < n and i <= j < n", "n**2 / 2 + n / 2", "n > 0"),
        ("[x] : 0 <= x < 2n and x mod 2 = 0", "n", "n > 0"),
        ("A[x] : exists i : x = 3i and 0 <= i < n", "n", "n > 0"),
        ("A[x] : 0 <= x < n; A[5]", "n", "n >= 6"),
        ("[i, j] : 0 <= i, j < n and i != j", "n**2 - n", "n >= 2"),
        ("[i, j] : 0 <= i < n and i <= j < m", "m * n - n**2 / 2 + n / 2", "n > 0 and m > n"),
        ("S[]", "1", ""),
        ("S[i] : false", "0", ""),
    ],
)
def test_formulas(points, formula, where):
    assert counted(points) == (formula, where)


@pytest.mark.parametrize("points", ["[x] : 0 <= x < n and x mod 2 = 0", "[x] : 0 <= x", "[x] : 0 <= 2x < n"])
def test_numbers_that_no_polynomial_tells(points):
    assert counted(points) is None


@pytest.mark.parametrize(
    ("known", "point"),
    [
        ("[n, m] -> { : n >= 2m }", "[n, m] -> { : n = 1000000 and m = 100000 }"),
        ("[n, m] -> { : n = 2m }", "[n, m] -> { : n = 2m }"),
        ("[n] -> { : 0 <= n <= 7 }", "[n] -> { : 0 <= n <= 7 }"),
        ("{ : }", "{ : }"),
    ],
)
def test_large_sizes_are_among_those_known(known, point):
    found = large_sizes(isl.Set(known))
    assert not found.is_empty() and found.is_subset(isl.Set(point)) and found.is_subset(isl.Set(known))


@pytest.mark.parametrize("seed", range(40))
def test_random_sets_equal_their_points(seed):
    rng = random.Random(seed)
    points = isl.Set(f"[n, m] -> {{ {random_points(rng)} }}")
    found = cardinality(points)
    if found is None:
        return
    known = isl.Set("[n, m] -> { : 0 <= n <= 9 and 0 <= m <= 9 }")
    for _ in range(6):
        n, m = rng.randint(0, 9), rng.randint(0, 9)
        sizes = isl.Set(f"[n, m] -> {{ : n = {n} and m = {m} }}")
        formula = found.formula(sizes)
        for name, value in (("n", n), ("m", m)):
            formula = formula.replaced(name, type(formula).number(value))
        assert formula.constant == points.intersect_params(sizes).count_val().to_python(), (points, n, m)
        assert sizes.is_subset(found.within(known, sizes)), "the formula holds at the sizes it was made for"


def random_points(rng: random.Random) -> str:
    parts = []
    for _ in range(rng.choice((1, 1, 2))):
        lower = rng.choice(("0", "i", "i - 1", "2")), rng.choice(("0", "j", "i"))
        upper = rng.choice(("n", "m", "n - i", "i + 3")), rng.choice(("n", "m", "j + 2", "m - 1"))
        extra = rng.choice(("", "", " and i != j", " and i + j <= n", " and (i + k) mod 2 = 0", " and j mod 3 = 0"))
        parts.append(
            f"[i, j, k] : 0 <= i < n and {lower[0]} <= j < {upper[0]} and {lower[1]} <= k < {upper[1]}{extra}"
        )
    return "; ".join(parts)


def test_a_polynomial_through_counts_where_no_sum_tells():
    text = "[n, m] -> { [x, y] : exists i, j : x = 2i + 3j and 0 <= i, j < n and 0 <= y < m }"
    found = interpolated(isl.Set(text))
    assert cardinality(isl.Set(text)) is None
    assert found is not None and number(found) == "5 * m * n - 6 * m"
    assert interpolated(isl.Set("[n] -> { [x] : 0 <= 2x < n }")) is None, "other sizes do not fit"
