"""Sequences of random edits, as in tests/fuzz_schedules.py."""

import pytest
from batches import batches
from edits import Tally, check_random_edits


@pytest.mark.parametrize("first", batches(range(0, 300, 20), quick=1))
def test_random_edits_are_legal_or_refused_with_a_true_witness(first):
    tally = Tally()
    for seed in range(first, first + 20):
        check_random_edits(seed, tally)
    assert tally.made and tally.illegal
