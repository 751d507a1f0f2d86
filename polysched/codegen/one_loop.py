"""Two loops right inside of each other as one.

    for i in 0..m:                     for c in 0..m * n:
        for j in 0..n: ...      ->         j = c % n
                                           i = c / n: ...

Needs: names are bound once; steps are positive.
"""

from __future__ import annotations

from dataclasses import replace

from polysched.codegen.lowered import from_start
from polysched.ir.build import binary, floordiv, floormod, mul, var
from polysched.ir.integers.trips import trips
from polysched.ir.node import variables
from polysched.ir.nodes import Const, Expr, For, Let


def only_loop(loop: For) -> For | None:
    """The loop that is all of its body, but for names, and has the same bounds in each iteration."""
    match loop.body:
        case (*lets, For(lo=lo, hi=hi) as inner) if all(isinstance(let, Let) for let in lets):
            own = {loop.var, *(let.name for let in lets if isinstance(let, Let))}
            return inner if own.isdisjoint(variables((lo, hi))) else None
    return None


def one_loop(loop: For, inner: For, name: str) -> For:
    """Both as one, of the kind of the outer one, with a variable of that name."""
    count, each = (binary("max", trips(one), 0) for one in (loop, inner))
    number = var(name)
    place = Let(inner.var, _nth(inner, floormod(number, each)))
    first = Let(loop.var, _nth(loop, floordiv(number, each)))
    origin = ", ".join(filter(None, (loop.origin, inner.origin)))
    body = (place, first, *loop.body[:-1], *inner.body)
    return replace(loop, var=name, lo=Const(0), hi=mul(count, each), step=1, body=body, origin=origin)


def _nth(loop: For, n: Expr) -> Expr:
    return from_start(loop.lo, n if loop.step == 1 else mul(n, loop.step))
