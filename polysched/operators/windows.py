"""Windows that slide along the axes of data: where they read, how many there are, what of them is padding.

    windows((5,), 3, stride=2, padding=1)       3 windows, which read -1..1, 1..3 and 3..5 of 0..4

`padding` is "VALID" (none), "SAME" (as much as a window has beyond its first element, of an odd number the greater part
before), one number for all sides, one for each axis, or those before all axes and then those after.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import Literal

from polysched.errors import InputError
from polysched.frontend import tensor as te
from polysched.frontend.tensor import Value

Padding = int | Literal["SAME", "VALID"] | Sequence[int]
Numbers = int | Sequence[int]  # one for each axis, or one for all


@dataclass(frozen=True)
class Window:
    """A window along one axis; `size` is how far the data goes without padding."""

    size: int
    kernel: int
    stride: int
    dilation: int
    before: int
    after: int

    @property
    def count(self) -> int:
        """How many windows there are."""
        return (self.size + self.before + self.after - reach(self.kernel, self.dilation)) // self.stride + 1

    def at(self, window: Value, tap: Value) -> Value:
        """The place that an element of a window reads; negative, or beyond the data, in the padding."""
        moved = _times(window, self.stride) + _times(tap, self.dilation)
        return moved - self.before if self.before else moved

    def inside(self, place: Value) -> list[Value]:
        """The conditions for a place not to be padding, of those that some window needs."""
        last = (self.count - 1) * self.stride + (self.kernel - 1) * self.dilation - self.before
        return [*([place >= 0] if self.before else []), *([place < self.size] if last >= self.size else [])]


def _times(value: Value, factor: int) -> Value:
    return value if factor == 1 else value * factor


def windows(
    sizes: Sequence[int], kernel: Numbers, *, stride: Numbers = 1, padding: Padding = 0, dilation: Numbers = 1
) -> tuple[Window, ...]:
    """The windows along each axis; InputError where a kernel does not fit, or a list has another length."""
    rank = len(sizes)
    kernels, strides = each("kernel", kernel, rank), each("stride", stride, rank)
    dilations = each("dilation", dilation, rank)
    pads = pads_of(padding, [reach(*pair) for pair in zip(kernels, dilations, strict=True)])
    found = tuple(
        Window(size, k, s, d, before, after)
        for size, k, s, d, (before, after) in zip(sizes, kernels, strides, dilations, pads, strict=True)
    )
    for window in found:
        if window.count < 1:
            padded = window.size + window.before + window.after
            needed = reach(window.kernel, window.dilation)
            raise InputError(f"a kernel that reaches over {needed} does not fit into {padded} elements of padded data")
    return found


def reach(kernel: int, dilation: int) -> int:
    """How many elements there are from the first to the last that a window reads."""
    return dilation * (kernel - 1) + 1


def pads_of(padding: Padding, reaches: Sequence[int]) -> list[tuple[int, int]]:
    """How much padding there is before and after each axis."""
    rank = len(reaches)
    match padding:
        case "VALID":
            return [(0, 0)] * rank
        case "SAME":
            return [(n // 2, (n - 1) // 2) for n in reaches]
        case int():
            return [(padding, padding)] * rank
    if len(padding) not in (rank, 2 * rank):
        raise InputError(f"padding is {list(padding)}, and must be one number or a list of {rank} or {2 * rank}")
    return list(zip(padding[:rank], padding[-rank:], strict=True))


def each(name: str, value: Numbers, rank: int) -> tuple[int, ...]:
    """A number for each axis; InputError where the parameter of this name has another count of them."""
    values = (value,) * rank if isinstance(value, int) else tuple(value)
    if len(values) != rank:
        raise InputError(f"{name} is {list(values)}, and must be one number or a list of {rank}")
    return values


def padded(element: Value, inside: Sequence[Value]) -> Value:
    """The element where all conditions hold, and zero, which is the padding, elsewhere."""
    where = every(inside)
    return element if where is None else te.select(where, element, 0)


def every(conditions: Sequence[Value]) -> Value | None:
    """All of them; None if there are none."""
    return reduce(and_, conditions) if conditions else None
