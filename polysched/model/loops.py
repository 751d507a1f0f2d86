"""What loops and sizes say about the values of names."""

from __future__ import annotations

from polysched.ir.build import conjunction
from polysched.ir.nodes import Binary, Const, Expr, For, Var
from polysched.model.affine import sizes_where
from polysched.support import isl


def trip_count(loop: For) -> int | None:
    """How often the body runs; None if a bound is not constant."""
    match loop:
        case For(_, Const(value=lo), Const(value=hi), step):
            return len(range(int(lo), int(hi), step))
    return None


def loop_conditions(loop: For) -> list[Expr]:
    """What holds for the values that the loop variable takes."""
    var, stride = Var(loop.var), abs(loop.step)
    first, last = ("<=", ">") if loop.step < 0 else (">=", "<")
    conditions: list[Expr] = [Binary(first, var, loop.lo), Binary(last, var, loop.hi)]
    if stride > 1:
        phase = Binary("floormod", Binary("-", var, loop.lo), Const(stride))
        conditions.append(Binary("==", phase, Const(0)))
    return conditions


def sizes_not_negative(sizes: tuple[str, ...]) -> isl.Set:
    """[n, m] -> { : n >= 0 and m >= 0 }"""
    return sizes_where(conjunction(Binary(">=", Var(size), Const(0)) for size in sizes), sizes)
