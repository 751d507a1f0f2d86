"""Nests to test with: the classics by name, and random affine ones.

    fn = random_nest(random.Random(7))
    before = arguments_for(fn, random.Random(7), n=5)
    after = outcome(fn, before)                     # what the interpreter makes of a copy of the arguments

Loops and extents are small on purpose: everybody's property tests run hundreds of these.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from polysched.ir.build import add, binary, conjunction, const, floormod, lift, load, mul, store, sub, var
from polysched.ir.dtypes import DType, f64, i32, i64
from polysched.ir.interp import evaluate, interpret
from polysched.ir.node import walk
from polysched.ir.nodes import Array, Cast, Expr, For, Function, If, Load, Stmt, Store, Var

Operand = Expr | int


def arguments_for(fn: Function, rng: random.Random, n: int) -> dict[str, Any]:
    """Random arguments; the sizes are n, n + 1, n + 2, ... so that no two are mixed up unnoticed."""
    arguments: dict[str, Any] = {size: n + k for k, size in enumerate(fn.sizes)}
    arguments.update({scalar.name: _random_value(scalar.dtype, rng) for scalar in fn.scalars})
    for array in fn.arrays:
        shape = tuple(evaluate(extent, arguments) for extent in array.shape)
        values = [_random_value(array.dtype, rng) for _ in range(int(np.prod(shape, dtype=int)))]
        arguments[array.name] = np.array(values, array.dtype.numpy).reshape(shape)
    return arguments


def _random_value(dtype: DType, rng: random.Random) -> Any:
    if dtype.is_float:
        return rng.uniform(-1, 1)
    return rng.randint(0, 1) if dtype.kind == "b" else rng.randint(0 if dtype.kind == "u" else -9, 9)


def outcome(fn: Function, arguments: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """The arrays after `fn` ran on copies of `arguments`, which stay as they are."""
    copies = {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in arguments.items()}
    interpret(fn, copies)
    return {array.name: copies[array.name] for array in fn.arrays}


def assert_same_outcome(one: Function, other: Function, arguments: Mapping[str, Any]) -> None:
    """Both leave the same bits in all arrays (any NaN equals any other)."""
    expected, actual = outcome(one, arguments), outcome(other, arguments)
    for name in expected:
        np.testing.assert_array_equal(actual[name], expected[name], err_msg=f"array {name}", strict=True)


def stencil2(margin: int = 0) -> Function:
    """Acceptance B: for i in 0..N: for j in 0..N: a[i+1, j] = f(a[i, j+1], a[i, j], a[i, j-1]).

    Its column subscripts leave the array at j = 0; with margin=1 they are one larger and stay inside.
    """
    a = Array("a", f64, (add(N, 1), add(N, 1 + margin)))
    i, j = var("i"), var("j")

    def column(offset: int) -> Expr:
        return add(j, offset) if offset > 0 else sub(j, -offset) if offset < 0 else j

    right, middle, left = (load(a, i, column(offset + margin)) for offset in (1, 0, -1))
    value = add(mul(0.25, right), mul(0.5, middle), mul(0.25, left))
    return nest("stencil2", "N", [a], loop("i", 0, N, loop("j", 0, N, store(a, (add(i, 1), column(margin)), value))))


def gemm() -> Function:
    """C = beta * C + alpha * A * B: an imperfect nest, three sizes, two scalars."""
    a, b, c = Array("A", f64, (ni, nk)), Array("B", f64, (nk, nj)), Array("C", f64, (ni, nj))
    i, j, k = var("i"), var("j"), var("k")
    alpha, beta = var("alpha", f64), var("beta", f64)
    scale = store(c, (i, j), mul(load(c, i, j), beta))
    update = store(c, (i, j), add(load(c, i, j), mul(alpha, load(a, i, k), load(b, k, j))))
    body = loop("i", 0, ni, loop("j", 0, nj, scale, loop("k", 0, nk, update)))
    return nest("gemm", "ni nj nk", [a, b, c], body, scalars=(alpha, beta))


def jacobi_1d() -> Function:
    a, b = Array("A", f64, (n,)), Array("B", f64, (n,))
    i = var("i")

    def sweep(target: Array, source: Array) -> Stmt:
        total = add(load(source, sub(i, 1)), load(source, i), load(source, add(i, 1)))
        return loop("i", 1, sub(n, 1), store(target, (i,), mul(0.33333, total)))

    return nest("jacobi_1d", "tsteps n", [a, b], loop("t", 0, tsteps, sweep(b, a), sweep(a, b)))


def jacobi_2d() -> Function:
    a, b = Array("A", f64, (n, n)), Array("B", f64, (n, n))
    i, j = var("i"), var("j")

    def sweep(target: Array, source: Array) -> Stmt:
        at = [(i, j), (i, sub(j, 1)), (i, add(j, 1)), (add(i, 1), j), (sub(i, 1), j)]
        update = store(target, (i, j), mul(0.2, add(*(load(source, *x) for x in at))))
        return loop("i", 1, sub(n, 1), loop("j", 1, sub(n, 1), update))

    return nest("jacobi_2d", "tsteps n", [a, b], loop("t", 0, tsteps, sweep(b, a), sweep(a, b)))


def seidel_2d() -> Function:
    a = Array("A", f64, (n, n))
    i, j = var("i"), var("j")
    rows, columns = (sub(i, 1), i, add(i, 1)), (sub(j, 1), j, add(j, 1))
    mean = binary("/", add(*(load(a, row, column) for row in rows for column in columns)), 9.0)
    body = loop("i", 1, sub(n, 1), loop("j", 1, sub(n, 1), store(a, (i, j), mean)))
    return nest("seidel_2d", "tsteps n", [a], loop("t", 0, tsteps, body))


def lu() -> Function:
    """In place, without pivoting; triangular loops around an update."""
    a = Array("A", f64, (n, n))
    i, j, k = var("i"), var("j"), var("k")
    update = store(a, (i, j), sub(load(a, i, j), mul(load(a, i, k), load(a, k, j))))
    divide = store(a, (i, j), binary("/", load(a, i, j), load(a, j, j)))
    lower = loop("j", 0, i, loop("k", 0, j, update), divide)
    upper = loop("j", i, n, loop("k", 0, i, update))
    return nest("lu", "n", [a], loop("i", 0, n, lower, upper))


def triangular() -> Function:
    """b[i] += L[i, j] * x[j] over j <= i, then x[i] = b[i]."""
    matrix, x, b = Array("L", f64, (n, n)), Array("x", f64, (n,)), Array("b", f64, (n,))
    i, j = var("i"), var("j")
    update = store(b, (i,), add(load(b, i), mul(load(matrix, i, j), load(x, j))))
    body = loop("i", 0, n, loop("j", 0, add(i, 1), update), store(x, (i,), load(b, i)))
    return nest("triangular", "n", [matrix, x, b], body)


def reversed_sweep() -> Function:
    """Back substitution style: a[i] = a[i] - a[i+1], from the end to the start."""
    a = Array("A", i64, (n,))
    i = var("i")
    update = store(a, (i,), sub(load(a, i), load(a, add(i, 1))))
    return nest("reversed_sweep", "n", [a], loop("i", sub(n, 2), -1, update, step=-1))


def strided() -> Function:
    """Writes the even elements from the odd ones."""
    a = Array("A", i32, (add(n, 1),))
    i = var("i")
    update = store(a, (i,), add(load(a, i), load(a, add(i, 1))))
    return nest("strided", "n", [a], loop("i", 0, n, update, step=2))


def guarded() -> Function:
    """A guard with an else branch, and a parity guard."""
    a = Array("A", i64, (n, n))
    i, j = var("i"), var("j")
    below = If(binary("<", j, i), (store(a, (i, j), load(a, j, i)),), (store(a, (i, j), add(load(a, i, j), 1)),))
    even = If(binary("==", floormod(add(i, j), 2), 0), (store(a, (i, j), mul(load(a, i, j), 3)),))
    return nest("guarded", "n", [a], loop("i", 0, n, loop("j", 0, n, below, even)))


def canonical() -> tuple[Function, ...]:
    """All of the above; each stays inside of its arrays for every size of at least 2."""
    builders = (gemm, jacobi_1d, jacobi_2d, seidel_2d, lu, triangular, reversed_sweep, strided, guarded)
    return (stencil2(margin=1), *(build() for build in builders))


n, ni, nj, nk, tsteps, N = (var(name) for name in ("n", "ni", "nj", "nk", "tsteps", "N"))


def nest(name: str, sizes: str, arrays: Iterable[Array], *body: Stmt, scalars: tuple[Var, ...] = ()) -> Function:
    """A Function whose `params` are sizes, scalars, arrays; `sizes` are separated by spaces."""
    arrays, size_names = tuple(arrays), tuple(sizes.split())
    params = (*size_names, *(s.name for s in scalars), *(a.name for a in arrays))
    return Function(name, size_names, arrays, body, scalars, params)


def loop(name: str, lo: Operand, hi: Operand, *body: Stmt, step: int = 1, kind: str = "serial") -> For:
    return For(name, lift(lo), lift(hi), step, body, kind)


def random_nest(rng: random.Random, *, statements: int = 4, depth: int = 3) -> Function:
    """An affine nest over one size `n` (any n >= 0 stays inside of the arrays), with up to `statements` statements.

    Covers imperfect nests, triangular bounds, steps of either sign, guards (modulo too) with and without else,
    updates, arrays of rank 0 to 3 of several dtypes, and loops that run zero times.
    """
    return _Generator(rng, statements, depth).function()


class _Generator:
    """Chooses at random while knowing, of every loop variable, its least value and how far it exceeds n.

    Subscripts are shifted to begin at zero or above; `reach` collects how far they go, and gives the arrays' extents.
    """

    def __init__(self, rng: random.Random, statements: int, depth: int):
        self.rng, self.depth = rng, depth
        self.left = rng.randint(1, statements)  # statements still to be made
        self.range: dict[str, tuple[int, int]] = {}  # low, high: low <= variable <= n + high
        ranks, dtypes = (0, 1, 1, 1, 2, 2, 2, 3), (f64, f64, i64, i32)
        self.types = {name: (rng.choice(dtypes), rng.choice(ranks)) for name in "ABCD"[: rng.randint(1, 4)]}
        self.reach = {name: [(0, 0)] * rank for name, (_, rank) in self.types.items()}  # (a, b): subscript <= a n + b

    def function(self) -> Function:
        body: list[Stmt] = []
        while self.left > 0:
            body.append(self.loop(()))
        used = {node.array for stmt in body for node in _accesses(stmt)}
        arrays = [
            Array(name, dtype, tuple(_plus(_times(a, n), b + 1) for a, b in self.reach[name]))
            for name, (dtype, _) in self.types.items()
            if name in used
        ]
        return nest("random_nest", "n", arrays, *body)

    def block(self, around: tuple[str, ...]) -> tuple[Stmt, ...]:
        """One to three statements, loops or guards inside of the loops `around`."""
        body: list[Stmt] = []
        for _ in range(self.rng.choice((1, 1, 2, 3))):
            if not body or self.left > 0:
                nested = len(around) < self.depth and self.rng.random() < 0.65
                body.append(self.loop(around) if nested else self.guarded(around))
        return tuple(body)

    def loop(self, around: tuple[str, ...]) -> For:
        name = "ijk"[len(around)]
        least, lo, lo_offset = self.lower_bound(around)
        excess, hi, hi_offset = self.upper_bound(around)
        step = self.rng.choice((1, 1, 1, 1, 1, 2, 3, -1, -1, -2))
        first, end = _plus(lo, lo_offset), _plus(hi, hi_offset)
        if step < 0:
            first, end = _plus(hi, hi_offset - 1), _plus(lo, lo_offset - 1)
        self.range[name] = least + lo_offset, excess + hi_offset - 1
        return For(name, first, end, step, self.block((*around, name)))

    def lower_bound(self, around: tuple[str, ...]) -> tuple[int, Expr | None, int]:
        """The least value of what the bound is relative to (None is zero), that, and the offset from it."""
        if around and self.rng.random() < 0.3:
            outer = self.rng.choice(around)
            return self.range[outer][0], var(outer), self.rng.choice((0, 0, 1, -1))
        return 0, None, self.rng.choice((0, 0, 0, 1, 2, -1))

    def upper_bound(self, around: tuple[str, ...]) -> tuple[int, Expr | None, int]:
        """By how much what the bound is relative to exceeds n, that, and the offset from it."""
        kind = self.rng.random()
        if around and kind < 0.25:
            outer = self.rng.choice(around)
            return self.range[outer][1], var(outer), self.rng.choice((0, 1, 1, 2, -1))
        if around and kind < 0.35:
            outer = self.rng.choice(around)
            return -self.range[outer][0], sub(n, var(outer)), self.rng.choice((0, 0, 1))
        if kind < 0.42:
            return 0, None, self.rng.choice((3, 4))
        return 0, n, self.rng.choice((0, 0, 0, 1, -1, -2))

    def guarded(self, around: tuple[str, ...]) -> Stmt:
        if self.rng.random() < 0.7:
            return self.store(around)
        cond = conjunction(self.condition(around) for _ in range(self.rng.choice((1, 1, 2))))
        other = (self.store(around),) if self.rng.random() < 0.3 else ()
        return If(cond, (self.store(around),), other)

    def condition(self, around: tuple[str, ...]) -> Expr:
        left = _plus(self.affine(around)[0], 0)
        if self.rng.random() < 0.4:
            modulus = self.rng.choice((2, 3))
            return binary(self.rng.choice(("==", "==", "!=")), floormod(left, modulus), self.rng.randrange(modulus))
        right = self.rng.choice((*map(var, around), n, const(2)))
        return binary(self.rng.choice(("<", "<=", ">", ">=", "==", "!=")), left, right)

    def store(self, around: tuple[str, ...]) -> Stmt:
        self.left -= 1
        name = self.rng.choice(tuple(self.types))
        index, value = self.subscripts(name, around), self.value(self.types[name][0], around)
        if self.rng.random() < 0.35:  # an update
            op = self.rng.choice(("+", "+", "-", "*", "min", "max"))
            value = binary(op, Load(name, index, self.types[name][0]), value)
        return Store(name, index, value)

    def value(self, dtype: DType, around: tuple[str, ...]) -> Expr:
        """One to three operands; floats are never cast to integers, which could be undefined."""
        operands = [self.operand(dtype, around) for _ in range(self.rng.choice((1, 2, 2, 3)))]
        return binary(self.rng.choice(("+", "+", "-", "*", "min", "max")), *operands)

    def operand(self, dtype: DType, around: tuple[str, ...]) -> Expr:
        names = [name for name, (other, _) in self.types.items() if dtype.is_float or not other.is_float]
        if names and self.rng.random() < 0.75:
            name = self.rng.choice(names)
            return _cast(Load(name, self.subscripts(name, around), self.types[name][0]), dtype)
        if around and self.rng.random() < 0.5:
            return _cast(var(self.rng.choice(around)), dtype)
        return const(self.rng.choice((0.5, 1.25)) if dtype.is_float else self.rng.randint(-3, 5), dtype)

    def subscripts(self, name: str, around: tuple[str, ...]) -> tuple[Expr, ...]:
        index = []
        for k, (reach_n, reach) in enumerate(self.reach[name]):
            expr, low, (high_n, high) = self.affine(around)
            shift = max(0, -low) + self.rng.choice((0, 0, 0, 1, 2))
            self.reach[name][k] = max(reach_n, high_n), max(reach, high + shift)
            index.append(_plus(expr, shift))
        return tuple(index)

    def affine(self, around: tuple[str, ...]) -> tuple[Expr | None, int, tuple[int, int]]:
        """An affine expression (None is zero), its least value, and (a, b) such that it never exceeds a n + b."""
        kind = self.rng.random()
        if kind < 0.06:
            return None, 0, (0, 0)
        name = self.rng.choice(around)
        low, high = self.range[name]
        if kind < 0.14:
            return mul(2, var(name)), 2 * low, (2, 2 * high)
        if kind < 0.22:
            return sub(n, var(name)), -high, (1, -low)
        if kind < 0.34 and len(around) > 1:
            other = self.rng.choice([x for x in around if x != name])
            other_low, other_high = self.range[other]
            return add(var(name), var(other)), low + other_low, (2, high + other_high)
        return var(name), low, (1, high)


def _plus(base: Expr | None, offset: int) -> Expr:
    """base + offset, without a needless zero; a base of None is zero."""
    if base is None:
        return const(offset)
    return add(base, offset) if offset > 0 else sub(base, -offset) if offset < 0 else base


def _times(factor: int, base: Expr) -> Expr | None:
    return None if factor == 0 else base if factor == 1 else mul(factor, base)


def _cast(expr: Expr, dtype: DType) -> Expr:
    return expr if expr.dtype == dtype else Cast(expr, dtype)


def _accesses(stmt: Stmt) -> list[Load | Store]:
    return [node for node in walk(stmt) if isinstance(node, Load | Store)]
