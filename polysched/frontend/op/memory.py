"""What a variable of an operator's Python code stands for where it is an array: memory that has one value at a time,
seen through views.

    y = x[1:]          y is x's memory through a view
    y += 1             x's memory has a new value, %x_1 = Update(%x, ...): who reads x from now on reads that

So in-place updates become values in SSA form, and aliases behave as NumPy's.
"""

from __future__ import annotations

from dataclasses import dataclass

from polysched.frontend.op.extents import Shape
from polysched.frontend.op.views import View
from polysched.frontend.promotion import Type
from polysched.ir.dtypes import DType
from polysched.ir.graph import Value


@dataclass
class Memory:
    """`value` is what it holds now."""

    name: str
    value: Value
    origin: Memory | None = None  # of what is a view or a copy, as NumPy decides when it runs: of what
    taken: Value | None = None  # the value of the origin at that time

    @property
    def is_unsure(self) -> bool:
        """Does its value depend on whether it is a view or a copy?"""
        return self.origin is not None and self.origin.value != self.taken


@dataclass(frozen=True)
class Permuted:
    """A view with the dimensions in another order: dimension k is dimension axes[k] of the array."""

    axes: tuple[int, ...]

    @property
    def inverse(self) -> Permuted:
        return Permuted(tuple(self.axes.index(k) for k in range(len(self.axes))))


@dataclass(frozen=True)
class Reshaped:
    """A view of all elements of an array in C order as one of another shape."""

    shape: Shape


@dataclass(frozen=True)
class Spread:
    """A view that repeats an array by broadcasting; NumPy does not let one change anything through it."""

    shape: Shape


Step = View | Permuted | Reshaped | Spread


@dataclass(frozen=True, eq=False)
class Ref:
    """An array as the user sees it."""

    memory: Memory
    dtype: DType
    shape: Shape
    path: tuple[Step, ...] = ()

    @property
    def type(self) -> Type:
        return Type(self.dtype)

    @property
    def rank(self) -> int:
        return len(self.shape)
