"""Values that live at the same time do not meet in the arena."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from polysched.networks.arena import LINE, Life, placed

LIVES = st.builds(lambda first, more, size: Life(first, first + more, size), *map(st.integers, (0, 0, 1), (9, 4, 500)))


def test_one_place_serves_two_that_follow_one_another():
    arena = placed({"a": Life(0, 1, 64), "b": Life(1, 2, 100), "c": Life(2, 3, 60)})
    assert arena.offsets == {"b": 0, "a": 128, "c": 128}
    assert (arena.bytes, arena.bound, arena.sum) == (192, 192, 256)


@given(st.lists(LIVES, max_size=12))
def test_no_two_meet(lives):
    arena = placed({str(k): life for k, life in enumerate(lives)})
    for k, one in enumerate(lives):
        start = arena.offsets[str(k)]
        assert start % LINE == 0 and start + one.bytes <= arena.bytes
        for j, other in enumerate(lives[:k]):
            if one.first <= other.last and other.first <= one.last:
                place = arena.offsets[str(j)]
                assert start + one.bytes <= place or place + other.bytes <= start
    assert arena.bound <= arena.bytes <= arena.sum
