"""How many of the loops around it an expression must stay inside.

for i in 0..n:                          rank(n * 4) = 0     anywhere will do
    for j in 0..m:                      rank(i * m) = 1     inside i
        A[i * m + j] = B[j / n]         rank(j / n) = 2     j changes here; n > 0 is known inside i
                                        rank(B[..]) = 2     a load stays where it stands
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from polysched.ir.effects import evaluated, is_total_operation, may_change
from polysched.ir.node import children, walk
from polysched.ir.nodes import DIVISIONS, Binary, Call, Const, Expr, For, Load, Var
from polysched.support.fields import with_fields


@dataclass(frozen=True)
class Scope:
    """What is known at one place in a function: its depth in loops, and the rank of every bound name.

    Names that no loop and no Let binds (sizes, scalar parameters) have rank 0.
    """

    sizes: frozenset[str] = frozenset()  # and other names that are known to be zero or positive
    depth: int = 0
    ranks: Mapping[str, int] = field(default_factory=dict)
    values: Mapping[str, Expr] = field(default_factory=dict)  # of names bound by Let, but for data
    nonzero: tuple[tuple[Counter[Expr], int], ...] = ()  # factors of products, and the depth from which on not zero
    _found: dict[Expr, int] = field(default_factory=dict, init=False, compare=False, repr=False)  # ranks

    def inside(self, loop: For) -> Scope:
        """The scope of the loop's body."""
        depth = self.depth + 1
        known = self.after(loop.lo, loop.hi)._knowing(self._positive_inside(loop), depth)
        counts_up = loop.step > 0 and self._is_nonnegative(loop.lo)
        sizes = self.sizes | {loop.var} if counts_up else self.sizes
        return with_fields(known, sizes=sizes, depth=depth, ranks={**self.ranks, loop.var: depth}, _found={})

    def under(self, cond: Expr) -> Scope:
        """The scope of statements that run only if `cond` holds."""
        return self.after(cond)._knowing(self._nonzero_if(cond), self.depth)

    def after(self, *exprs: Expr) -> Scope:
        """The scope once these have been evaluated, without a trap."""
        return self._knowing((divisor for expr in exprs for divisor in divisors(expr)), self.depth)

    def binding(self, name: str, rank: int, value: Expr) -> Scope:
        """The scope after a Let of that name."""
        named = with_fields(self.after(value), ranks={**self.ranks, name: rank}, _found={})
        if may_change(value):
            return named
        sizes = self.sizes | {name} if self._is_nonnegative(value) else self.sizes
        return with_fields(named, sizes=sizes, values={**self.values, name: value})

    def rank(self, expr: Expr) -> int:
        """The number of loops that `expr` must stay inside, counted from the outermost."""
        if isinstance(expr, Var):
            return self.ranks.get(expr.name, 0)
        if isinstance(expr, Const):
            return 0
        found = self._found.get(expr)
        if found is None:
            free_from = self._free_from(expr)
            found = self.depth if free_from is None else max([free_from, *map(self.rank, children(expr))])
            self._found[expr] = found
        return found

    def is_total(self, expr: Expr) -> bool:
        """Whether `expr` can be evaluated here even where the program would not: no load, no trap, no effect."""
        return all(self._free_from(node) is not None for node in walk(expr))

    def reason_to_stay(self, node: Expr) -> str:
        """Why the operation of `node`, but for its operands, can run only where it stands; "" if it is free."""
        if self._free_from(node) is not None:
            return ""
        match node:
            case Load(array):
                return f"loads from {array}"
            case Call(fn):
                return f"calls {fn}, which may have an effect"
            case Binary(op, _, divisor) if op in DIVISIONS:
                return f"may trap: {divisor} may be zero"
        return "may be undefined"

    def _free_from(self, node: Expr) -> int | None:
        """The depth from which on the operation of `node` may run unasked; None: only where it stands."""
        match node:
            case Call(pure=False):
                return None
            case _ if is_total_operation(node):
                return 0
            case Binary(op, _, divisor) if op in DIVISIONS:
                factors = Counter(self._factors(divisor))
                return min((depth for known, depth in self.nonzero if factors <= known), default=None)
        return None

    # --- what is not zero: a product, wrapped or not, only if no product of some of its factors is

    def _factors(self, expr: Expr) -> Iterator[Expr]:
        match expr:
            case Binary("*", left, right):
                yield from self._factors(left)
                yield from self._factors(right)
            case Var(name) if isinstance(self.values.get(name), Var | Binary):
                yield from self._factors(self.values[name])
            case _:
                yield expr

    def _knowing(self, nonzero: Iterable[Expr], depth: int) -> Scope:
        known = [(Counter(self._factors(expr)), depth) for expr in nonzero]
        return with_fields(self, nonzero=(*self.nonzero, *known), _found={}) if known else self

    def _positive_inside(self, loop: For) -> Iterator[Expr]:
        """Expressions that are positive in the body of `loop`, which runs only if lo < hi."""
        if loop.step > 0 and self._is_nonnegative(loop.lo):
            yield from _operands_of_min(loop.hi)
            if isinstance(loop.lo, Const) and loop.lo.value > 0:
                yield Var(loop.var)

    def _nonzero_if(self, cond: Expr) -> Iterator[Expr]:
        """Expressions that cannot be zero where `cond` holds."""
        match cond:
            case Binary("&&", left, right):
                yield from self._nonzero_if(left)
                yield from self._nonzero_if(right)
            case Binary("!=", expr, Const(value=0)) | Binary("!=", Const(value=0), expr):
                yield expr
            case Binary(">", expr, low) | Binary("<", low, expr) if self._is_nonnegative(low):
                yield from _operands_of_min(expr)
            case Binary(">=", expr, Const(value=low)) | Binary("<=", Const(value=low), expr) if low > 0:
                yield from _operands_of_min(expr)
            case Var(name) if name in self.values:
                yield from self._nonzero_if(self.values[name])

    def _is_nonnegative(self, expr: Expr) -> bool:
        match expr:
            case Const(value=value):
                return value >= 0
            case Var(name):
                return name in self.sizes
            case Binary("max", left, right):
                return self._is_nonnegative(left) or self._is_nonnegative(right)
            case Binary("min", left, right):
                return self._is_nonnegative(left) and self._is_nonnegative(right)
        return False


@lru_cache(1 << 14)  # few expressions have any, and all are asked
def divisors(expr: Expr) -> tuple[Expr, ...]:
    """What is divided by, whenever `expr` is evaluated."""
    inside = tuple(divisor for operand in evaluated(expr) for divisor in divisors(operand))
    match expr:
        case Binary(op, _, right) if op in DIVISIONS and not isinstance(right, Const):
            return right, *inside
    return inside


def _operands_of_min(expr: Expr) -> Iterator[Expr]:
    """What is positive if `expr` is."""
    yield expr
    match expr:
        case Binary("min", left, right):
            yield from _operands_of_min(left)
            yield from _operands_of_min(right)
