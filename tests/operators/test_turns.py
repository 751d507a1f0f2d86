"""Programs in turns, and ratios of their samples."""

from __future__ import annotations

import math

import pytest

from benchmarks.operators import turns
from benchmarks.operators.turns import Ratio, compared, in_turns, mean


def test_programs_take_turns(monkeypatch):
    monkeypatch.setattr(turns, "SAMPLE", 0.0)  # a call a sample
    calls = []
    samples = in_turns({"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, seconds=0.0)
    assert calls == [*"aaabbb", *"ab" * len(samples["a"])]
    assert len(samples["a"]) == len(samples["b"])


def test_a_load_that_comes_and_goes_moves_no_ratio():
    before = [2.0, 2.0, 8.0, 8.0, 2.0, 2.0, 2.0, 2.0, 9.0]
    after = [1.0, 1.0, 4.0, 4.0, 1.0, 1.0, 1.0, 1.0, 1.0]  # the load came in the middle of the last round
    assert compared(before, after) == Ratio(2.0, 2.0, 2.0)


def test_a_round_is_made_however_little_time_there_is():
    samples = in_turns({"a": lambda: None, "b": lambda: None}, seconds=0.0)
    assert [len(each) for each in samples.values()] == [1, 1]


# the ranks that tables of the sign test give
@pytest.mark.parametrize(("count", "low", "high"), [(6, 1, 6), (8, 1, 8), (9, 2, 8), (11, 2, 10), (25, 8, 18)])
def test_the_interval_is_of_the_ranks_that_hold_the_median(count, low, high):
    ratio = compared([float(k) for k in range(1, count + 1)], [1.0] * count)
    assert (ratio.low, ratio.high) == (low, high)


@pytest.mark.parametrize("count", [1, 5])
def test_few_rounds_are_no_evidence(count):
    ratio = compared([9.0] * count, [10.0] * count)
    assert (ratio.value, ratio.low, ratio.high) == (0.9, 0.0, math.inf)


def test_errors_of_a_mean_add_up_as_squares():
    assert mean([Ratio(1.0, 0.7, 1.0), Ratio(2.0, 1.6, 2.6)]) == Ratio(1.5, 1.25, pytest.approx(1.8))
