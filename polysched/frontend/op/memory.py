"""What a variable of an operator's Python code stands for where it is an array: memory that has one value at a time,
seen through views.

    y = x[1:]          y is x's memory through a view
    y += 1             x's memory has a new value, %x_1 = Update(%x, ...): who reads x from now on reads that

So in-place updates become values in SSA form, and aliases behave as NumPy's. What has no dimensions is an array or, as
what operations give, a number: nothing changes that, and what NumPy makes of it, as s[...], is a new array.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from polysched.frontend.arithmetic import Type
from polysched.frontend.op.extents import Shape, normal, shown
from polysched.frontend.op.views import View
from polysched.ir.build import add
from polysched.ir.dtypes import DType
from polysched.ir.graph.operations import Value
from polysched.ir.nodes import Expr, Var


@dataclass
class Memory:
    """`value` is what it holds now."""

    name: str
    value: Value
    origin: Memory | None = None  # of what is a view or a copy, as NumPy decides when it runs: of what
    taken: Value | None = None  # the value of the origin at that time
    is_array: bool = False  # even if it has no dimensions
    is_outside: bool = False  # does it belong to the code around the operator?

    @property
    def is_number(self) -> bool:
        """Is it a scalar of NumPy or of Python, which nothing changes?"""
        return not self.value.type.shape and not self.is_array

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


@dataclass(frozen=True)
class Sums:
    """A view of the elements at sums of indices, as windows and diagonals are; NumPy does not let one change it.

    Dimension k of the array is at an offset plus the indices of some dimensions of the view.
    """

    sources: tuple[tuple[Expr, tuple[int, ...]], ...]
    shape: Shape = field(compare=False)

    def source(self, index: Sequence[Expr]) -> tuple[Expr, ...]:
        """The element of the array that is this element of the view."""
        return tuple(normal(add(offset, *(index[k] for k in dimensions))) for offset, dimensions in self.sources)

    def __str__(self) -> str:
        index = [Var(f"i{k}") for k in range(len(self.shape))]
        return shown(self.source(index))


Step = View | Permuted | Reshaped | Spread | Sums
READ_ONLY = (Spread, Sums)


@dataclass(frozen=True, eq=False)
class Ref:
    """An array as the user sees it."""

    memory: Memory
    dtype: DType
    shape: Shape
    path: tuple[Step, ...] = ()
    weak: bool = False  # a number that Python computes, of sizes: it takes the dtype of what it meets

    @property
    def type(self) -> Type:
        return Type(self.dtype, self.weak)

    @property
    def rank(self) -> int:
        return len(self.shape)

    def seen(self, step: Step, shape: Shape) -> Ref:
        """A view; of a number, a new array."""
        seen = self.as_array()
        return Ref(seen.memory, self.dtype, shape, (*seen.path, step))

    def as_array(self) -> Ref:
        """The array itself; of a number, a new array."""
        return Ref(Memory("", self.memory.value, is_array=True), self.dtype, ()) if self.memory.is_number else self
