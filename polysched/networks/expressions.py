"""Makes the tensors of one kernel, with names in order, so that equal kernels are equal texts.

made = Expressions()
x = made.given((4, 8), f32)                         a0: f32[4, 8], a parameter
y = made.compute((4, 8), f32, lambda i: x[i] + 1)   t1, an array or a value in place, as `frontend/tensor` decides
made.function("kernel", [y])                        the nest, and which of the parameters it reads

With `last`, what is computed of three axes or more lies in memory with the second axis, the channels, as the last one:
operators go on counting images, channels, rows and columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from polysched.errors import InputError
from polysched.frontend import tensor as te
from polysched.ir.dtypes import DType
from polysched.ir.nodes import Function
from polysched.networks.array import Array, Element, Index, dtype_of

Order = tuple[int, ...]  # of axes in memory; () is as they are


class Expressions:
    """The tensors of one kernel."""

    def __init__(self, *, last: bool = False) -> None:
        self.last = last
        self._count = 0
        self._tensors: dict[int, te.Tensor] = {}  # by the identity of the array
        self._orders: dict[int, Order] = {}
        self._arrays: list[Array] = []  # kept, so that no identity is used twice
        self.parameters: list[te.Tensor] = []
        self.contents: dict[str, np.ndarray] = {}  # of parameters that are constants

    def fresh(self, prefix: str) -> str:
        self._count += 1
        return f"{prefix}{self._count}"

    def given(self, shape: Sequence[int], dtype: DType, order: Order = ()) -> Array:
        """A parameter, whose axes lie in memory in the order that is given."""
        require_elements(shape)
        tensor = te.placeholder(placed(shape, order), dtype, self.fresh("a"))
        self.parameters.append(tensor)
        return self._of(tensor, shape, dtype, order)

    def constant(self, content: np.ndarray, order: Order = ()) -> Array:
        """A constant: a parameter when an element is read at an index that is not known, but for a single number."""
        content = np.asarray(content)
        made: list[Array] = []

        def element(index: Index) -> Any:
            if not made:
                made.append(self.given(content.shape, dtype_of(content), order))
                self.contents[self.parameters[-1].name] = content.transpose(order) if order else content
            return made[0][index]

        return Array(content.shape, dtype_of(content), element, content)

    def axis(self, extent: int) -> Any:
        """The axis of a reduction."""
        return te.reduce_axis(int(extent), self.fresh("k"))

    def compute(self, shape: Sequence[int], dtype: DType, element: Element, *, inline: bool | None = None) -> Array:
        """The array whose elements are given by a function of the index; what has none is known."""
        if 0 in tuple(shape):
            return Array(shape, dtype, None, np.zeros(tuple(shape), dtype.numpy))
        name, order = self.fresh("t"), self.order(len(shape))
        names = [f"{name}_{k}" for k in range(len(shape))]
        tensor = te.compute(
            placed(shape, order),
            lambda *i: element(counted(i, order)),
            name,
            dtype=dtype,
            names=names,
            inline=inline,
        )
        return self._of(tensor, shape, dtype, order)

    def order(self, rank: int) -> Order:
        """In which order the axes of what is computed lie in memory."""
        return channels_last(rank) if self.last else ()

    def scan(self, shape: Sequence[int], dtype: DType, element: Callable[[Any, Index], Any]) -> Array:
        """The array whose elements may read earlier ones of it, in the order of the index."""
        require_elements(shape)
        name = self.fresh("t")
        names = [f"{name}_{k}" for k in range(len(shape))]
        tensor = te.scan(tuple(map(int, shape)), lambda own, *i: element(own, i), dtype, name, names=names)
        return self._of(tensor, shape, dtype)

    def update(self, base: Array, shape: Sequence[int], store: Callable[[Index], Any], op: str = "") -> Array:
        """`base` with elements stored anew: for each index of `shape`, where and what."""
        require_elements(shape)
        name = self.fresh("t")
        names = [f"{name}_{k}" for k in range(len(shape))]
        of, order = self._tensor(base), self.order(len(shape))
        to = self._orders.get(id(base), ())

        def stored(*i: Any) -> Any:
            place, value = store(counted(i, order))
            return placed(place, to), value

        tensor = te.update(of, placed(shape, order), stored, name, op=op, names=names)  # type: ignore[arg-type]
        return self._of(tensor, base.shape, base.dtype, to)

    def copied(self, x: Array) -> Array:
        return self.compute(x.shape, x.dtype, lambda i: x[i])

    def function(self, name: str, results: Sequence[Array]) -> tuple[Function, tuple[str, ...]]:
        """The nest that computes the results, and the names of the arrays that it stores them to."""
        outputs: list[te.Tensor] = []
        for each in results:
            tensor = self._tensors.get(id(each))
            is_in_order = self._orders.get(id(each), ()) == self.order(each.rank)
            if tensor is None or tensor in outputs or not tensor.bodies or not is_in_order:
                tensor = self._tensor(self.copied(each))
            outputs.append(tensor)
        read = _read(outputs)
        inputs = [parameter for parameter in self.parameters if parameter.name in read]
        return te.function(name, inputs, outputs), tuple(output.name for output in outputs)

    def _of(self, tensor: te.Tensor, shape: Sequence[int], dtype: DType, order: Order = ()) -> Array:
        made = Array(shape, dtype, lambda index: tensor[placed(index, order)])
        self._tensors[id(made)] = tensor
        self._orders[id(made)] = order
        self._arrays.append(made)
        return made

    def _tensor(self, array: Array) -> te.Tensor:
        if id(array) not in self._tensors:
            copy = self.copied(array)
            self._orders[id(array)] = self._orders[id(copy)]
            array = copy
        return self._tensors[id(array)]


def _read(outputs: Sequence[te.Tensor]) -> set[str]:
    """The names of all tensors that the outputs are computed from."""
    found: set[str] = set()

    def visit(tensor: te.Tensor) -> None:
        if tensor.name not in found:
            found.add(tensor.name)
            for meaning in tensor.names.values():
                if isinstance(meaning, te.Tensor):
                    visit(meaning)

    for output in outputs:
        visit(output)
    return found


def channels_last(rank: int) -> Order:
    """The second axis behind all others, where there are axes behind it."""
    return (0, *range(2, rank), 1) if rank > 2 else ()


def placed(index: Sequence[Any], order: Order) -> tuple[Any, ...]:
    """An index, or extents, in the order in which the axes lie in memory."""
    return tuple(index[axis] for axis in order) if order else tuple(index)


def counted(index: Sequence[Any], order: Order) -> tuple[Any, ...]:
    """An index in the order of the axes, from one in the order in memory."""
    return tuple(index[order.index(axis)] for axis in range(len(order))) if order else tuple(index)


def require_elements(shape: Sequence[int]) -> None:
    if 0 in tuple(shape):
        raise InputError(f"an array of shape {tuple(shape)} has no elements", hint="kernels need one at least")
