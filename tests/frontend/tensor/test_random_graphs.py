"""Random graphs of tensor expressions compute what NumPy computes, interpreted and compiled."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import reduce
from itertools import count
from typing import Any

import numpy as np
import pytest

import polysched as ps

N, M = 3, 4
EXTENTS = {"n": N, "m": M}
SIZES = {name: ps.var(name) for name in EXTENTS}
DTYPES = (ps.f32, ps.f64, ps.i8, ps.i32, ps.i64, ps.u8, ps.boolean)


@dataclass(frozen=True)
class Both:
    """A tensor, whose dimensions are named by their sizes, and what NumPy says that it holds."""

    tensor: ps.Tensor
    dims: str
    holds: np.ndarray

    def at(self, index: dict[str, ps.Value]) -> ps.Value:
        return self.tensor[tuple(index[size] for size in self.dims)]

    def seen(self, dims: str) -> np.ndarray:
        """The array, broadcast to dimensions in this order."""
        axes = [self.holds.shape[self.dims.index(d)] if d in self.dims else 1 for d in dims]
        order = sorted(range(len(self.dims)), key=lambda k: dims.index(self.dims[k]))
        return np.broadcast_to(self.holds.transpose(order).reshape(axes), [EXTENTS[d] for d in dims])


@dataclass
class Graph:
    """A graph that grows by one tensor at a time."""

    rng: random.Random
    known: list[Both] = field(default_factory=list)
    arguments: dict[str, np.ndarray] = field(default_factory=dict)
    numbers_given: Iterator[int] = field(default_factory=count)

    def given(self) -> Both:
        name, dims, dtype = f"a{len(self.known)}", self.rng.choice(["n", "m", "nm", "mn"]), self.rng.choice(DTYPES)
        low = 0 if dtype.kind in "ub" else -3
        values = np.random.default_rng(self.rng.randrange(1000)).integers(
            low, 2 if dtype.kind == "b" else 4, [EXTENTS[d] for d in dims]
        )
        self.arguments[name] = values.astype(dtype.numpy)
        tensor = ps.placeholder([SIZES[d] for d in dims], dtype, name)
        return Both(tensor, dims, self.arguments[name])

    def computed(self) -> Both:
        return self.rng.choice([self.elementwise, self.elementwise, self.reduced, self.scanned, self.updated])()

    def operand(self, fits: str) -> Both:
        return self.rng.choice([b for b in self.known if set(b.dims) <= set(fits)] or [self.whole(fits)])

    def whole(self, dims: str) -> Both:
        zero = ps.compute([SIZES[d] for d in dims], lambda *i: 1, f"z{next(self.numbers_given)}", dtype=ps.i32)
        return Both(zero, dims, np.ones([EXTENTS[d] for d in dims], np.int32))

    def named(self, tensor: Callable[[str], ps.Tensor], dims: str, holds: np.ndarray) -> Both:
        made = tensor(f"t{len(self.known)}")
        assert made.dtype.numpy == holds.dtype.name, f"{made.dtype} is not {holds.dtype}"
        return Both(made, dims, holds)

    def elementwise(self) -> Both:
        dims = self.rng.choice(["n", "m", "nm", "mn"])
        x, y = self.operand(dims), self.operand(dims)
        value, reference = self.binary(x.tensor.dtype, y.tensor.dtype)
        inline = self.rng.choice([None, None, False])

        def element(*index: ps.Value) -> ps.Value:
            at = dict(zip(dims, index, strict=True))
            return value(x.at(at), y.at(at))

        holds = reference(x.seen(dims), y.seen(dims))
        return self.named(lambda name: ps.compute(shape(dims), element, name, inline=inline), dims, holds)

    def binary(self, left: ps.DType, right: ps.DType) -> tuple[Callable[..., Any], Callable[..., Any]]:
        """An operation on scalars, and on arrays."""
        rng = self.rng
        if "b" in (left.kind, right.kind):
            return rng.choice(
                [
                    (lambda x, y: ps.select(truth(x), y, 0), lambda x, y: np.where(x != 0, y, 0)),
                    (lambda x, y: truth(x) & truth(y), lambda x, y: (x != 0) & (y != 0)),
                    (lambda x, y: ~truth(x) | truth(y), lambda x, y: (x == 0) | (y != 0)),
                ]
            )
        common = np.promote_types(left.numpy, right.numpy)
        return rng.choice(
            [
                (lambda x, y: x + y * 2, lambda x, y: x + y * 2),
                (lambda x, y: x - y, lambda x, y: x - y),
                (lambda x, y: x * y, lambda x, y: x * y),
                (lambda x, y: ps.maximum(x, y), lambda x, y: greater(x.astype(common), y.astype(common))),
                (lambda x, y: x < y, lambda x, y: x < y),
                (lambda x, y: ps.select(x > 1, x, y), lambda x, y: np.where(x > 1, x.astype(common), y)),
                (lambda x, y: ps.abs(x) + y.astype(ps.i32), lambda x, y: np.abs(x) + y.astype(np.int32)),
            ]
        )

    def reduced(self) -> Both:
        x = self.rng.choice([b for b in self.known if b.dims])
        over = self.rng.choice(x.dims)
        dims = "".join(d for d in x.dims if d != over)
        terms = np.moveaxis(x.holds, x.dims.index(over), 0)
        where = self.rng.random() < 0.5
        if where:
            terms = terms[1:]
        op = self.rng.choice(["any", "all"] if x.tensor.dtype == ps.boolean else ["sum", "max", "min", "argmax"])
        if x.tensor.dtype.kind == "b":
            holds = {"any": np.any, "all": np.all}[op](terms, axis=0)
        elif op == "argmax":
            holds = np.argmax(terms, axis=0) + where
        else:
            holds = reduce(
                {"sum": np.add, "max": greater, "min": lambda a, b: np.where(b < a, b, a)}[op],
                terms,
                np.full(terms.shape[1:], _nothing(op, terms.dtype), terms.dtype),
            )
        post = op in ("sum", "max") and self.rng.random() < 0.5

        def element(*index: ps.Value) -> ps.Value:
            r = ps.reduce_axis(SIZES[over], "r")
            at = {**dict(zip(dims, index, strict=True)), over: r}
            result = getattr(ps, op)(x.at(at), axis=r, where=r >= 1 if where else None)
            return result * 2 if post else result

        holds = holds * 2 if post else holds
        return self.named(lambda name: ps.compute(shape(dims), element, name), dims, np.asarray(holds))

    def scanned(self) -> Both:
        x = self.numbers("nm")
        dims = x.dims

        def element(itself: ps.Tensor, *index: ps.Value) -> ps.Value:
            *outer, i = index
            return ps.select(i > 0, itself[(*outer, i - 1)], 0) + x.tensor[tuple(index)]

        holds = np.cumsum(x.holds, axis=-1, dtype=x.holds.dtype)
        return self.named(lambda name: ps.scan(shape(dims), element, x.tensor.dtype, name), dims, holds)

    def updated(self) -> Both:
        base = self.numbers("nm")
        step, down = self.rng.choice([1, 2]), self.rng.random() < 0.5
        first, size = base.dims[0], EXTENTS[base.dims[0]]
        count = (SIZES[first] + step - 1) // step
        holds = base.holds.copy()
        part = slice(None, None, step)
        adds = self.rng.random() < 0.5
        values = base.holds[::-1][: -(-size // step)] if down else base.holds[part]
        holds[part] = holds[part] + values if adds else values

        def store(i: ps.Value, *rest: ps.Value) -> Any:
            source = SIZES[first] - 1 - i if down else i * step
            return (i * step, *rest), base.tensor[(source, *rest)]

        def made(name: str) -> ps.Tensor:
            names = ["p", "q"][: len(base.dims)]
            op = "+" if adds else ""
            return ps.update(base.tensor, (count, *shape(base.dims[1:])), store, name, op=op, names=names)

        return self.named(made, base.dims, holds)

    def numbers(self, fits: str) -> Both:
        return self.rng.choice([b for b in self.known if b.tensor.dtype != ps.boolean and b.dims] or [self.whole(fits)])


def shape(dims: str) -> list[ps.Value]:
    return [SIZES[d] for d in dims]


def truth(x: ps.Value) -> ps.Value:
    return x if x.dtype == ps.boolean else x != 0


def greater(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.where(b > a, b, a)


def _nothing(op: str, dtype: np.dtype) -> Any:
    if op == "sum":
        return 0
    if dtype.kind == "f":
        return -np.inf if op == "max" else np.inf
    return np.iinfo(dtype).min if op == "max" else np.iinfo(dtype).max


def random_function(seed: int) -> tuple[Any, dict[str, np.ndarray], dict[str, np.ndarray]]:
    """A function, its inputs, and what its outputs should be."""
    graph = Graph(random.Random(seed))
    with np.errstate(all="ignore"):
        for _ in range(3):
            graph.known.append(graph.given())
        for _ in range(graph.rng.choice([1, 3, 5])):
            graph.known.append(graph.computed())
    outputs = [graph.known[-1], *(b for b in graph.known[3:-1] if graph.rng.random() < 0.2)]
    used = placeholders([b.tensor for b in outputs])
    function = ps.function(
        "graph", [b.tensor for b in graph.known[:3] if b.tensor in used], [b.tensor for b in outputs]
    )
    inputs = {tensor.name: graph.arguments[tensor.name] for tensor in used}
    return function, inputs, {b.tensor.name: b.holds for b in outputs}


def placeholders(tensors: list[ps.Tensor]) -> list[ps.Tensor]:
    below = [m for tensor in tensors for m in tensor.names.values() if isinstance(m, ps.Tensor)]
    own = [tensor for tensor in tensors if not tensor.bodies]
    return list(dict.fromkeys([*own, *(placeholders(below) if below else [])]))


def check(run: Callable[..., Any], seed: int, function: Any, inputs: dict[str, Any], wanted: dict[str, Any]) -> None:
    given = {name: value.copy() for name, value in inputs.items()}
    sizes = {size: EXTENTS[size] for size in function.sizes}
    outputs = {name: np.full_like(value, 1) for name, value in wanted.items()}
    run(**sizes, **given, **outputs)
    for name, value in wanted.items():
        np.testing.assert_array_equal(outputs[name], value, f"{name} of seed {seed}")
    for name, value in inputs.items():
        np.testing.assert_array_equal(given[name], value, f"the input {name} of seed {seed} has changed")


def test_graphs_interpreted():
    for seed in range(150):
        function, inputs, wanted = random_function(seed)
        check(lambda f=function, **arguments: ps.interpret(f, arguments), seed, function, inputs, wanted)


@pytest.mark.parametrize("seed", range(6))
def test_graphs_compiled(seed):
    function, inputs, wanted = random_function(seed)
    check(ps.optimize(function), seed, function, inputs, wanted)
