"""Extents of arrays: expressions in the sizes, in a normal form, so that equal ones are the same expression.

    (4 * K - 1 + 3) // 4     ->     K
    max(0, n + 1)            ->     n + 1            sizes are zero or more
    [N, 4] and [4 * K, 1, 4]     broadcast to     [4 * K, N, 4]

What has no simpler form, such as max(0, n - 1) or n // 2, is taken as a name of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from polysched.errors import InputError
from polysched.ir.arithmetic import UNBOUNDED
from polysched.ir.integers.polynomial import Polynomial
from polysched.ir.node import substitute
from polysched.ir.nodes import Binary, Const, Expr, Unary, Var
from polysched.ir.simplify import simplify
from polysched.ir.text import show

Shape = tuple[Expr, ...]


def normal(expr: Expr | int) -> Expr:
    """The normal form of an integer expression in sizes and loop variables."""
    parts: dict[str, Expr] = {}
    return _expression(_polynomial(Const(expr) if isinstance(expr, int) else expr, parts), parts)


def is_at_least(left: Expr, right: Expr) -> bool:
    """Is left >= right for sizes of zero or more?"""
    parts: dict[str, Expr] = {}
    return _is_never_negative(_polynomial(Binary("-", left, right), parts), parts)


def number(expr: Expr) -> int | None:
    """The value of a constant extent."""
    return int(expr.value) if isinstance(expr, Const) else None


def product(extents: Sequence[Expr]) -> Expr:
    one: Expr = Const(1)
    return reduce(lambda whole, extent: normal(Binary("*", whole, extent)), extents, one)


def quotient(whole: Expr, part: Expr) -> Expr | None:
    """whole / part, where that is exact for all sizes."""
    parts: dict[str, Expr] = {}
    above, below = _polynomial(whole, parts), _polynomial(part, parts)
    if not below:
        return None
    found, rest = above.divided(below)
    is_whole = all(isinstance(factor, int) for _, factor in found)
    return None if rest or not is_whole else _expression(found, parts)


def ceildiv(expr: Expr, by: int) -> Expr:
    return normal(Binary("floordiv", Binary("+", expr, Const(by - 1)), Const(by)))


def broadcast(operands: Sequence[tuple[str, Shape]]) -> Shape:
    """The shape that operands have together, by NumPy's rule; InputError, with both shapes, if they have none.

    An operand is what the user calls it, and its shape.
    """
    name, shape = operands[0]
    for other_name, other in operands[1:]:
        rank = max(len(shape), len(other))
        pairs = zip(_padded(shape, rank), _padded(other, rank), strict=True)
        together = [_extent_of(first, second) for first, second in pairs]
        if None in together:
            raise _misfit((name, shape), (other_name, other))
        shape, name = tuple(extent for extent in together if extent is not None), f"{name}, {other_name}"
    return shape


def fits_into(shape: Shape, target: Shape) -> bool:
    """Can a value of this shape be broadcast to the target?"""
    if len(shape) > len(target):
        return False
    return all(extent in (Const(1), wanted) for extent, wanted in zip(_padded(shape, len(target)), target, strict=True))


def shown(shape: Shape) -> str:
    return f"[{', '.join(map(show, shape))}]"


def _padded(shape: Shape, rank: int) -> Shape:
    return (Const(1),) * (rank - len(shape)) + shape


def _extent_of(left: Expr, right: Expr) -> Expr | None:
    if left == right or right == Const(1):
        return left
    return right if left == Const(1) else None


def _misfit(left: tuple[str, Shape], right: tuple[str, Shape]) -> InputError:
    (name, shape), (other_name, other) = left, right
    pairs = zip(shape[::-1], other[::-1], strict=False)
    one, two = next(pair for pair in pairs if _extent_of(*pair) is None)
    message = f"the shapes {shown(shape)} of {name} and {shown(other)} of {other_name} cannot be broadcast together"
    if number(one) is None or number(two) is None:
        hint = f"{show(one)} and {show(two)} are not known to be equal: write one size for both"
    else:
        hint = f"{show(one)} and {show(two)} differ, and neither is 1"
    return InputError(message, None, hint)


# --- the normal form


def _polynomial(expr: Expr, parts: dict[str, Expr]) -> Polynomial:
    match expr:
        case Const(int(value)):
            return Polynomial.number(int(value))
        case Unary("-", arg):
            return -_polynomial(arg, parts)
        case Binary("+" | "-" | "*" as op, left, right):
            total: Polynomial = UNBOUNDED[op](_polynomial(left, parts), _polynomial(right, parts))
            return total
        case Binary("floordiv" | "floormod" as op, left, Const(int(by))) if by > 0:
            whole = _polynomial(left, parts)
            floored = _floored(whole, int(by), parts)
            return floored if op == "floordiv" else whole - floored * int(by)
        case Binary("max" | "min" as op, left, right):
            return _extremum(op, _polynomial(left, parts), _polynomial(right, parts), parts)
        case Var():
            return _named(expr, parts)
        case Binary(op, left, right):
            return _named(Binary(op, normal(left), normal(right)), parts)
    return _named(expr, parts)


def _floored(value: Polynomial, by: int, parts: dict[str, Expr]) -> Polynomial:
    """value // by: multiples of it leave the division."""
    whole = Polynomial(tuple((names, factor) for names, factor in value if names and factor % by == 0))
    rest = value - whole
    constant = rest.constant
    assert isinstance(constant, int)
    whole, rest = whole + (constant - constant % by), rest - (constant - constant % by)
    quotient = Polynomial(tuple((names, int(factor // by)) for names, factor in whole))
    if not rest.degree:
        return quotient
    return quotient + _named(Binary("floordiv", _expression(rest, parts), Const(by)), parts)


def _extremum(op: str, left: Polynomial, right: Polynomial, parts: dict[str, Expr]) -> Polynomial:
    if _is_never_negative(left - right, parts):
        return left if op == "max" else right
    if _is_never_negative(right - left, parts):
        return right if op == "max" else left
    both = (_expression(left, parts), _expression(right, parts))
    constant_first = sorted(both, key=lambda expr: (not isinstance(expr, Const), show(expr)))
    return _named(Binary(op, *constant_first), parts)


def _is_never_negative(value: Polynomial, parts: dict[str, Expr]) -> bool:
    """... where sizes are zero or more, and so are parts that show it."""
    return all(_is_size(parts[name]) for name in value.names) and (-value).is_nonpositive(dict.fromkeys(value.names, 0))


def _is_size(part: Expr) -> bool:
    match part:
        case Var():
            return True
        case Binary("max", Const(int(least)), _):
            return least >= 0
        case Binary("floordiv", left, Const(int(by))):
            return by > 0 and is_at_least(left, Const(0))
        case Binary("min" | "floordiv" | "floormod" | "*", left, right):
            return is_at_least(left, Const(0)) and is_at_least(right, Const(0))
    return False


def _named(part: Expr, parts: dict[str, Expr]) -> Polynomial:
    name = show(part)
    parts[name] = part
    return Polynomial.name(name)


def _expression(value: Polynomial, parts: dict[str, Expr]) -> Expr:
    """A sum of the terms with positive factors, then differences; where there are none, the constant comes first."""
    falling = value.rising - value
    if value.rising:
        result = _plain(value.rising, parts)
    elif value.constant or not falling:
        result, falling = Const(int(value.constant)), falling + value.constant
    else:
        result, falling = Unary("-", _plain(falling, parts)), Polynomial()
    for term in falling:
        result = Binary("-", result, _plain(Polynomial((term,)), parts))
    return result


def _plain(value: Polynomial, parts: dict[str, Expr]) -> Expr:
    return simplify(substitute(value.expression(), parts))
