"""Random programs that are mean to passes over expressions.

Integers of two widths that overflow, guards around divisions, loops that run zero times, loads in conditions, nested
selects, Lets, names of loops used twice. No division is by zero as written; any that runs unguarded raises.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from polysched.ir.build import add, binary, const, floordiv, floormod, lift, load, store, var
from polysched.ir.dtypes import DType, boolean, f64, i32, i64
from polysched.ir.nodes import Array, Cast, Const, Expr, For, Function, If, Let, Select, Stmt, Unary, Var
from tests.nests import loop, nest

EXTENT = 8
LONGS, INTS, FLOATS = (Array(name, dtype, (const(EXTENT),)) for name, dtype in (("A", i64), ("B", i32), ("F", f64)))
SCALARS = (var("a"), var("b"), var("p", i32), var("q", i32), var("x", f64), var("y", f64))


def random_program(rng: random.Random) -> Function:
    """A program over the sizes n and m, which may be zero."""
    generator = _Generator(rng)
    body = tuple(stmt for _ in range(2) for stmt in generator.block(0))
    return nest("program", "n m", (LONGS, INTS, FLOATS), *body, scalars=SCALARS)


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
