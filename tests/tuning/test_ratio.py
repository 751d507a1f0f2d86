"""polysched/opt/tuning/ratio.py: which of two kernels is faster, and how sure that is."""

from __future__ import annotations

from math import comb
from random import Random

import pytest

from polysched.opt.tuning.ratio import Ratio, _left_out, ratio_of


def test_of_pairs_the_ratio_counts():
    found = ratio_of([10.0, 100.0, 10.0, 10.0, 10.0, 10.0, 10.0], [5.0, 50.0, 5.0, 5.0, 5.0, 4.0, 10.0])
    assert found == Ratio(2.0, 1.0, 2.5, 7)
    assert str(found) == "2.00 (1.00 to 2.50, 7 pairs)"


@pytest.mark.parametrize("count", range(6, 60))
def test_the_interval_misses_the_median_in_one_of_twenty_cases_at_most(count: int):
    def missed(cut: int) -> float:
        return 2 * sum(comb(count, k) for k in range(cut + 1)) / 2**count

    assert missed(_left_out(count)) <= 0.05 < missed(_left_out(count) + 1)


def test_the_interval_holds_the_median_of_what_is_drawn():
    random, missed = Random(0), 0
    for _ in range(1000):
        found = ratio_of([random.lognormvariate(0.0, 0.3) for _ in range(15)], [1.0] * 15)
        missed += not found.low <= 1.0 <= found.high
    assert missed < 60


@pytest.mark.parametrize("count", range(1, 6))
def test_of_a_few_pairs_it_is_all_that_was_seen(count: int):
    assert _left_out(count) == 0


@pytest.mark.parametrize(
    ("low", "high", "is_decided"),
    [(1.01, 3.0, True), (0.2, 0.99, True), (0.97, 1.04, True), (0.9, 1.2, False)],
)
def test_it_is_decided_if_one_is_faster_or_both_are_alike(low: float, high: float, is_decided: bool):
    assert Ratio(1.0, low, high, 7).is_decided == is_decided
