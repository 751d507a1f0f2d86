"""How many of the loops around it an expression must stay inside.

    for i in 0..n:                          rank(n * 4) = 0     anywhere will do
        for j in 0..m:                      rank(i * m) = 1     inside i
            A[i * m + j] = B[j / n]         rank(j / n) = 2     j changes here; n > 0 is known inside i
                                            rank(B[..]) = 2     a load stays where it stands
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from polysched.ir.effects import is_total_operation
from polysched.ir.node import children, walk
from polysched.ir.nodes import DIVISIONS, Binary, Call, Const, Expr, For, Var


@dataclass(frozen=True)
class Scope:
    """What is known at one place in a function: its depth in loops, and the rank of every bound name.

    Names that no loop and no Let binds (sizes, scalar parameters) have rank 0.
    """

    depth: int = 0
    ranks: Mapping[str, int] = field(default_factory=dict)
    nonzero: Mapping[Expr, int] = field(default_factory=dict)  # expression -> depth from which on it is not zero

    def inside(self, loop: For, *, counts: bool = True) -> Scope:
        """The scope of the loop's body; a loop that does not count adds no depth, so nothing moves out of it."""
        depth = self.depth + counts
        return Scope(depth, {**self.ranks, loop.var: depth}, self._knowing(_nonzero_inside(loop), depth))

    def under(self, cond: Expr) -> Scope:
        """The scope of statements that run only if `cond` holds."""
        return Scope(self.depth, self.ranks, self._knowing(_nonzero_if(cond), self.depth))

    def binding(self, name: str, rank: int) -> Scope:
        """The scope after a Let of that name."""
        return Scope(self.depth, {**self.ranks, name: rank}, self.nonzero)

    def rank(self, expr: Expr) -> int:
        """The number of loops that `expr` must stay inside, counted from the outermost."""
        if isinstance(expr, Var):
            return self.ranks.get(expr.name, 0)
        free_from = self._free_from(expr)
        return self.depth if free_from is None else max([free_from, *map(self.rank, children(expr))])

    def is_total(self, expr: Expr) -> bool:
        """Whether `expr` can be evaluated here even where the program would not: no load, no trap, no effect."""
        return all(self._free_from(node) is not None for node in walk(expr))

    def _free_from(self, node: Expr) -> int | None:
        """The depth from which on the operation of `node` may run unasked; None: only where it stands."""
        match node:
            case Call(pure=False):
                return None
            case _ if is_total_operation(node):
                return 0
            case Binary(op, _, divisor) if op in DIVISIONS:
                return self.nonzero.get(divisor)
        return None

    def _knowing(self, nonzero: Iterator[Expr], depth: int) -> Mapping[Expr, int]:
        return {**dict.fromkeys(nonzero, depth), **self.nonzero}  # what was known further out wins


def _nonzero_inside(loop: For) -> Iterator[Expr]:
    """Expressions that cannot be zero in the body of `loop`, which runs only if lo < hi."""
    match loop:
        case For(var, Const(value=lo), hi, step) if step > 0 and lo >= 0:
            yield hi
            if lo > 0:
                yield Var(var)


def _nonzero_if(cond: Expr) -> Iterator[Expr]:
    """Expressions that cannot be zero where `cond` holds."""
    match cond:
        case Binary("&&", left, right):
            yield from _nonzero_if(left)
            yield from _nonzero_if(right)
        case Binary("!=", expr, Const(value=0)) | Binary("!=", Const(value=0), expr):
            yield expr
        case Binary(">", expr, Const(value=low)) | Binary("<", Const(value=low), expr) if low >= 0:
            yield expr
        case Binary(">=", expr, Const(value=low)) | Binary("<=", Const(value=low), expr) if low > 0:
            yield expr
