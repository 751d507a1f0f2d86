"""Random programs that are mean to passes over expressions.

`random_program`: integers of two widths that overflow, guards around divisions, loops that run zero times, loads in
conditions, nested selects, Lets, names of loops used twice. No division is by zero as written; any that runs unguarded
raises.

`awkward_program`: all of that at the edges of i32, u32 and i64, and what kernels are made of: fused indices taken
apart, padding and parity conditions, strided and downward loops, accumulators, arrays that are stored to and loaded
from in one loop, expressions and conditions that come again. `awkward_arguments` has the values to go with it.
"""

from __future__ import annotations

import math
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from polysched.ir.build import add, binary, conjunction, const, floordiv, floormod, lift, load, store, sub, var
from polysched.ir.dtypes import DType, boolean, f64, i8, i16, i32, i64, u8, u32, u64
from polysched.ir.interp import evaluate
from polysched.ir.node import walk
from polysched.ir.nodes import (
    Alloc,
    Array,
    Barrier,
    Cast,
    Const,
    Expr,
    For,
    Function,
    If,
    Let,
    Select,
    Stmt,
    Unary,
    Var,
)
from tests.nests import loop, nest

EXTENT = 8
LONGS, INTS, FLOATS = (Array(name, dtype, (const(EXTENT),)) for name, dtype in (("A", i64), ("B", i32), ("F", f64)))
UNSIGNED = Array("U", u32, (const(EXTENT),))
ROW, GRID = Array("V", f64, (var("n"),)), Array("M", f64, (var("n"), var("m")))
SCALARS = (var("a"), var("b"), var("p", i32), var("q", i32), var("x", f64), var("y", f64))


def random_program(rng: random.Random) -> Function:
    """A program over the sizes n and m, which may be zero."""
    generator = _Generator(rng)
    body = tuple(stmt for _ in range(2) for stmt in generator.block(0))
    return nest("program", "n m", (LONGS, INTS, FLOATS), *body, scalars=SCALARS)


def awkward_program(rng: random.Random, *, lowered: bool = False, gpu: bool = False) -> Function:
    """A program over the sizes n and m, which may be zero; a division by zero may run, anything else is defined.

    `lowered`: names are bound once, and steps are positive. `gpu`: some of its loops are those of blocks and threads,
    which may meet at barriers.
    """
    body = _AwkwardGenerator(rng, lowered, gpu).block(0)
    return nest("program", "n m", (LONGS, INTS, FLOATS, UNSIGNED, ROW, GRID), *body, scalars=(*SCALARS, var("u", u32)))


def awkward_arguments(fn: Function, rng: random.Random, n: int) -> dict[str, Any]:
    """Arguments at the edges of their types, and small ones; the sizes are n, n + 1, ..."""
    arguments: dict[str, Any] = {size: n + k for k, size in enumerate(fn.sizes)}
    arguments |= {scalar.name: rng.choice(values_of(scalar.dtype)) for scalar in fn.scalars}
    for array in fn.arrays:
        shape = [evaluate(extent, arguments) for extent in array.shape]
        values = [rng.choice(values_of(array.dtype)) for _ in range(int(np.prod(shape, dtype=int)))]
        arguments[array.name] = np.array(values, array.dtype.numpy).reshape(shape)
    return arguments


def values_of(dtype: DType) -> tuple[int | float | bool, ...]:
    """Small values of the type, and those at its edges."""
    match dtype.kind:
        case "b":
            return False, True
        case "f":
            return 0.0, -0.0, 1.0, -1.5, 0.1, 3.25, 1e38, 5e-324 if dtype == f64 else 2.0**-14, np.inf, -np.inf, np.nan
        case "u":
            top = 1 << dtype.bits
            return 0, 1, 2, 3, 5, 8, top // 2 - 1, top // 2, top - 2, top - 1
    top = 1 << dtype.bits - 1
    return 0, 1, 2, 3, 4, 8, -1, -2, -3, -7, top - 1, top - 2, -top, 1 - top


