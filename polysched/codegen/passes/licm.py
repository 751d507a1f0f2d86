"""Loop-invariant code motion: compute once what does not change from iteration to iteration.

    for i in 0..n:                          for i in 0..n:
        for j in 0..m:              ->          t0 = i * m
            C[i * m + j + 1] = B[j]             for j in 0..m:
                                                    C[t0 + j + 1] = B[j]

Each largest invariant expression gets one temporary, directly before the outermost loop in which it is invariant;
what that temporary needs moves further out by the same rule. A Let moves as a whole, under its own name.

Needs: no name is bound again inside the scope of its binding.
Keeps: which elements are loaded and stored, in which order. Loads, calls with effects and whatever may trap stay where
they are: a loop that runs zero times must not start to divide. The constant that ends a subscript stays in it, as the
immediate offset of an address.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from polysched.codegen.passes.cost import COSTS, cost
from polysched.codegen.passes.count import trip_count
from polysched.codegen.passes.rank import Scope
from polysched.ir.node import map_children, rewrite, walk
from polysched.ir.nodes import (
    Binary,
    Const,
    Expr,
    For,
    Function,
    If,
    Let,
    Load,
    Stmt,
    Store,
    Var,
)
from polysched.ir.rename import bound_names, fresh_names, used_names


def licm(fn: Function, *, threshold: int = 1, costs: Mapping[str, int] = COSTS, tiny_loop: int = 0) -> Function:
    """`fn` with invariant expressions that cost `threshold` or more named before the loops that would repeat them.

    Nothing is placed directly before a loop of at most `tiny_loop` iterations, which a GPU compiler unrolls, nor
    before the block and thread loops of a GPU, which are no loops in its code.
    """
    mover = _Mover(fn, threshold, costs, tiny_loop)
    body = _numbered_in_order(mover.block(fn.body, Scope(), (), {}), mover.temporaries)
    return fn if body == fn.body else replace(fn, body=body)


@dataclass
class _Block:
    """A block being written: what has been added to it stands before the loop that is under way in it."""

    named: dict[Expr, Var]  # values that have a name here, also those from the blocks around it
    statements: list[Stmt] = field(default_factory=list)

    def bind(self, let: Let) -> None:
        self.statements.append(let)
        self.named.setdefault(let.value, Var(let.name, let.value.dtype))


Blocks = tuple[_Block, ...]  # one per loop depth, outermost first: what has rank r belongs into number r


class _Mover:
    """Walks down once, and writes every Let and every temporary to the block of its rank."""

    def __init__(self, fn: Function, threshold: int, costs: Mapping[str, int], tiny_loop: int):
        self.threshold, self.costs, self.tiny_loop = threshold, costs, tiny_loop
        self.bindings = Counter(bound_names(fn.body))
        self.fresh = fresh_names("t", used_names(fn))
        self.temporaries: list[str] = []

    def block(self, old: tuple[Stmt, ...], scope: Scope, around: Blocks, named: dict[Expr, Var]) -> tuple[Stmt, ...]:
        """The statements that remain of `old`, which stands inside of the blocks `around`."""
        here = _Block(dict(named))
        blocks = (*around, here)

        def moved(expr: Expr) -> Expr:
            return self.expr(expr, scope.depth, scope, blocks)

        for stmt in old:
            match stmt:
                case Let(name, value):
                    # A name that two blocks bind to different values cannot leave either of them.
                    home = scope.rank(value) if self.bindings[name] == 1 else scope.depth
                    new = self.expr(value, home, scope, blocks)
                    if home < scope.depth:
                        new = blocks[home].named.get(new, new)
                    blocks[home].bind(replace(stmt, value=new))
                    scope = scope.binding(name, home)
                case For(lo=lo, hi=hi, body=body):
                    lo, hi = moved(lo), moved(hi)
                    if self.can_leave(stmt):
                        body = self.block(body, scope.inside(stmt), blocks, {})
                    else:
                        body = self.block(body, scope.inside(stmt, counts=False), around, here.named)
                    here.statements.append(replace(stmt, lo=lo, hi=hi, body=body))
                case If(cond, then, other):
                    new = moved(cond)
                    then = self.block(then, scope.under(cond), around, here.named)
                    other = self.block(other, scope, around, here.named)
                    here.statements.append(replace(stmt, cond=new, then=then, other=other))
                case Store(_, index, value):
                    index = self.subscripts(index, scope, blocks)
                    here.statements.append(replace(stmt, index=index, value=moved(value)))
                case _:
                    here.statements.append(stmt)
        return tuple(here.statements)

    def expr(self, expr: Expr, depth: int, scope: Scope, blocks: Blocks) -> Expr:
        """`expr` for a place at `depth`, with what is invariant there replaced by names."""
        if isinstance(expr, Load):
            return replace(expr, index=self.subscripts(expr.index, scope, blocks))
        home = min(scope.rank(expr), depth)
        value: Expr = map_children(expr, lambda child: self.expr(child, home, scope, blocks))
        if home == depth or isinstance(value, Const | Var) or cost(value, self.costs) < self.threshold:
            return value
        if value not in blocks[home].named:
            self.temporaries.append(next(self.fresh))
            blocks[home].bind(Let(self.temporaries[-1], value))
        return blocks[home].named[value]

    def subscripts(self, index: tuple[Expr, ...], scope: Scope, blocks: Blocks) -> tuple[Expr, ...]:
        def subscript(expr: Expr) -> Expr:
            match expr:
                case Binary("+" | "-", base, Const()):
                    return replace(expr, left=self.expr(base, scope.depth, scope, blocks))
            return self.expr(expr, scope.depth, scope, blocks)

        return tuple(map(subscript, index))

    def can_leave(self, loop: For) -> bool:
        """Whether there is a place before this loop that is worth moving to."""
        trips = trip_count(loop)
        is_tiny = trips is not None and trips <= self.tiny_loop
        return not is_tiny and not loop.kind.startswith(("block", "thread"))


def _numbered_in_order(body: tuple[Stmt, ...], temporaries: list[str]) -> tuple[Stmt, ...]:
    """`body` with its temporaries renamed among each other to be numbered from top to bottom."""
    found = (node.name for node in walk(body) if isinstance(node, Let) and node.name in temporaries)
    names = dict(zip(found, temporaries, strict=True))

    def rename(node: Expr | Stmt) -> Expr | Stmt | None:
        match node:
            case Let(name) | Var(name) if name in names:
                return replace(node, name=names[name])
        return None

    return rewrite(body, rename)
