"""Merging conditions that lead to the same place.

    a ? (b ? x : y) : y     ->      a && b ? x : y              if c: S             if c:
    a ? x : (b ? x : y)     ->      a || b ? x : y              if c: T     ->          S
    a ? y : (b ? x : y)     ->      !a && b ? x : y                                     T
    a ? (b ? x : y) : x     ->      !a || b ? x : y

`&&` and `||` evaluate `b` exactly where the nested Select did, so loads and divisions in it stay guarded.
"""

from __future__ import annotations

from polysched.ir.effects import is_pure
from polysched.ir.node import walk
from polysched.ir.nodes import Alloc, Barrier, Binary, Call, Expr, If, Let, Load, Select, Stmt, Store, Unary


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
    """One statement that does what the two did in sequence, if both are ifs with the same condition."""
    if isinstance(first, If) and isinstance(second, If) and first.cond == second.cond:
        branches = first.then + first.other
        if not _can_change(branches, first.cond) and not _binds(branches) & _binds(second.then + second.other):
            return If(first.cond, first.then + second.then, first.other + second.other, first.loc)
    return None


def _can_change(statements: tuple[Stmt, ...], cond: Expr) -> bool:
    """Whether `cond` may give another value once `statements` ran, or does more than give one."""
    read = {node.array for node in walk(cond) if isinstance(node, Load)}

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