def texts_with_hash_seed(fn: Callable[[Function], Function], seed: int) -> str:
    """What `fn` makes of some functions, printed by a Python with that hash seed."""
    program = f"""
import random
from {fn.__module__} import {fn.__name__}
from tests.codegen.programs import random_program
from tests.nests import canonical
for fn in (*canonical(), *(random_program(random.Random(seed)) for seed in range(20))):
    print({fn.__name__}(fn))
"""
    env = {**os.environ, "PYTHONHASHSEED": str(seed)}
    root = Path(__file__).parents[2]
    run = subprocess.run([sys.executable, "-c", program], cwd=root, env=env, check=True, capture_output=True, text=True)
    return run.stdout


class _Generator:
    def __init__(self, rng: random.Random):
        self.rng = rng
        self.names: list[Var] = [*SCALARS, var("n"), var("m")]  # in scope
        self.lets = 0

    # --- statements

    def block(self, depth: int) -> tuple[Stmt, ...]:
        scope = list(self.names)
        body: list[Stmt] = []
        for _ in range(self.rng.choice((1, 2, 3))):
            body += self.statement(depth)
        self.names = scope
        return tuple(body)

    def statement(self, depth: int) -> list[Stmt]:
        kind = self.rng.random()
        if depth < 3 and kind < (0.45 if depth else 0.8):
            return [self.loop(depth)]
        if kind < 0.6:
            return [self.let()]
        if kind < 0.8:
            cond = self.cond(2)
            ifs = [self.branch(cond, depth) for _ in range(self.rng.choice((1, 2)))]
            return [*ifs]
        return [self.store()]

    def loop(self, depth: int) -> For:
        n, m, a = var("n"), var("m"), var("a")
        lo, hi = self.rng.choice(((0, n), (1, m), (0, 3), (-1, 2), (1, 4), (2, a), (0, add(n, 1))))
        name = var("ijk"[depth])
        self.names.append(name)
        body = self.block(depth + 1)
        self.names.remove(name)
        return loop(name.name, lo, hi, *body)

    def branch(self, cond: Expr, depth: int) -> If:
        if self.rng.random() < 0.3:
            divisor = self.leaf(i64)
            guarded = store(LONGS, (self.subscript(),), floordiv(self.integer(i64, 2), divisor))
            return If(binary("!=", divisor, 0), (guarded,))
        return If(cond, self.block(3), self.block(3) if self.rng.random() < 0.3 else ())

    def let(self) -> Let:
        dtype = self.rng.choice((i64, i64, i32))
        value = self.integer(dtype, 2)
        self.names.append(var(f"t{self.lets}", dtype))
        self.lets += 1
        return Let(self.names[-1].name, value)

    def store(self) -> Stmt:
        array = self.rng.choice((LONGS, INTS, FLOATS))
        value = self.real(2) if array is FLOATS else self.integer(array.dtype, 4)
        return store(array, (self.subscript(),), value)

    def subscript(self) -> Expr:
        return floormod(self.integer(i64, 3), EXTENT)

    # --- expressions

    def leaf(self, dtype: DType) -> Expr:
        names = [name for name in self.names if name.dtype == dtype]
        return self.rng.choice((*names, *names, const(self.rng.choice((0, 1, -1, 3, 8, 2**31 - 1)), dtype)))

    def integer(self, dtype: DType, depth: int) -> Expr:
        if depth == 0:
            return self.leaf(dtype)
        below = self.rng.randrange(depth)
        left, right = self.integer(dtype, depth - 1), self.integer(dtype, below)
        match self.rng.randrange(20):
            case 0:
                return Cast(self.integer(i32 if dtype == i64 else i64, below), dtype)
            case 1:
                op = self.rng.choice(("floordiv", "floormod", "truncdiv", "truncmod"))
                return binary(op, left, const(self.rng.choice((2, -3, 8)), dtype))
            case 2:
                guarded = binary(self.rng.choice(("floordiv", "truncmod")), left, right)
                return Select(binary("!=", right, const(0, dtype)), guarded, self.leaf(dtype))
            case 3:
                return Unary(self.rng.choice("-~"), left)
            case 4 | 5:
                return self.choice(left, right)
            case 6:
                return load(LONGS if dtype == i64 else INTS, floormod(self.leaf(i64), EXTENT))
            case _:
                return binary(self.rng.choice(("+", "+", "+", "-", "-", "*", "*", "min", "max", "^")), left, right)

    def choice(self, one: Expr, two: Expr) -> Expr:
        inner = Select(self.cond(1), *self.rng.sample((one, two), 2))
        return Select(self.cond(1), *self.rng.sample((inner, self.rng.choice((one, two))), 2))

    def cond(self, depth: int) -> Expr:
        if depth > 0 and self.rng.random() < 0.7:
            return binary(self.rng.choice(("&&", "||")), self.cond(depth - 1), self.cond(depth - 1))
        dtype = self.rng.choice((i64, i32))
        match self.rng.randrange(8):
            case 0:
                return Unary("!", self.cond(0))
            case 1:
                divisor = self.leaf(dtype)
                safe = binary("!=", divisor, const(0, dtype))
                return binary("&&", safe, binary(">", binary("truncdiv", self.leaf(dtype), divisor), self.leaf(dtype)))
            case 2:
                return Const(self.rng.random() < 0.5, boolean)
            case _:
                return binary(self.rng.choice(("<", "<=", "==", "!=")), self.integer(dtype, 1), self.leaf(dtype))

    def real(self, depth: int) -> Expr:
        if depth == 0:
            return self.rng.choice((var("x", f64), var("y", f64), load(FLOATS, self.subscript()), lift(0.1, f64)))
        op = self.rng.choice(("+", "-", "*", "/", "min", "max"))
        return binary(op, self.real(depth - 1), self.real(depth - 1))


