"""Random sums of products, as tiles in registers: `python tests/fuzz_products.py --count 500`.

    for c in 0..5:                                            loops of random roles, extents and order
        for y in 0..7: for f in 0..4:
            out[f, 1, y] += data[c, y * 2 - 1] * weight[c, f]         windows, zeros around them, casts, factors
    ...                                                       what is done to out before and after, and made of it

Each is compiled for machines of small vectors and caches, with all thresholds low, so that small nests have all parts:
full and last tiles, several blocks, threads. What it computes is compared with the interpreter bit by bit: its loops,
and for some nests its C, whose threads must not race. A failure prints its seed.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from math import prod
from pathlib import Path
from unittest.mock import patch

if __name__ == "__main__":
    sys.path[:0] = map(str, Path(__file__).parents[:2])

import nests
import numpy as np
from nests import add, binary, loop, mul, nest, sub, var
from seeds import run_seeds

import polysched as ps
from benchmarks.polybench.race import find_race
from polysched.codegen.products import copies, sizes, words
from polysched.config.machine import Machine
from polysched.ir.build import conjunction, const
from polysched.ir.dtypes import DType, f32, f64, i8, i16, i32, i64, u8
from polysched.ir.node import walk
from polysched.ir.nodes import Alloc, Array, Cast, Const, Expr, For, Function, Load, Select, Stmt, Store, Var
from polysched.model.tree.nodes import Product, marks_in
from polysched.prelude.padding import choice
from polysched.transform.analysis import products

MOST_UPDATES = 3000
MACHINES = (
    Machine(vector_bytes=16, vector_registers=8, l1=256, l2=1024, cores=2),
    Machine(vector_bytes=8, vector_registers=4, l1=64, l2=256, instructions=("vpdpbusd",)),
    Machine(vector_bytes=32, vector_registers=16, l2=512, cores=3),
    Machine(vector_bytes=16, vector_registers=32, l1=128, l2=1 << 16, instructions=("vpdpbusd",)),
)
THRESHOLDS = {
    products: {"FEW_ROWS": 3, "LEAST_TERMS": 2, "LEAST_UPDATES": 8, "LEAST_DOT": 4},
    copies: {"COPIED_TERMS": 4},
    sizes: {"SIMD_OPERATIONS": 0},
    words: {"VECTOR_BYTES": 8},
}


@contextmanager
def low_thresholds(rng: random.Random) -> Iterator[None]:
    """Meanwhile, small nests are run as large ones are; columns may need loops that are not next to each other."""
    with ExitStack() as stack:
        stack.enter_context(patch.object(products, "LEAST_COLUMNS", rng.choice((2, 2, 4, 6))))
        stack.enter_context(patch.object(choice, "COPY_PAYS", rng.choice((0.0, 1.5))))
        for module, values in THRESHOLDS.items():
            stack.enter_context(patch.multiple(module, **values))
        yield


def random_products(rng: random.Random) -> Function:
    """A nest that adds products up, most of them such that they are recognised, and what is done before and after."""
    while True:
        generator = _Generator(rng)
        if prod(generator.extents.values()) <= MOST_UPDATES:
            return generator.function()


class _Generator:
    def __init__(self, rng: random.Random):
        self.rng = rng
        self.by_terms = rng.random() < 0.25  # do factors lie in memory term by term?
        counts = {"b": (0, 0, 0, 1, 2), "f": (0, 1, 1, 1, 2), "x": (1, 1, 2, 3), "k": (1, 1, 2, 3)}
        counts["k"] = (1,) if self.by_terms else counts["k"]
        self.by_role = {role: [f"{role}{n}" for n in range(rng.choice(choice))] for role, choice in counts.items()}
        names = [name for some in self.by_role.values() for name in some]
        self.extents = {name: rng.choice((1, 2, 3, 4, 5, 6, 8, 9, 12, 17)) for name in names}
        integers = self.by_terms and rng.random() < 0.7  # so that some sums are dot products
        self.dtype: DType = rng.choice((i32, i64) if integers else (f32, f32, f64, i32, i64))
        is_narrow = self.dtype == i32 and rng.random() < 0.5
        some = random.Random(repr(self.extents))  # seeds of before there were others give the same products
        self.narrow = {name: some.choice((i8, i8, u8, i16)) if is_narrow else self.dtype for name in ("data", "weight")}
        self.arrays: list[Array] = []

    def function(self) -> Function:
        rng = self.rng
        names = [*self.by_role["b"], *self.by_role["f"]]
        rng.shuffle(names)
        names += rng.sample(self.by_role["x"], len(self.by_role["x"]))
        if rng.random() < 0.1:
            rng.shuffle(names)
        index: list[Expr] = [var(name) for name in names]
        if rng.random() < 0.2:
            index.insert(rng.randrange(len(index)), const(rng.randrange(2)))
        shape = [self.extents[x.name] if isinstance(x, Var) else 2 for x in index]
        shape = [extent + (rng.random() < 0.1) for extent in shape]
        out = self.array("out", shape)
        factors = [self.factor("data", "x"), self.factor("weight", "f")]
        if rng.random() < 0.5:
            factors.reverse()
        at = tuple(index)
        update = Store("out", at, add(Load("out", at, self.dtype), mul(*factors)))
        order = rng.sample(names + self.by_role["k"], len(self.extents))
        sums, behind = self.loops(order, update), [*self.made(at), *self.elsewhere(at)]
        body = [*self.before(out, at), sums, *behind, *self.after(out)]
        if rng.random() < 0.05:
            body = [loop("t", 0, 2, *body)]
        if any(array.name == "other0" for array in self.arrays) and random.Random(repr(shape)).random() < 0.5:
            zeros = self.loops(names, Store("out", at, const(0, self.dtype)))
            body = [Alloc(replace(out, space="private")), zeros, sums, *behind]  # nothing else reads them
            self.arrays.remove(out)
        return nest("products", "", self.arrays, *body)

    def loops(self, order: list[str], body: Stmt, **extents: int) -> Stmt:
        for name in reversed(order):
            body = loop(name, 0, extents.get(name, self.extents[name]), body)
        return body

    def array(self, name: str, shape: list[int], dtype: DType | None = None) -> Array:
        self.arrays.append(Array(name, dtype or self.dtype, tuple(map(Const, shape))))
        return self.arrays[-1]

    def before(self, out: Array, at: tuple[Expr, ...]) -> Iterator[Stmt]:
        """What the sums begin with, or something like it."""
        kind, names = self.rng.random(), [part.name for part in at if isinstance(part, Var)]
        value = const(self.rng.choice((0, 0, 3)), self.dtype)
        if kind < 0.4:  # all of it
            own = {name: var(f"z{name}") for name in names}
            new = tuple(own[part.name] if isinstance(part, Var) else part for part in at)
            stmt: Stmt = Store("out", new, value)
            for name in self.rng.sample(names, len(names)):
                stmt = loop(f"z{name}", 0, self.extents[name], stmt)
            yield stmt
            if self.rng.random() < 0.2:
                yield self.copied(out)
        elif kind < 0.6:  # the whole array, of which there may be more
            new = tuple(var(f"z{k}") for k in range(len(out.shape)))
            stmt = Store("out", new, value)
            for k, extent in enumerate(out.shape):
                stmt = loop(f"z{k}", 0, extent, stmt)
            yield stmt
        elif kind < 0.7:  # a part
            short = {name: max(1, self.extents[name] - 1) for name in names[:1]}
            yield self.loops(names, Store("out", at, value), **short)
        elif kind < 0.8:  # a diagonal
            size = min(extent.value for extent in out.shape)
            yield loop("z", 0, size, Store("out", tuple(var("z") for _ in out.shape), value))

    def copied(self, out: Array) -> Stmt:
        """Another array of what is in `out`."""
        copy = self.array("copy", [extent.value for extent in out.shape])
        at = tuple(var(f"y{k}") for k in range(len(out.shape)))
        stmt: Stmt = Store(copy.name, at, Load("out", at, self.dtype))
        for k, extent in enumerate(out.shape):
            stmt = loop(f"y{k}", 0, extent, stmt)
        return stmt

    def made(self, at: tuple[Expr, ...]) -> Iterator[Stmt]:
        """What is made of the sums, one after the other, or of some of them."""
        rng = random.Random(repr(self.extents))  # seeds of before this was here give the same products
        names = [part.name for part in at if isinstance(part, Var)]
        for n in range(rng.choice((0, 1, 1, 2))):
            own = {name: var(f"e{n}{name}") for name in names}
            new = tuple(own[part.name] if isinstance(part, Var) else part for part in at)
            some = rng.sample(names, rng.randrange(1, len(names) + 1))
            bias = self.array(f"bias{n}", [self.extents[name] for name in some])
            here = Load("out", new, self.dtype)
            other = Load(bias.name, tuple(own[name] for name in some), self.dtype)
            stmt: Stmt = Store("out", new, binary("max", add(here, mul(here, other)), const(-1, self.dtype)))
            for name in rng.sample(names, len(names)):
                stmt = loop(f"e{n}{name}", 0, self.extents[name] - (rng.random() < 0.05), stmt)
            yield stmt

    def elsewhere(self, at: tuple[Expr, ...]) -> Iterator[Stmt]:
        """What is made of the sums in other arrays, of other types and layouts, or of elements that several share."""
        rng = random.Random(repr(self.extents) + "elsewhere")
        names = [part.name for part in at if isinstance(part, Var)]
        for n in range(rng.choice((0, 0, 1, 1, 2))):
            own = {name: var(f"o{n}{name}") for name in names}
            new = tuple(own[part.name] if isinstance(part, Var) else part for part in at)
            order = rng.sample(names, len(names) - (len(names) > 1 and rng.random() < 0.25))
            order = names if rng.random() < 0.4 else order
            other = self.array(f"other{n}", [self.extents[name] for name in order], rng.choice((self.dtype, i64, f64)))
            index = tuple(own[name] for name in order)
            from_last = rng.choice(names) if rng.random() < 0.2 else ""
            last = {Var(own[from_last].name): sub(self.extents[from_last] - 1, own[from_last])} if from_last else {}
            here: Expr = add(*(Load("out", tuple(by.get(x, x) for x in new), self.dtype) for by in ({}, last)))
            here = here if other.dtype == self.dtype else Cast(here, other.dtype)
            if rng.random() < 0.4:
                read = tuple(sub(other.shape[0], add(x, 1)) if rng.random() < 0.4 else x for x in index[:1])
                here = add(here, Load(other.name, (*read, *index[1:]), other.dtype))
            stmt: Stmt = Store(other.name, index, here)
            for name in rng.sample(names, len(names)):
                stmt = loop(f"o{n}{name}", 0, self.extents[name] - (rng.random() < 0.05), stmt)
            yield stmt

    def after(self, out: Array) -> Iterator[Stmt]:
        if self.rng.random() < 0.2 and not any(array.name == "copy" for array in self.arrays):
            yield self.copied(out)

    def factor(self, name: str, side: str) -> Expr:
        """An element of an array that batch, the side's loops and the terms step through."""
        rng = self.rng
        own, terms = list(self.by_role[side]), list(self.by_role["k"])
        if len(terms) > 1 and rng.random() < 0.2:
            terms.remove(rng.choice(terms))
        if side == "x":
            terms = [*self.by_role["k"]]
        parts: list[tuple[Expr, int, int]] = []  # subscripts, and the least and most that they are
        for space in own:
            if terms and not self.by_terms and rng.random() < 0.35:
                parts.append(self.window(space, terms.pop(rng.randrange(len(terms)))))
            else:
                parts.append(self.plain(space))
        parts += [self.plain(name) for name in self.by_role["b"]]
        if rng.random() < 0.6:
            rng.shuffle(parts)
        parts += [self.plain(name) for name in terms]
        if not self.by_terms and rng.random() < 0.6:
            rng.shuffle(parts)
        index, shape, inside = [], [], []
        for expr, least, most in parts:
            if rng.random() < 0.15:
                guarded = rng.choice((1, 1, 2))
                expr, extent = sub(expr, least + guarded), max(1, most - least + 1 - rng.choice((0, 1, 3)))
                inside += [binary("<=", 0, expr), binary("<", expr, extent)]
            else:
                expr, extent = (sub(expr, least) if least else expr), most - least + 1 + (rng.random() < 0.1)
            index.append(expr)
            shape.append(extent)
        narrow = self.narrow[name]
        array = self.array(name, shape, narrow)
        value: Expr = Load(name, tuple(index), narrow)
        if rng.random() < 0.1:
            value = mul(value, const(2, narrow))
        if inside:
            value = Select(conjunction(inside), value, const(0, narrow))
        return value if array.dtype == self.dtype else Cast(value, self.dtype)

    def plain(self, name: str) -> tuple[Expr, int, int]:
        last, kind = self.extents[name] - 1, self.rng.random()
        if kind < 0.06:
            return sub(last, var(name)), 0, last
        if kind < 0.12:
            return mul(var(name), 2), 0, 2 * last
        if kind < 0.15:
            return binary("floordiv", var(name), 2), 0, last // 2
        if kind < 0.18:
            return mul(var(name), 0), 0, 0
        return var(name), 0, last

    def window(self, space: str, term: str) -> tuple[Expr, int, int]:
        stride, dilation = self.rng.choice((1, 1, 1, 2, 3)), self.rng.choice((1, 1, 2, -1))
        ends = (0, dilation * (self.extents[term] - 1))
        steps = [var(name) if by == 1 else mul(var(name), by) for name, by in ((space, stride), (term, dilation))]
        return add(*steps), min(ends), max(ends) + stride * (self.extents[space] - 1)


