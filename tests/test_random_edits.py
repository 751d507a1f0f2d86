"""Sequences of random edits, as in tests/fuzz."""

import pytest
from edits import Tally, check_random_edits


@pytest.mark.parametrize("first", range(0, 300, 20))
def test_random_edits_are_legal_or_refused_with_a_true_witness(first):
    tally = Tally()
    for seed in range(first, first + 20):
        check_random_edits(seed, tally)
    assert tally.made and tally.illegal
