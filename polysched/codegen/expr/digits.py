"""Digits of a number that are put together again.

    y = p / w                                       y = p / w
    x = p % w                               ->      x = p % w
    A[b + y * w + x] = f(y, x)                      A[b + p] = f(y, x)

Planes of blocks that are folded into one, and loops that are made one again, are addressed so. The sum is exact in
arithmetic that wraps, whatever the rounding, if it is the same for both digits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import permutations
from math import prod

from polysched.codegen.lowered import changed, with_own
from polysched.ir.build import add, binary, mul
from polysched.ir.dtypes import i64
from polysched.ir.effects import may_change
from polysched.ir.integers.facts import Facts
from polysched.ir.node import flattened, map_children, walk
from polysched.ir.nodes import DIVISIONS, LARGEST_SIZE, Binary, Const, Expr, For, Function, If, Let, Stmt, Var

Names = Mapping[str, Binary]  # and the digits that they stand for


def join_digits(fn: Function) -> Function:
    """`fn` with the number for sums of its digits, each times what it counts."""
    if not any(isinstance(node, Binary) and node.op.endswith("mod") for node in walk(fn.body)):
        return fn
    return changed(fn, body=_block(fn.body, {}, Facts.of(fn, LARGEST_SIZE)))


def _block(statements: tuple[Stmt, ...], names: Names, facts: Facts) -> tuple[Stmt, ...]:
    out: list[Stmt] = []
    digits: list[Let] = []  # that may go if nothing uses them any more
    for stmt in statements:
        new = _statement(stmt, names, facts)
        out.append(new)
        if isinstance(stmt, Let) and isinstance(new, Let):
            facts = facts.binding(stmt)
            match stmt.value:
                case Binary(op, _, divisor) as value if op in DIVISIONS and not may_change(value):
                    names = {**names, stmt.name: value}
                    digits += [new] if facts.is_nonzero(divisor) else []
    if all(new is old for new, old in zip(out, statements, strict=True)):
        return statements
    return tuple(_used(out, digits))[::-1]


def _used(statements: list[Stmt], digits: list[Let]) -> Iterator[Stmt]:
    """The statements without those of the digits that nothing uses, the last one first."""
    used: set[str] = set()
    for stmt in reversed(statements):
        if not isinstance(stmt, Let) or stmt not in digits or stmt.name in used:
            used |= {node.name for node in walk(stmt) if isinstance(node, Var)}
            yield stmt


def _statement(stmt: Stmt, names: Names, facts: Facts) -> Stmt:
    new = with_own(stmt, lambda expr: _joined(expr, names, facts))
    match new:
        case For(body=body):
            return changed(new, body=_block(body, names, facts.inside(new)))
        case If(cond, then, other):
            then, other = _block(then, names, facts.under(cond)), _block(other, names, facts.unless(cond))
            return changed(new, then=then, other=other)
    return new


def _joined(expr: Expr, names: Names, facts: Facts) -> Expr:
    new: Expr = map_children(expr, lambda child: _joined(child, names, facts))
    if not isinstance(new, Binary) or new.op != "+" or new.dtype != i64:
        return new
    terms = [*flattened(new, "+")]
    digits = [term for term in terms if any(_digit(factor, names) for factor in flattened(term, "*"))]
    for low, high in permutations(digits, 2):
        if (number := _number(low, high, names, facts)) is not None:
            rest = [number if term is high else term for term in terms if term is not low]
            return _joined(add(*rest), names, facts)
    return new


def _number(low: Expr, high: Expr, names: Names, facts: Facts) -> Expr | None:
    """The sum of two terms, if `low` has a remainder where `high` has the quotient and the divisor."""
    factors, others = [*flattened(low, "*")], [*flattened(high, "*")]
    for at, factor in enumerate(factors):
        match _digit(factor, names):
            case Binary("floormod" | "truncmod" as op, value, divisor):
                rest = [*factors[:at], *factors[at + 1 :]]
                wanted = Binary(op.replace("mod", "div"), value, divisor)
                is_total = isinstance(factor, Var) or facts.is_nonzero(divisor)
                if is_total and _counted(others, names) == _counted([*rest, *flattened(divisor, "*"), wanted], names):
                    return mul(*rest, value)
    return None


def _counted(factors: list[Expr], names: Names) -> Counter[Expr]:
    """The factors, equal for equal products: constants are one, and quotients of quotients."""
    constants = [int(factor.value) for factor in factors if isinstance(factor, Const)]
    others = (_quotient(_digit(f, names) or f) for f in factors if not isinstance(f, Const))
    return Counter([Const(prod(constants)), *others])


def _quotient(expr: Expr) -> Expr:
    """p // a // b as p // (a * b)"""
    match expr:
        case Binary("floordiv" | "truncdiv" as op, Binary(inner, number, Const(int(a))), Const(int(b))) if (
            inner == op and a > 0 and b > 0
        ):
            return _quotient(binary(op, number, a * b))
    return expr


def _digit(factor: Expr, names: Names) -> Binary | None:
    match factor:
        case Var(name):
            return names.get(name)
        case Binary(op) if op in DIVISIONS:
            return factor
    return None
