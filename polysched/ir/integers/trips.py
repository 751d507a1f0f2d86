"""How often a loop runs: as an expression, and bounded by a constant or by what the host knows.

    for i in 32 * b .. min(n, 32 * b + 32)      at most 32 trips
    for j in i .. n, inside i in 0 .. n         at most n trips, for all i
"""

from __future__ import annotations

from collections.abc import Mapping

from polysched.ir.build import combined
from polysched.ir.integers.apart import least_value
from polysched.ir.integers.bounds import range_of
from polysched.ir.integers.linear import Linear, added, constant_of, forms
from polysched.ir.node import statements, walk
from polysched.ir.nodes import Binary, Call, Const, Expr, For, Load, Var


def trips(loop: For) -> Expr:
    """The number of iterations; zero or less if there is none."""
    low, high = (loop.lo, loop.hi) if loop.step > 0 else (loop.hi, loop.lo)
    span = high if low == Const(0) else Binary("-", high, low)
    size = abs(loop.step)
    return span if size == 1 else Binary("floordiv", Binary("+", span, Const(size - 1)), Const(size))


def most_trips(lo: Expr, hi: Expr, step: int) -> int | None:
    """The least constant that the number of iterations is known not to exceed; None if none is known."""
    spans = _spans(*((lo, hi) if step > 0 else (hi, lo)))
    constants = [constant for span in spans if (constant := constant_of(span)) is not None]
    if not constants:
        return None
    return max(0, -(-min(constants) // abs(step)))


def most_trips_inside(loop: For, around: dict[str, For]) -> int | None:
    """The same, whatever the loops around it do, inner ones last: of i in k + 1..64, where k begins at 0."""
    most = most_trips(loop.lo, loop.hi, loop.step)
    if most is not None or loop.step <= 0:
        return most
    spans = map(_without_remainders, _spans(loop.lo, loop.hi))
    leasts = (least_value(added({}, span, -1), around, ()) for span in spans)
    found = [-least for least in leasts if least is not None]
    return max(0, -(-min(found) // loop.step)) if found else None


def _without_remainders(span: Linear) -> Linear:
    """What the span does not exceed, with the least or the greatest of each remainder."""
    found: Linear = {}
    for atom, factor in span.items():
        match atom:
            case Binary("floormod", _, Const(int(divisor))) if divisor > 0:
                found = added(found, {None: max(0, factor) * (divisor - 1)}, 1)
            case _:
                found = added(found, {atom: factor}, 1)
    return found


def is_uneven(loop: For) -> bool:
    """Does the number of iterations of a loop inside change from one iteration to the next?"""
    return any(isinstance(inner, For) and _varies(inner, loop.var) for inner in statements(loop.body))


def _varies(inner: For, var: str) -> bool:
    spans = _spans(inner.lo, inner.hi)
    return all(any(f and atom is not None and Var(var) in walk(atom) for atom, f in span.items()) for span in spans)


def _spans(low: Expr, high: Expr) -> list[Linear]:
    """What high - low does not exceed."""
    return [added(above, below, -1) for above in forms(high, upper=True) for below in forms(low, upper=False)]


def bounded(expr: Expr, inside: Mapping[str, For], upper: bool = True) -> Expr | None:
    """A bound of `expr` that holds for all values of the loop variables `inside`; None if none is found."""
    nodes = list(walk(expr))
    if any(isinstance(node, Load | Call) for node in nodes):
        return None
    if not any(isinstance(node, Var) and node.name in inside for node in nodes):
        return expr
    match expr:
        case Var(name, _):
            return bounded(range_of(inside[name])[upper], inside, upper)
        case Binary("+" | "min" | "max" as op, left, right):
            return combined(op, bounded(left, inside, upper), bounded(right, inside, upper))
        case Binary("-", left, right):
            return combined("-", bounded(left, inside, upper), bounded(right, inside, not upper))
        case Binary("*", Const(int(factor)), arg) | Binary("*", arg, Const(int(factor))):
            return combined("*", Const(factor), bounded(arg, inside, upper == (factor >= 0)))
        case Binary("floordiv", arg, Const(int(divisor))) if divisor > 0:
            return combined("floordiv", bounded(arg, inside, upper), Const(divisor))
    return None
