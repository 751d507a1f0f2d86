from __future__ import annotations

import random

from polysched.deps.components import components, strongly_connected

NAMES = ["A", "B", "C", "D", "E"]


def test_components_and_cycles():
    pairs = [("A", "B"), ("B", "C"), ("C", "B"), ("D", "D")]
    assert components(NAMES, pairs) == [["A", "B", "C"], ["D"], ["E"]]
    assert strongly_connected(NAMES, pairs) == [["A"], ["B", "C"], ["D"], ["E"]]


def test_a_dependence_against_source_order_reorders():
    assert strongly_connected(["A", "B"], [("B", "A")]) == [["B"], ["A"]]


def test_source_order_among_those_that_may_come_next():
    assert strongly_connected(NAMES, [("D", "A")]) == [["B"], ["C"], ["D"], ["A"], ["E"]]


def test_random_graphs():
    rng = random.Random(5)
    for _ in range(200):
        pairs = [(rng.choice(NAMES), rng.choice(NAMES)) for _ in range(rng.randint(0, 8))]
        parts = strongly_connected(NAMES, pairs)
        assert sorted(name for part in parts for name in part) == NAMES
        place = {name: k for k, part in enumerate(parts) for name in part}
        assert all(place[source] <= place[sink] for source, sink in pairs)
        for part in parts:  # each reaches each other
            for start in part:
                assert set(part) <= reach(start, pairs)


def reach(start: str, pairs: list[tuple[str, str]]) -> set[str]:
    seen = {start}
    while len(seen) < len(seen := seen | {sink for source, sink in pairs if source in seen}):
        pass
    return seen