def check_products(seed: int, *, in_c: bool | None = None) -> bool:
    """The loops of one random nest, and some of them as C, give the bits of the interpreter; were there products?"""
    rng = random.Random(seed)
    fn = random_products(rng)
    options = ps.Options(
        machine=rng.choice(MACHINES), fusion=rng.choice(("smart", "none")), lower_operations=0, contract_floats=False
    )
    with low_thresholds(rng):
        done = ps.optimize(fn, options=options)
    arguments = nests.arguments_for(fn, rng, 0) | _narrow_values(fn, seed)
    expected = nests.outcome(fn, arguments)
    flat = {name: value.ravel() for name, value in arguments.items()}
    interpreted = nests.outcome(done.kernel, flat)
    _assert_equal({name: interpreted[name].reshape(expected[name].shape) for name in expected}, expected)
    if rng.random() < 0.2 if in_c is None else in_c:
        raced = {name: value.copy() for name, value in arguments.items()}
        done(**arguments)
        _assert_equal(arguments, expected)
        loops = [node for node in walk(done.kernel.body) if isinstance(node, For)]
        if any(one.kind == "parallel" for one in loops) and not any(one.when for one in loops):  # race.c knows no if()
            report = find_race(done.source, fn, raced)
            assert not report.race, report
    return any(isinstance(mark, Product) for mark in marks_in(done.tree))


def _narrow_values(fn: Function, seed: int) -> dict[str, np.ndarray]:
    """Of arrays of few bits, any values, the largest ones often."""
    rng, values = np.random.default_rng(seed), {}
    for array in (array for array in fn.arrays if array.dtype.bits < 32):
        shape, limits = tuple(extent.value for extent in array.shape), np.iinfo(array.dtype.numpy)
        values[array.name] = rng.integers(limits.min, limits.max, shape, limits.dtype, endpoint=True)
        values[array.name][rng.random(shape) < 0.3] = rng.choice((limits.min, limits.max))
    return values


def _assert_equal(actual: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> None:
    for name, array in expected.items():
        np.testing.assert_array_equal(actual[name], array, err_msg=f"array {name}", strict=True)


if __name__ == "__main__":
    sys.exit(run_seeds(check_products, __doc__, first=0, count=500))
