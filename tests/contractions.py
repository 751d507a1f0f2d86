"""Random contractions, on machines of small vectors and caches: `python tests/contractions.py --count 200`.

    for t in 0..2:                                      sometimes
        for i in 0..n:
            for j in 0..i + 1:                          triangles
                C[i, j] = C[i, j] * 0.5                 sometimes
                for k in 0..m:
                    C[i, j] = C[i, j] + A[i, k] * C[j, i]       transposed, shifted and reversed, of the same array too

Each goes through the whole pipeline; what it computes is compared with the interpreter bit by bit. A failure prints its
seed.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Mapping
from typing import Any

import nests
import numpy as np
from nests import add, binary, loop, mul, n, nest, sub, var
from seeds import run_seeds

import polysched as ps
from polysched.config.machine import Machine
from polysched.ir.build import const
from polysched.ir.dtypes import DType, f32, f64, i32, i64
from polysched.ir.nodes import Array, Call, Expr, Function, Load, Stmt, Store

MACHINES = (
    Machine(vector_bytes=16, vector_registers=8, l1=256, l2=1024),
    Machine(vector_bytes=8, vector_registers=4, l1=64, l2=256),
    Machine(vector_bytes=16, vector_registers=32, l1=128, l2=4096),
)
SIZES = (1, 3, 6, 9)
m = var("m")


def random_contraction(rng: random.Random) -> Function:
    """One or two nests of two to four loops, alone or in a loop that repeats them; over sizes n and m."""
    return _Generator(rng).function()


class _Generator:
    """`reach` collects how far subscripts go: (a, b, c) for less than a n + b m + c."""

    def __init__(self, rng: random.Random):
        self.rng = rng
        self.dtype: DType = rng.choice((f64, f64, f64, f32, i32, i64))
        self.ranks = {"A": 2, "B": 2, "C": 2, "x": 1, "D": rng.choice((1, 2, 3))}
        self.reach = {name: [(0, 0, 1)] * rank for name, rank in self.ranks.items()}
        self.extent: dict[str, tuple[int, int]] = {}  # of each loop: (1, 0) for n, (0, 1) for m

    def function(self) -> Function:
        body = [self.nest(letters) for letters in ("ijkl", "abcd")[: self.rng.choice((1, 2))]]
        if len(body) > 1 and self.rng.random() < 0.6:
            body = [loop("t", 0, 2, *body)]
        arrays = [
            Array(name, self.dtype, tuple(add(mul(a, n), mul(b, m), c) for a, b, c in reach))
            for name, reach in self.reach.items()
        ]
        return nest("contraction", "n m", arrays, *body)

    def nest(self, letters: str) -> Stmt:
        depth = self.rng.choice((2, 2, 3, 3, 3, 3, 4))
        names = letters[:depth]
        bounds = [self.bounds(name, names[:position]) for position, name in enumerate(names)]
        inner = [self.statement(names) for _ in range(self.rng.choice((1, 1, 1, 1, 2)))]
        before = depth - 1 if self.rng.random() < 0.3 else None
        for position in reversed(range(depth)):
            stmt: Stmt = loop(names[position], *bounds[position], *inner)
            inner = [self.statement(names[:position]), stmt] if position == before else [stmt]
        return inner[-1]

    def bounds(self, name: str, around: str) -> tuple[Expr | int, Expr | int]:
        kind = self.rng.random()
        if around and kind < 0.3:
            other = self.rng.choice(around)
            self.extent[name] = self.extent[other]
            end = n if self.extent[other] == (1, 0) else m
            here, behind = var(other), add(var(other), 1)
            return self.rng.choice(((0, behind), (0, here), (here, end), (behind, end)))
        self.extent[name] = (1, 0) if kind < 0.75 else (0, 1)
        return (self.rng.choice((0, 0, 0, 1)), n if self.extent[name] == (1, 0) else m)

    def statement(self, around: str) -> Stmt:
        kind = self.rng.random()
        if len(around) >= 3 and kind < 0.6:
            return self.product(around)
        if len(around) == 2 and kind < 0.6:
            return self.sweep(around)
        return self.update(around)

    def product(self, around: str) -> Stmt:
        """A matrix product, of factors that may be transposed, or be one array, or what they change."""
        *_, row, column, along = self.rng.sample(around, len(around))
        target = self.plain("CCCAD", (row, column))
        factors = [self.plain("AABBC", (one, along)) for one in (row, column)]
        factors += [self.plain("AB", (column, along))] if self.rng.random() < 0.2 else []
        return Store(target.array, target.index, binary(self.rng.choice("++-"), target, mul(*factors)))

    def sweep(self, around: str) -> Stmt:
        """A recurrence along one of the loops."""
        row, along = self.rng.sample(around, 2)
        here = self.plain("ABC", (row, along))
        index = tuple(add(part, 1) if part == var(along) else part for part in here.index)
        self.reach[here.array] = [(a, b, max(1, c)) for a, b, c in self.reach[here.array]]
        value = sub(self.plain("ABC", (row, along)), mul(here, self.plain("ABC", (along, row))))
        return Store(here.array, index, value)

    def plain(self, arrays: str, names: tuple[str, ...]) -> Load:
        """An element of one of the arrays, at these loops in one order or the other."""
        array = self.rng.choice([array for array in arrays if self.ranks[array] == len(names)])
        if self.rng.random() < 0.5:
            names = names[::-1]
        for axis, name in enumerate(names):
            self.reach[array][axis] = tuple(map(max, self.reach[array][axis], (*self.extent[name], 0)))
        return Load(array, tuple(map(var, names)), self.dtype)

    def update(self, around: str) -> Stmt:
        target = self.load(self.rng.choice("CCCCABxD"), around)
        operands = [self.load(self.rng.choice("AABBCxD"), around) for _ in range(self.rng.choice((1, 2, 2, 3)))]
        value = binary(self.rng.choice("***+-"), *operands)
        kind = self.rng.random()
        if kind < 0.75:
            value = binary(self.rng.choice("+++-"), target, value)
        elif kind < 0.85:
            value = binary(self.rng.choice(("min", "max")), target, value)
        elif kind < 0.9 and self.dtype == f64:
            value = add(target, Call("fabs", (value,), f64))
        elif self.dtype.is_float:
            value = add(mul(target, const(0.5, self.dtype)), value)
        return Store(target.array, target.index, value)

    def load(self, name: str, around: str) -> Load:
        rank = self.ranks[name]
        distinct = self.rng.sample(around, min(rank, len(around)))
        names = [*distinct, *(self.rng.choice(around) for _ in range(rank - len(distinct)))]
        index = tuple(self.subscript(name, axis, variable, around) for axis, variable in enumerate(names))
        return Load(name, index, self.dtype)

    def subscript(self, array: str, axis: int, name: str, around: str) -> Expr:
        size = self.extent[name]
        kind, reach = self.rng.random(), (*size, 0)
        result: Expr = var(name)
        if kind < 0.06:
            result, reach = add(result, 1), (*size, 1)
        elif kind < 0.1:
            result = sub(sub(n if size == (1, 0) else m, 1), result)
        elif kind < 0.14:
            other = self.rng.choice(around)
            both = (a + b for a, b in zip(size, self.extent[other], strict=True))
            result, reach = add(result, var(other)), (*both, 0)
        elif kind < 0.17:
            result, reach = const(0), (0, 0, 1)
        self.reach[array][axis] = tuple(map(max, self.reach[array][axis], reach))
        return result


def check_contraction(seed: int, sizes: tuple[int, ...] = SIZES) -> None:
    """The kernel of one random contraction, interpreted where it is small and compiled, gives the same bits."""
    rng = random.Random(seed)
    fn = random_contraction(rng)
    options = ps.Options(
        machine=rng.choice(MACHINES), fusion=rng.choice(("smart", "max", "none")), contract_floats=False
    )
    done = ps.optimize(fn, options=options)
    assert done.rungs["mapping"].startswith("mapped"), done.rungs
    for size in sizes:
        arguments = nests.arguments_for(fn, rng, size)  # m is n + 1
        expected = nests.outcome(fn, arguments)
        if size == sizes[-2]:
            flat = {name: value.ravel() if np.ndim(value) else value for name, value in arguments.items()}
            interpreted = nests.outcome(done.kernel, flat)
            _assert_equal({name: interpreted[name].reshape(expected[name].shape) for name in expected}, expected, size)
        done(**arguments)
        _assert_equal(arguments, expected, size)


def _assert_equal(actual: Mapping[str, Any], expected: Mapping[str, np.ndarray], size: int) -> None:
    for name, array in expected.items():
        np.testing.assert_array_equal(actual[name], array, err_msg=f"n = {size}, array {name}", strict=True)


if __name__ == "__main__":
    sys.exit(run_seeds(check_contraction, __doc__, first=100, count=200))
