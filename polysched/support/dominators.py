"""Which places every way to a place leads through, in a graph of places 0, 1, ..., of which 0 is entered.

>>> dominators([[1, 2], [3], [3], [], [0]])      # 0 leads to 1 and 2, these lead to 3; nothing leads to 4
{0: 1, 2: 5, 1: 3, 3: 9}
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import and_


def dominators(after: Sequence[Sequence[int]]) -> dict[int, int]:
    """For each place that can be reached, those that every way to it leads through, itself among them, as bits of a
    number; `after` are the places that a place leads to."""
    before: dict[int, list[int]] = {place: [] for place in range(len(after))}
    for place, following in enumerate(after):
        for other in following:
            before[other].append(place)
    order = _in_reverse_postorder(after)
    above = dict.fromkeys(order, -1) | dict.fromkeys(order[:1], 1)
    changed = True
    while changed:
        changed = False
        for place in order[1:]:
            new = 1 << place | reduce(and_, (above[other] for other in before[place] if other in above))
            changed = changed or new != above[place]
            above[place] = new
    return above


def _in_reverse_postorder(after: Sequence[Sequence[int]]) -> list[int]:
    """What can be reached from the first place, most of it behind what leads to it."""
    if not after:
        return []
    seen, finished, stack = {0}, list[int](), [(0, iter(after[0]))]
    while stack:
        place, rest = stack[-1]
        following = next((other for other in rest if other not in seen), None)
        if following is None:
            finished.append(place)
            stack.pop()
        else:
            seen.add(following)
            stack.append((following, iter(after[following])))
    return finished[::-1]
