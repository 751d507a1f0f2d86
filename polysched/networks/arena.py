"""Where the values of a network lie: one block of memory, in which those that live at the same time do not meet.

    lives [(first call, last call, bytes), ...]      ->      the offset of each, and how large the block is

Greedy: the largest first, each at the least offset that is free while it lives.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from polysched.runtime.aligned import LINE


@dataclass(frozen=True)
class Life:
    first: int  # the call that stores it
    last: int  # the last one that reads it
    bytes: int


@dataclass(frozen=True)
class Arena:
    offsets: Mapping[str, int]
    bytes: int
    sum: int  # of all values
    bound: int  # the most that live at one time, which no block can be smaller than


def placed(lives: Mapping[str, Life]) -> Arena:
    """An offset for each name."""
    sizes = {name: -(-life.bytes // LINE) * LINE for name, life in lives.items()}
    offsets: dict[str, int] = {}
    for name in sorted(lives, key=lambda name: (-sizes[name], lives[name].first, name)):
        life, offset = lives[name], 0
        taken = sorted((offsets[o], offsets[o] + sizes[o]) for o in offsets if _meet(life, lives[o]))
        for start, end in taken:
            if offset + sizes[name] <= start:
                break
            offset = max(offset, end)
        offsets[name] = offset
    calls = {life.first for life in lives.values()}
    bound = max((sum(sizes[n] for n, life in lives.items() if life.first <= c <= life.last) for c in calls), default=0)
    total = max((offsets[name] + sizes[name] for name in offsets), default=0)
    return Arena(offsets, total, sum(sizes.values()), bound)


def _meet(one: Life, other: Life) -> bool:
    return one.first <= other.last and other.first <= one.last
