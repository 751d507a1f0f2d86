"""What a variable of an operator's Python code stands for where it is an array: memory that has one value at a time,
seen through views.

    y = x[1:]          y is x's memory through a view
    y += 1             x's memory has a new value, %x_1 = Update(%x, ...): who reads x from now on reads that

So in-place updates become values in SSA form, and aliases behave as NumPy's. What has no dimensions is an array or, as
what operations give, a number: nothing changes that, and what NumPy makes of it, as s[...], is a new array.

Basic indexing: which elements of an array a subscript with slices stands for, as NumPy defines it.

    offset[:, 1::4]     of [N, 4 * K]     ->     [n, k] is offset[n, 4 * k + 1], of [N, K]
    a[::-1]             of [n]            ->     [i] is a[n - 1 - i]
    a[-3:, None]        of [n]            ->     [i, j] is a[max(0, n - 3) + i], of [min(3, n), 1]

Bounds beyond an end of the array are clipped. The sign of a bound must be known: it says which end it counts from.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from polysched.errors import InputError
from polysched.frontend.arithmetic import Type, counted
from polysched.frontend.op.extents import Shape, ceildiv, is_at_least, normal, number, shown
from polysched.ir.build import add, mul, sub
from polysched.ir.dtypes import DType
from polysched.ir.graph.operations import Value
from polysched.ir.nodes import Binary, Const, Expr, Var
from polysched.ir.text import show


@dataclass(frozen=True)
class Every:
    """`count` elements of a dimension: start, start + step, ...; a negative step goes down."""

    start: Expr
    step: int
    count: Expr


@dataclass(frozen=True)
class At:
    """One element of a dimension, which the result does not have."""

    index: Expr


@dataclass(frozen=True)
class New:
    """A dimension of extent 1 that the array does not have."""


Part = Every | At | New
Bound = Expr | int | None


@dataclass(frozen=True)
class View:
    """The parts of a subscript, one for each dimension of the array, and for each new one."""

    parts: tuple[Part, ...]
    text: str = field(compare=False)  # as it is written, for people

    def __str__(self) -> str:
        return f"[{self.text}]"

    @property
    def shape(self) -> Shape:
        kept = (part for part in self.parts if not isinstance(part, At))
        return tuple(part.count if isinstance(part, Every) else Const(1) for part in kept)

    def source(self, index: Sequence[Expr]) -> tuple[Expr, ...]:
        """The element of the array that is this element of the view."""
        given = iter(index)
        found: list[Expr] = []
        for part in self.parts:
            match part:
                case At(at):
                    found.append(at)
                case New():
                    next(given)
                case Every(start, step, _):
                    found.append(normal(add(start, mul(step, next(given)))))
        return tuple(found)

    def is_whole(self, shape: Shape) -> bool:
        """Is the view the array of this shape itself?"""
        return self.parts == tuple(Every(Const(0), 1, extent) for extent in shape)


def view(name: str, shape: Shape, subscripts: Sequence[object], text: str) -> View:
    """The view that a subscript of ints, extents, slices, None and one Ellipsis at most stands for.

    InputError for too many subscripts, a step of zero, a bound whose sign is not known, an index out of bounds.
    """
    used = sum(entry is not None and entry is not Ellipsis for entry in subscripts)
    if used > len(shape):
        message = f"'{name}' has {counted(len(shape), 'dimension')} and is given {used} subscripts"
        raise InputError(message, None, f"its shape is {shown(shape)}")
    if sum(entry is Ellipsis for entry in subscripts) > 1:
        raise InputError("a subscript has two '...'", None, "write ':' for the dimensions of one of them")
    return View(tuple(_parts(name, shape, filled(subscripts, len(shape) - used))), text)


def filled(subscripts: Sequence[object], missing: int) -> Iterator[object]:
    """The subscripts with ':' for each dimension that has none."""
    for entry in subscripts if Ellipsis in subscripts else (*subscripts, Ellipsis):
        if entry is Ellipsis:
            yield from [slice(None)] * missing
        else:
            yield entry


def _parts(name: str, shape: Shape, subscripts: Iterator[object]) -> Iterator[Part]:
    extents = iter(shape)
    for entry in subscripts:
        match entry:
            case None:
                yield New()
            case slice():
                yield _every(next(extents), entry.start, entry.stop, entry.step)
            case int() | Expr():
                yield At(_index(name, next(extents), entry))
            case _:
                raise TypeError(f"unexpected subscript {entry!r}")


def _every(extent: Expr, start: Bound, stop: Bound, step: Bound) -> Every:
    if step is not None and not isinstance(step, int):
        raise InputError(f"the step '{show(step)}' of a slice is not a number", None, "write it as one, as in a[::2]")
    step = 1 if step is None else step
    if step == 0:
        raise InputError("the step of a slice is zero", None, "write 1 or -1, or leave it out")
    if step > 0:
        first = Const(0) if start is None else _from_an_end(extent, start, least=0)
        last = extent if stop is None else Binary("min", _from_an_end(extent, stop, least=None), extent)
        count = ceildiv(sub(last, first), step)
    else:
        top = sub(extent, 1)
        first = top if start is None else Binary("min", _from_an_end(extent, start, least=None), top)
        last = Const(-1) if stop is None else _from_an_end(extent, stop, least=-1)
        count = ceildiv(sub(first, last), -step)
    return Every(normal(first), step, normal(Binary("max", Const(0), count)))


def _from_an_end(extent: Expr, bound: Expr | int, least: int | None) -> Expr:
    """The position that a bound means; one before the array is moved to `least`."""
    bound = normal(bound)
    if is_at_least(bound, Const(0)):
        return bound
    if is_at_least(Const(-1), bound):
        bound = normal(add(extent, bound))
    elif normal(sub(extent, bound)) != Const(1):  # n - 1 is negative only where there are no elements
        message = f"the sign of '{show(bound)}' is not known, and says which end of the array a bound counts from"
        raise InputError(message, None, f"write max({show(bound)}, 0)")
    return bound if least is None else normal(Binary("max", Const(least), bound))


def _index(name: str, extent: Expr, index: Expr | int) -> Expr:
    at = normal(index)
    if is_at_least(Const(-1), at):
        at = normal(add(extent, at))
    value, count = number(at), number(extent)
    if (value is not None and value < 0) or (value is not None and count is not None and value >= count):
        message = f"the index {show(normal(index))} is out of bounds of '{name}', whose extent there is {show(extent)}"
        raise InputError(message, None, "write an index from 0 to one less than the extent")
    return at


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
