"""Merging conditions that lead to the same place.

    a ? (b ? x : y) : y     ->      a && b ? x : y              if c: S             if c:
    a ? x : (b ? x : y)     ->      a || b ? x : y              if c: T     ->          S
    a ? y : (b ? x : y)     ->      !a && b ? x : y                                     T
    a ? (b ? x : y) : x     ->      !a || b ? x : y         if i < n: U                 if i < n:
                                                            if n <= i: V        ->          U
                                                                                        else:
                                                                                            V

`&&` and `||` evaluate `b` exactly where the nested Select did, so loads and divisions in it stay guarded.
Conditions are compared by what they say: `i < n`, `n > i` and, the other way round, `n <= i` and `!(i < n)` are one.
"""

from __future__ import annotations

from polysched.ir.effects import is_pure
from polysched.ir.node import loaded, walk
from polysched.ir.nodes import Alloc, Barrier, Binary, Call, Const, Expr, If, Let, Select, Stmt, Store, Unary


def collapse(select: Select) -> Select:
    """`select` without those nested ones whose branches return what its own return."""
    match select:
        case Select(a, Select(b, x, y), z) if z == y:
            return collapse(Select(Binary("&&", a, b), x, y))
        case Select(a, z, Select(b, x, y)) if z == x:
            return collapse(Select(Binary("||", a, b), x, y))
        case Select(a, z, Select(b, x, y)) if z == y:
            return collapse(Select(Binary("&&", Unary("!", a), b), x, y))
        case Select(a, Select(b, x, y), z) if z == x:
            return collapse(Select(Binary("||", Unary("!", a), b), x, y))
    return select


def merged(first: Stmt, second: Stmt) -> If | None:
    """One statement that does what the two did in sequence, if both are ifs and their conditions equal or opposite."""
    if not (isinstance(first, If) and isinstance(second, If)):
        return None
    (one, one_holds), (two, two_holds) = claim(first.cond), claim(second.cond)
    branches = first.then + first.other
    if one != two or _can_change(branches, first.cond) or _binds(branches) & _binds(second.then + second.other):
        return None
    then, other = (second.then, second.other) if one_holds == two_holds else (second.other, second.then)
    return If(first.cond, first.then + then, first.other + other, first.loc)


def claim(cond: Expr) -> tuple[Expr, bool]:
    """An expression that all conditions equal or opposite to `cond` share, and whether `cond` holds where that does."""
    match cond:
        case Unary("!", arg):
            return _opposite(claim(arg))
        case Binary("!=", left, right):
            return _opposite(claim(Binary("==", left, right)))
        case Binary("==", Const() as left, right) if not isinstance(right, Const):
            return Binary("==", right, left), True
        case Binary(">" | ">=" as op, left, right):
            return claim(Binary(op.replace(">", "<"), right, left))
        case Binary("<=", left, right) if not left.dtype.is_float:  # a NaN is neither below nor above
            return _opposite(claim(Binary("<", right, left)))
        case Binary("<", Const(int(value), dtype), right) if value < (1 << dtype.bits - (dtype.kind == "i")) - 1:
            return Binary("<", right, Const(value + 1, dtype)), False
    return cond, True


def _opposite(claim: tuple[Expr, bool]) -> tuple[Expr, bool]:
    expr, holds = claim
    return expr, not holds


def _can_change(statements: tuple[Stmt, ...], cond: Expr) -> bool:
    """Whether `cond` may give another value once `statements` ran, or does more than give one."""
    read = loaded(cond)

    def may_write(node: Expr | Stmt) -> bool:
        match node:
            case Store(array):
                return array in read
            case Barrier():  # others write
                return bool(read)
            case Call(pure=pure):
                return bool(read) and not pure
        return False

    return not is_pure(cond) or any(map(may_write, walk(statements)))


def _binds(statements: tuple[Stmt, ...]) -> set[str]:
    """Names that Lets and Allocs give, which would meet in the merged block."""
    nodes = list(walk(statements))
    return {n.name for n in nodes if isinstance(n, Let)} | {n.array.name for n in nodes if isinstance(n, Alloc)}
