"""Random nests over flat arrays: rows and columns from two loops, or from one that is fused, or fused and in blocks;
neighbours behind guards.

    for p in 0..n * m:
        if p // m - 1 >= 0 && p % m + 1 < m:
            R[(p // m - 1) * m + (p % m + 1)] = (p // m < n ? G[p // m * m + p % m] : 7) + 1

Some guards are of the rows and columns, some of the whole subscript alone, which so may leave its row.
"""

from __future__ import annotations

import random

from polysched.ir.build import add, binary, conjunction, const, floordiv, floormod, load, mul, store, var
from polysched.ir.dtypes import i64
from polysched.ir.nodes import Array, Expr, For, Function, If, Let, Select, Stmt
from tests.nests import loop, nest

n, m = var("n"), var("m")
G, R, H = Array("G", i64, (mul(n, m),)), Array("R", i64, (mul(m, n),)), Array("H", i64, (mul(n, m, 3),))


def flat_program(rng: random.Random) -> Function:
    """A nest over the sizes n and m; its subscripts stay inside of the arrays, or it divides by zero first."""
    return nest("flat", "n m", (G, R, H), *(_loops(rng, str(k)) for k in range(rng.choice((1, 1, 2)))))


def _loops(rng: random.Random, suffix: str) -> For:
    width, height = rng.choice(((m, n), (m, n), (n, m)))
    i, j, p = (var(name + suffix) for name in "ijp")
    if rng.random() < 0.5:
        rows, columns = rng.choice((height, height, add(height, 1))), rng.choice((width, width, add(width, 1)))
        body = [_update(rng, i, j, height, width) for _ in range(rng.choice((1, 2)))]
        inner = loop(j.name, rng.choice((0, 0, -1)), columns, *body)
        return loop(i.name, rng.choice((0, 0, 1)), rows, inner)
    end = rng.choice((mul(n, m), mul(n, m), mul(m, n), add(mul(n, m), 1)))
    in_blocks = rng.random() < 0.3
    at = add(mul(i, 4), j) if in_blocks else p
    row, column, lets = floordiv(at, width), floormod(at, width), []
    if rng.random() < 0.3:
        row = floormod(row, height)
    if rng.random() < 0.4:
        lets = [Let("r" + suffix, row), Let("c" + suffix, column)]
        row, column = var("r" + suffix), var("c" + suffix)
    body = [*lets, *(_update(rng, row, column, height, width) for _ in range(rng.choice((1, 2))))]
    if not in_blocks:
        return loop(p.name, rng.choice((0, 0, 0, 1)), end, *body)
    guarded = If(rng.choice((binary("<", at, end), binary(">", end, at))), tuple(body))
    count = floordiv(add(end, rng.choice((3, 3, 3, 4, 2, 0))), 4)
    kinds = rng.choice((("serial", "serial"), ("block.x", "thread.x")))
    return loop(i.name, 0, count, loop(j.name, 0, 4, guarded, kind=kinds[1]), kind=kinds[0])


def _update(rng: random.Random, row: Expr, column: Expr, height: Expr, width: Expr) -> Stmt:
    target, guard = _element(rng, row, column, height, width)
    source, inside = _element(rng, row, column, height, width)
    array, q = rng.choice((G, R, H)), rng.randrange(3)
    if array is H:
        source = add(mul(source, 3), q) if rng.random() < 0.5 else add(mul(q, n, m), source)
    value = add(Select(inside, load(array, source), const(7)), rng.choice((const(1), row, column)))
    return If(guard, (store(rng.choice((G, R)), (target,), value),))


def _element(rng: random.Random, row: Expr, column: Expr, height: Expr, width: Expr) -> tuple[Expr, Expr]:
    """A flat subscript, and a condition under which it is inside."""
    if rng.random() < 0.4:
        row = add(row, rng.choice((-1, 1, 2)))
    if rng.random() < 0.5:
        column = add(column, rng.choice((-1, 1, 2)))
    at = rng.choice((add(mul(row, width), column), add(column, mul(width, row))))
    guards = [_within(row, height)] if rng.random() < 0.75 else []
    guards += [_within(column, width)] if rng.random() < 0.75 else []
    if len(guards) < 2:
        whole = _within(at, mul(n, m))
        guards = rng.choice(([whole], [*guards, whole], [whole, *guards]))
    return at, conjunction(guards)


def _within(at: Expr, end: Expr) -> Expr:
    return binary("&&", binary(">=", at, 0), binary("<", at, end))
