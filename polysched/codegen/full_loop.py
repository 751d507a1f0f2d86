"""A loop over all the values that it may have, with a guard for those that it has.

    for c1 in 0..min(31, n - 32 * c0 - 1) + 1:            for c1 in 0..32:
        S                                          ->         if 32 * c0 + c1 < n:
                                                                  S
"""

from __future__ import annotations

from dataclasses import replace

from polysched.codegen.lowered import is_mapped
from polysched.ir.build import add, mul, sub, where
from polysched.ir.node import flattened
from polysched.ir.nodes import Binary, Const, Expr, For, Var
from polysched.ir.simplify import simplify


def full_loop(loop: For, size: int) -> For:
    """The loop, of values from 0 to size - 1, over all of these, with a guard for its bounds; one on blocks or threads
    has it already, and one with a stride stays as it is."""
    if loop.step != 1 or is_mapped(loop, "block") or (is_mapped(loop) and loop.lo == Const(0)):
        return loop
    value = Var(loop.var)
    first = [Binary("<=", low, value) for low in flattened(loop.lo, "max") if low != Const(0)]
    last = [_before(value, high) for high in ends_of(loop.hi) if simplify(high) != Const(size)]
    body = where((*first, *last), *loop.body)
    return replace(loop, lo=Const(0), hi=Const(size), body=body, full=True)


def ends_of(hi: Expr) -> list[Expr]:
    """What a loop variable is less than: min(31, n - 1) + 1 is 32 and n - 1 + 1."""
    match hi:
        case Binary(op="+", left=last, right=Const(value=1)):
            return [add(each, 1) for each in flattened(last, "min")]
    return list(flattened(hi, "min"))


def _before(value: Expr, bound: Expr, offset: int = 0) -> Expr:
    """value < bound + offset, as a sum: value < n - 32 * i is 32 * i + value < n."""
    match bound:
        case Binary(op="+", left=left, right=Const(value=int(number))):
            return _before(value, left, offset + number)
        case Binary(op="-", left=left, right=Const(value=int(number))):
            return _before(value, left, offset - number)
        case Binary(op="-", left=left, right=right):
            return _before(add(right, value), left, offset)
        case Binary(op="+", left=Binary(op="*", left=Const(value=int(factor)), right=term), right=rest) if factor < 0:
            return _before(add(mul(-factor, term), value), rest, offset)
    return Binary("<", value, bound if offset == 0 else sub(bound, -offset) if offset < 0 else add(bound, offset))