class _AwkwardGenerator(_Generator):
    def __init__(self, rng: random.Random, lowered: bool, gpu: bool):
        super().__init__(rng)
        self.lowered, self.gpu = lowered, gpu
        self.names.append(var("u", u32))
        self.loops = 0
        self.said: list[Expr] = []  # to be said again, where its names are in scope

    # --- statements

    def statement(self, depth: int) -> list[Stmt]:
        if depth > 3:
            return [self.store()]
        kinds = (
            [self.fused, self.padded, self.every_other, self.scattered, *[self.guarded, self.accumulated] * 2]
            if depth < 3
            else []
        )
        kinds += [self.divided, self.shifted, *([self.met] * 3 if self.gpu and depth == 0 else [])]
        if self.rng.random() < 0.25:
            return self.rng.choice(kinds)(depth)
        return super().statement(depth)

    def counter(self) -> Var:
        """A name for a loop variable."""
        self.loops += 1
        return var(f"i{self.loops}") if self.lowered else var(self.rng.choice([n for n in "ijkl" if not self.has(n)]))

    def has(self, name: str) -> bool:
        return any(known.name == name for known in self.names)

    def around(self, name: Var, depth: int, lo: Any, hi: Any, step: int = 1, body: tuple[Stmt, ...] = ()) -> For:
        """A loop around `body`, or else a block."""
        self.names.append(name)
        inner = body or self.block(depth + 1)
        self.names.remove(name)
        kind = ("block.x", "thread.x")[depth] if self.gpu and depth < 2 and step == 1 else "serial"
        return loop(name.name, lo, hi, *inner, step=step, kind=kind)

    def loop(self, depth: int) -> For:
        n, m, a, b = (var(name) for name in "nmab")
        outer = self.rng.choice([name for name in self.names if name.name[0] in "ijkln" and name.dtype == i64])
        bounds = [(0, n), (0, n), (1, m), (0, 3), (-2, 2), (1, 4), (0, add(n, 1)), (0, 0), (n, m), (m, n), (-3, 0)]
        bounds += [(2, clamped(a, -1, 4)), (clamped(b, -2, 9), 2), (clamped(outer, -2, 2), 3)]
        bounds += [(outer, binary("min", add(outer, 2), n))]
        edges = [(2**63 - 3, 2**63 - 1), (-(2**63), 2 - 2**63), (2**31 - 2, 2**31 + 1)]
        lo, hi = self.rng.choice(edges) if self.rng.random() < 0.04 else self.rng.choice(bounds)
        step = self.rng.choice((1, 1, 1, 1, 2, 3, -1, -2)) if (lo, hi) not in edges else 1
        if step < 0 and self.lowered:
            step = -step
        elif step < 0:
            lo, hi = sub(lift(hi), 1), sub(lift(lo), 1)
        return self.around(self.counter(), depth, lo, hi, step)

    def branch(self, cond: Expr, depth: int) -> If:
        """Around blocks, so also around loops; the condition, or its opposite, may come again."""
        self.said.append(cond)
        if self.rng.random() < 0.2:
            cond = Unary("!", cond)
        return If(cond, self.block(depth + 1), self.block(depth + 1) if self.rng.random() < 0.3 else ())

    def fused(self, depth: int) -> list[Stmt]:
        """One loop over the grid, its two indices taken apart; with a tail that is guarded, or not."""
        n, m, p = var("n"), var("m"), self.counter()
        row, column = floordiv(p, m), floormod(p, m)
        match self.rng.randrange(4):
            case 0:
                row = floormod(row, n)
            case 1:
                column = sub(p, binary("*", row, m))
        update = store(GRID, (row, column), binary("+", load(GRID, row, column), self.real_at(p)))
        if self.rng.random() < 0.5:
            return [self.around(p, depth, 0, binary("*", n, m), body=(update,))]
        guarded = If(binary("<", p, binary("*", n, m)), (update,))
        return [self.around(p, depth, 0, add(binary("*", n, m), 3), body=(guarded,))]

    def padded(self, depth: int) -> list[Stmt]:
        """A window over the row, zero outside of it; by a select, or by an if."""
        i, k = self.counter(), self.counter() if self.lowered else var("w")
        n, stride, pad = var("n"), self.rng.choice((1, 1, 2)), self.rng.choice((0, 1, 2))
        at = sub(add(binary("*", i, stride), k), pad)
        inside = binary("&&", binary(">=", at, 0), binary("<", at, n))
        if self.rng.random() < 0.3:  # as it comes from a C program that counts from 1
            inside = binary("&&", binary("<", const(-1), at), binary("<=", add(at, 1), n))
        target = floormod(i, EXTENT)
        if self.rng.random() < 0.5:
            value = Select(inside, load(ROW, at), const(0.0, f64))
            body: Stmt = store(FLOATS, (target,), binary("+", load(FLOATS, target), value))
        else:
            body = If(inside, (store(FLOATS, (target,), binary("max", load(FLOATS, target), load(ROW, at))),))
        window = loop(k.name, 0, 3, body)
        return [self.around(i, depth, self.rng.choice((0, -1)), add(n, 1), body=(window,))]

    def every_other(self, depth: int) -> list[Stmt]:
        """What happens for some remainders of a loop variable only."""
        i, step = self.counter(), self.rng.choice((2, 2, 3, 4))
        self.names.append(i)
        rest = self.rng.randrange(-1, step)
        op = self.rng.choice(("floormod", "floormod", "truncmod"))
        cond = binary("==", binary(op, add(i, self.rng.randrange(-2, 3)), step), rest)
        if self.rng.random() < 0.3:
            cond = Unary("!", cond)
        if self.rng.random() < 0.3:
            cond = binary("&&", cond, self.cond(0))
        update = store(LONGS, (floormod(floordiv(sub(i, rest), step), EXTENT),), self.integer(i64, 2))
        body = If(cond, (update,), self.block(3) if self.rng.random() < 0.3 else ())
        self.names.remove(i)
        lo, hi = self.rng.choice(((0, var("n")), (-3, 4), (1, var("m")), (0, 8)))
        return [self.around(i, depth, lo, hi, body=(body,))]

    def scattered(self, depth: int) -> list[Stmt]:
        """A transposed convolution: what divides by a stride that is a constant, a size or any number."""
        i, k = self.counter(), self.counter() if self.lowered else var("w")
        n, stride = var("n"), self.rng.choice((const(2), const(3), var("m"), var("n"), var("a")))
        top = self.rng.choice((sub(add(i, self.rng.randrange(3)), k), add(i, k), sub(i, binary("*", k, 2))))
        at = binary(self.rng.choice(("floordiv", "floordiv", "truncdiv")), top, stride)
        fits = binary("==", binary(self.rng.choice(("floormod", "floormod", "truncmod")), top, stride), 0)
        parts = [fits, binary(">=", at, 0), binary("<", at, n)]
        if self.rng.random() < 0.3:
            parts[1:1] = [binary(">=", top, 0)]
        if self.rng.random() < 0.5:
            parts[:0] = [binary("!=", stride, 0)]
        value = binary("*", load(ROW, at), load(FLOATS, floormod(k, EXTENT)))
        body = self.summed(conjunction(parts), value)
        window = loop(k.name, 0, self.rng.choice((3, n)), *body, step=self.rng.choice((1, 1, 2)))
        return [self.around(i, depth, 0, add(n, 2), body=(window,))]

    def summed(self, cond: Expr, value: Expr) -> tuple[Stmt, ...]:
        target = load(FLOATS, 1)
        if self.rng.random() < 0.5:
            return (If(cond, (store(FLOATS, (1,), binary("+", target, value)),)),)
        if self.rng.random() < 0.5:
            self.lets += 1
            return Let(f"c{self.lets}", Select(cond, const(1), const(0))), store(
                FLOATS, (1,), Select(binary("==", var(f"c{self.lets}"), 1), binary("+", target, value), target)
            )
        return (store(FLOATS, (1,), binary("+", target, Select(cond, value, const(0.0, f64)))),)

    def guarded(self, depth: int) -> list[Stmt]:
        """A loop that does something only where some conditions on its variable, and others, hold."""
        i = self.counter()
        self.names.append(i)
        cond = conjunction(self.bound(i) for _ in range(self.rng.choice((1, 2, 2, 3))))
        body = (If(cond, self.block(3)),)
        if self.rng.random() < 0.3:
            body = (Let(f"g{self.lets}", self.integer(i64, 1)), *body)
            self.lets += 1
        self.names.remove(i)
        lo, hi = self.rng.choice(((0, var("n")), (-3, 4), (1, var("m")), (0, 8), (var("n"), var("m"))))
        return [self.around(i, depth, lo, hi, self.rng.choice((1, 1, 1, 2)), body)]

    def bound(self, i: Var) -> Expr:
        """A condition that bounds the variable, or one that may trap, or wrap."""
        others = [name for name in self.names if name.dtype == i64 and name != i]
        other = self.rng.choice((*others, const(self.rng.randrange(-2, 6))))
        left = self.rng.choice((i, add(i, other), sub(other, i), binary("*", i, self.rng.choice((2, 3, -2, other)))))
        match self.rng.randrange(8):
            case 0:
                return self.cond(1)
            case 1:
                quotient = binary(self.rounding(), self.leaf(i64), self.leaf(i64))
                return binary("<=", quotient, self.leaf(i64))
            case 2:
                left = binary(self.rng.choice(("floordiv", "truncdiv")), left, self.rng.choice((2, 3)))
            case 3:
                left = binary(self.rng.choice(("min", "max")), left, self.leaf(i64))
        return binary(self.rng.choice(("<", "<=", ">", ">=", "<", ">=", "==")), left, self.leaf(i64))

    def accumulated(self, depth: int) -> list[Stmt]:
        """A sum, a product, a least or a largest in a private variable."""
        self.lets += 1
        i, total = self.counter(), Array(f"s{self.lets}", f64, (), "private")
        self.names.append(i)
        op, zeros = self.rng.choice(("+", "+", "+", "-", "*", "min", "max")), (0.0, 0.0, -0.0, 1.0, -math.inf, math.inf)
        update: Stmt = store(total, (), binary(op, load(total), self.padded_value(zeros)))
        if self.rng.random() < 0.4:
            update = If(self.cond(1), (update,))
        self.names.remove(i)
        start = store(total, (), self.rng.choice((0.0, -0.0, -0.0, *zeros)))
        ended = store(FLOATS, (self.subscript(),), load(total))
        return [Alloc(total), start, self.around(i, depth, 0, var("n"), body=(update,)), ended]

    def padded_value(self, zeros: tuple[float, ...]) -> Expr:
        """... under a condition, else one of `zeros`; perhaps times a weight."""
        value = self.real(1)
        if self.rng.random() < 0.7:
            branches = [value, const(self.rng.choice(zeros), f64)]
            if self.rng.random() < 0.2:
                branches.reverse()
            value = Select(self.cond(1), *branches)
        if self.rng.random() < 0.4:
            value = binary("*", *self.rng.sample((value, self.rng.choice((self.real(1), const(2.0, f64)))), 2))
        return value

    def met(self, depth: int) -> list[Stmt]:
        """Threads that share an array: each stores, all meet, each loads another's; conditions are of all, or not."""
        b, t, k = (self.counter() for _ in range(3)) if self.lowered else (var("b0"), var("t0x"), var("k0"))
        self.lets += 1
        shared = Array(f"s{self.lets}", f64, (const(4),), "shared")
        self.names += [b, k]
        of_all = self.uniform()
        self.names.append(t)
        own = store(shared, (t,), Select(self.cond(1), self.real(1), const(0.0, f64)))
        other = binary("+", load(FLOATS, t), load(shared, floormod(add(t, 1), 4)))
        used: Stmt = store(FLOATS, (t,), other)
        if self.rng.random() < 0.6:
            used = If(self.cond(1), (used,), (store(FLOATS, (t,), load(shared, t)),) if self.rng.random() < 0.4 else ())
        del self.names[-3:]
        body: tuple[Stmt, ...] = (own, Barrier(), used, Barrier())
        if self.rng.random() < 0.6:
            body = (If(of_all, body, () if self.rng.random() < 0.6 else (own,)),)
        steps = loop(k.name, 0, self.rng.choice((2, var("n"))), *body)
        threads = loop(t.name, 0, 4, Alloc(shared), steps, kind="thread.x")
        return [loop(b.name, 0, self.rng.choice((1, var("n"))), threads, kind="block.x")]

    def uniform(self) -> Expr:
        """A condition that no thread changes."""
        left, right = self.leaf(i64), self.leaf(i64)
        return binary(self.rng.choice(("<", "==", ">=")), self.rng.choice((left, add(left, right))), right)

    def divided(self, depth: int) -> list[Stmt]:
        """A division under a condition that implies, or does not, that it is defined."""
        dtype = self.rng.choice((i64, i64, i32, u32))
        divisor = self.rng.choice((self.leaf(dtype), self.leaf(dtype), self.integer(dtype, 1)))
        quotient = binary(self.rounding(), self.integer(dtype, 2), divisor)
        safe = [binary(op, divisor, const(0, dtype)) for op in ("!=", "!=", ">")]
        safe += [binary(">=", divisor, const(1, dtype)), self.cond(0)]
        cond = self.rng.choice(safe)
        if self.rng.random() < 0.3:
            cond = self.rng.choice((binary("&&", self.cond(1), cond), binary("&&", cond, self.cond(1))))
        update = self.put(quotient, dtype)
        match self.rng.randrange(8):
            case 0:
                return [If(Unary("!", cond), (self.store(),), (update,))]
            case 1:
                return [self.put(Select(cond, quotient, self.leaf(dtype)), dtype)]
            case 2:
                return [update]
            case 3 | 4:  # perhaps for nothing, but for its trap
                self.lets += 1
                return [If(cond, (Let(f"d{self.lets}", quotient), *self.block(3)))]
        return [If(cond, (update,))]

    def shifted(self, depth: int) -> list[Stmt]:
        """Elements of one array, stored from others of it, which are loaded twice."""
        array = self.rng.choice((LONGS, INTS, FLOATS, UNSIGNED))
        index = self.leaf(i64)
        here, there = (floormod(add(index, offset), EXTENT) for offset in self.rng.sample((0, 0, 1, -1, 8), 2))
        both = binary("+", load(array, there), load(array, here))
        update = store(array, (here,), both)
        return self.rng.choice(([update, update], [update, store(array, (there,), both)], [update]))

    def put(self, value: Expr, dtype: DType) -> Stmt:
        return store({i64: LONGS, i32: INTS, u32: UNSIGNED}[dtype], (self.subscript(),), value)

    def store(self) -> Stmt:
        if self.rng.random() < 0.15:
            return self.put(self.integer(u32, 3), u32)
        return super().store()

    def rounding(self) -> str:
        return self.rng.choice(("floordiv", "floormod", "truncdiv", "truncmod"))

    # --- expressions

    def leaf(self, dtype: DType) -> Expr:
        names = [name for name in self.names if name.dtype == dtype]
        if names and self.rng.random() < 0.65:
            return self.rng.choice((*names, names[-1]))
        if self.rng.random() < 0.15:
            return const(int(self.rng.choice(values_of(dtype))), dtype)
        return const(self.rng.choice((0, 1, 2, 3, 4, 8)), dtype)

    def integer(self, dtype: DType, depth: int) -> Expr:
        if depth and self.rng.random() < 0.2 and (again := self.again(dtype)):
            return again
        expr = self.another(dtype, depth)
        if depth:
            self.said.append(expr)
        return expr

    def again(self, dtype: DType) -> Expr | None:
        known = {name.name for name in self.names}
        said = [expr for expr in self.said[-20:] if expr.dtype == dtype and _names(expr) <= known]
        return self.rng.choice(said) if said else None

    def another(self, dtype: DType, depth: int) -> Expr:
        if depth == 0 or (self.rng.random() < 0.6 and dtype != u32):
            return super().integer(dtype, depth)
        one = self.integer(dtype, depth - 1)
        match self.rng.randrange(9):
            case 0:
                other = self.rng.choice([t for t in (i64, i32, u32) if t != dtype])
                return Cast(self.integer(other, depth - 1), dtype)
            case 1:
                return Cast(Cast(one, self.rng.choice((i8, u8, i16, u64, i32))), dtype)
            case 2:
                return binary(self.rng.choice(("<<", ">>")), one, const(self.rng.randrange(dtype.bits), dtype))
            case 3:
                count = binary("&", self.leaf(dtype), const(dtype.bits - 1, dtype))
                return binary(self.rng.choice(("<<", ">>")), one, count)
            case 4 | 5:
                divisors = (1, 2, 3, 4, 8, 8, 7, *(() if dtype == u32 else (-1, -2, -4)), values_of(dtype)[-1])
                return binary(self.rounding(), one, const(int(self.rng.choice(divisors)), dtype))
            case 6:
                return binary(self.rng.choice("&|^"), one, self.leaf(dtype))
            case 7 if dtype == u32:
                return load(UNSIGNED, floormod(self.leaf(i64), EXTENT))
            case _:
                return binary(self.rng.choice(("+", "-", "*", "min", "max")), one, self.leaf(dtype))

    def cond(self, depth: int) -> Expr:
        if self.rng.random() < 0.2 and (again := self.again(boolean)):
            return again if self.rng.random() < 0.7 else Unary("!", again)
        if self.rng.random() < 0.15:
            return self.in_range(self.integer(i64, 1))
        return super().cond(depth)

    def in_range(self, at: Expr) -> Expr:
        """... of the row, with a condition on what is there."""
        inside = binary("&&", binary(">=", at, 0), binary("<", at, var("n")))
        return binary("&&", inside, binary(">", load(ROW, at), self.real(0))) if self.rng.random() < 0.5 else inside

    def real_at(self, p: Var) -> Expr:
        return Cast(p, f64) if self.rng.random() < 0.5 else self.real(1)


def clamped(expr: Expr, low: int, high: int) -> Expr:
    return binary("min", binary("max", expr, low), high)


def _names(expr: Expr) -> set[str]:
    return {node.name for node in walk(expr) if isinstance(node, Var)}
