"""Where the windows of convolutions and pools lie, by the attributes that all of them have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from polysched.networks.array import Index
from polysched.networks.node import Node


@dataclass(frozen=True)
class Windows:
    """Of each image axis: how many windows, their steps and dilation, and what is padded before and after."""

    extents: tuple[int, ...]  # of the data
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]
    count: tuple[int, ...]

    def at(self, i: Sequence[Any], r: Sequence[Any]) -> Index:
        """The element that window i has at r; it may lie outside of the data."""
        steps = zip(i, self.strides, r, self.dilations, self.before, strict=True)
        return tuple(_times(j, s) + _times(k, d) - b for j, s, k, d, b in steps)

    def inside(self, place: Sequence[Any]) -> list[Any]:
        """The conditions for an element to be in the data, without those that always hold."""
        tests = []
        for axis, j in enumerate(place):
            last = (self.count[axis] - 1) * self.strides[axis] + (self.kernel[axis] - 1) * self.dilations[axis]
            if self.before[axis] > 0:
                tests.append(j >= 0)
            if last - self.before[axis] >= self.extents[axis]:
                tests.append(j < self.extents[axis])
        return tests


def _times(value: Any, factor: int) -> Any:
    return value if factor == 1 else value * factor


def windows(node: Node, extents: Sequence[int], kernel: Sequence[int], *, rounded_up: bool = False) -> Windows:
    rank = len(extents)
    strides = tuple(node.get("strides") or [1] * rank)
    dilations = tuple(node.get("dilations") or [1] * rank)
    auto = node.choice("auto_pad", "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER")
    pads = list(node.get("pads") or [0] * (2 * rank))
    if auto != "NOTSET":
        pads = [0] * (2 * rank)
    widths = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    if auto.startswith("SAME"):
        for axis, (n, s, w) in enumerate(zip(extents, strides, widths, strict=True)):
            total = max((-(-n // s) - 1) * s + w - n, 0)
            less, more = total // 2, total - total // 2
            pads[axis], pads[axis + rank] = (less, more) if auto == "SAME_UPPER" else (more, less)
    before, after = tuple(pads[:rank]), tuple(pads[rank:])
    count = []
    for n, s, w, b, a in zip(extents, strides, widths, before, after, strict=True):
        room = n + b + a - w
        steps = -(-room // s) if rounded_up else room // s
        if rounded_up and steps * s >= n + b:  # a window that begins behind the data is none
            steps -= 1
        if steps < 0:
            raise node.refusal(f"a window of {w} does not fit in {n + b + a} elements", "pad more")
        count.append(steps + 1)
    return Windows(tuple(extents), tuple(kernel), strides, dilations, before, after, tuple(count))
