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
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from sys import maxsize
from typing import Any

from polysched.codegen.expr.cost import COSTS, cost, costs_on
from polysched.codegen.expr.rank import Scope
from polysched.codegen.lowered import changed, if_changed, in_subscripts, is_mapped
from polysched.config.options import Options
from polysched.config.target import TargetData
from polysched.ir.dtypes import boolean
from polysched.ir.node import children, map_children, variables, walk
from polysched.ir.nodes import DIVISIONS, Binary, Call, Const, Expr, For, Function, If, Let, Load, Stmt, Store, Var
from polysched.ir.rename import bound_names, fresh_names, numbered_in_order, used_names
from polysched.model.loops import trip_count


def licm(fn: Function, *, threshold: int = 1, costs: Mapping[str, int] = COSTS, tiny_loop: int = 0) -> Function:
    """`fn` with invariant expressions that cost `threshold` or more named before the loops that would repeat them.

    Nothing is placed between the block and thread loops of a GPU, which are no loops in its code. Two places are for
    calls and for divisions by what is not constant alone: directly before a loop of at most `tiny_loop` iterations,
    which a GPU compiler unrolls, and on the host, whose names are arguments of the kernel; there, products of several
    sizes are computed, too. For cheaper values, the uniform datapath of a GPU, once a warp, is as good, and nvcc sees
    how they depend on sizes.
    """
    return _moved(fn, _Mover(fn, threshold, costs, tiny_loop))[0]


def licm_settings(options: Options, target: TargetData) -> dict[str, Any]:
    """The keyword arguments of `licm` for that target."""
    tiny_loop = options.tiny_loop if target.has_grid else 0
    return {"threshold": options.licm_threshold, "costs": costs_on(target), "tiny_loop": tiny_loop}


def motions(
    fn: Function, *, threshold: int = 1, costs: Mapping[str, int] = COSTS, tiny_loop: int = 0
) -> tuple[Function, tuple[Motion, ...]]:
    """The same with what became of each candidate: of what moved, and of the largest expressions that stay."""
    mover = _Mover(fn, threshold, costs, tiny_loop, notes=[])
    after, names = _moved(fn, mover)
    return after, tuple(mover.motions(names))


def _moved(fn: Function, mover: _Mover) -> tuple[Function, dict[str, str]]:
    """What it makes of `fn`, and the last names of its temporaries by their first."""
    body = mover.block(fn.body, Scope(frozenset(fn.sizes)), (), {})
    body, names = numbered_in_order(body, mover.temporaries)
    return (fn if body == fn.body else replace(fn, body=body)), names


@dataclass(frozen=True)
class Motion:
    """What became of one expression of a loop."""

    expr: Expr
    loop: str  # the innermost around it
    name: str  # that it has got, or ""
    why: str  # where it was moved, or why it was not

    def __str__(self) -> str:
        return f"{self.name} = {self.expr}: {self.why}" if self.name else f"{self.expr}: {self.why}"


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

    def __init__(
        self, fn: Function, threshold: int, costs: Mapping[str, int], tiny_loop: int, notes: list[Motion] | None = None
    ):
        self.threshold, self.costs, self.tiny_loop = threshold, costs, tiny_loop
        self.bindings = Counter(bound_names(fn.body))
        self.fresh = fresh_names("t", used_names(fn))
        self.temporaries: list[str] = []
        self.loops: list[For] = []  # around the place, outermost first
        self.kernel: int = maxsize  # the depth of the outermost block or thread loop among them, or beyond all
        self.notes = notes
        self.inside: dict[str, frozenset[str]] = {}  # loop variables that a name depends on, for the notes

    # --- statements

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
                    home = self.home(value, scope, scope.depth) if self.bindings[name] == 1 else scope.depth
                    new = self.expr(value, home, scope, blocks)
                    if home < scope.depth:
                        new = blocks[home].named.get(new, new)
                        self.note(value, scope, name, home)
                    blocks[home].bind(changed(stmt, value=new))
                    scope = scope.binding(name, home, value)
                    self.inside[name] = self.dependences(value)
                case For(lo=lo, hi=hi, body=body):
                    lo, hi = moved(lo), moved(hi)
                    kernel = self.kernel
                    if is_mapped(stmt):
                        self.kernel = min(kernel, scope.depth)
                    self.loops.append(stmt)
                    body = self.block(body, scope.inside(stmt), blocks, {})
                    self.loops.pop()
                    self.kernel = kernel
                    here.statements.append(changed(stmt, lo=lo, hi=hi, body=body))
                case If(cond, then, other):
                    new = moved(cond)
                    then = self.block(then, scope.under(cond), around, here.named)
                    other = self.block(other, scope.after(cond), around, here.named)
                    here.statements.append(changed(stmt, cond=new, then=then, other=other))
                case Store(_, index, value):
                    index = in_subscripts(index, moved)
                    here.statements.append(changed(stmt, index=index, value=moved(value)))
                case _:
                    here.statements.append(stmt)
        return if_changed(old, tuple(here.statements))

    # --- expressions

    def expr(self, expr: Expr, depth: int, scope: Scope, blocks: Blocks) -> Expr:
        """`expr` for a place at `depth`, with what is invariant there replaced by names."""
        if isinstance(expr, Const | Var):
            return expr
        if isinstance(expr, Load):
            self.note(expr, scope, "", scope.depth)
            index = in_subscripts(expr.index, lambda part: self.expr(part, scope.depth, scope, blocks))
            return changed(expr, index=index)
        home = self.home(expr, scope, depth)
        value: Expr = map_children(expr, lambda child: self.expr(child, home, scope, blocks))
        if home == depth or cost(value, self.costs) < self.threshold:
            if depth == scope.depth:  # else it is a part of what moves
                self.note(expr, scope, "", home)
            return value
        if value not in blocks[home].named:
            self.temporaries.append(next(self.fresh))
            blocks[home].bind(Let(self.temporaries[-1], value))
        self.note(expr, scope, blocks[home].named[value].name, home)
        return blocks[home].named[value]

    def home(self, expr: Expr, scope: Scope, depth: int) -> int:
        """The number of loops around the outermost place where `expr`, needed at `depth`, should be computed."""
        home = min(scope.rank(expr), depth)
        while home < depth and self.obstacle(home, expr, depth):
            home += 1
        return home

    def obstacle(self, place: int, expr: Expr, depth: int) -> str:
        """Why `expr`, needed at `depth`, should not be computed before the loop at `place`; "" if it should."""
        loop = self.loops[place]
        if place > self.kernel and is_mapped(loop):
            return f"nothing stands between the block and thread loops, before {loop.var}"
        if place <= self.kernel < depth and not _is_dear(expr) and not _is_stride(expr):
            return f"too cheap to be an argument of the kernel, which begins with {self.loops[self.kernel].var}"
        trips = trip_count(loop)
        if trips is not None and trips <= self.tiny_loop and not _is_dear(expr):
            return f"{loop.var} is unrolled: it runs {trips} times"
        return ""

    # --- what became of the candidates

    def note(self, expr: Expr, scope: Scope, name: str, home: int) -> None:
        """Notes what was done to an expression at its place: named outside, or left."""
        if self.notes is None or not self.loops:
            return
        loop = self.loops[-1].var
        if name:
            why = f"before {self.loops[home].var}"
        elif home < scope.depth:
            why = f"costs {cost(expr, self.costs)}, less than {self.threshold}"
        elif loop in self.dependences(expr):
            is_index = expr.dtype.is_integer and not isinstance(expr, Load)
            why = f"changes with {loop}" if is_index or expr.dtype == boolean else ""
        else:
            rank = scope.rank(expr)
            why = scope.reason_to_stay(expr) or (self.obstacle(rank, expr, scope.depth) if rank < scope.depth else "")
        if why:  # else it stays for a part of it, or is no candidate
            self.notes.append(Motion(expr, loop, name, why))

    def motions(self, names: Mapping[str, str]) -> Iterator[Motion]:
        """The notes once each, with the names that temporaries have in the end; of what stays for one reason, only the
        whole."""
        notes = list(dict.fromkeys(self.notes or ()))
        parts = {replace(note, expr=part) for note in notes for part in walk(note.expr) if part is not note.expr}
        for note in notes:
            if note.name:
                yield replace(note, name=names.get(note.name, note.name))
            elif note not in parts:
                yield note

    def dependences(self, expr: Expr) -> frozenset[str]:
        """The names of loops and parameters that the value of `expr` depends on."""
        if self.notes is None:
            return frozenset()
        return frozenset().union(*(self.inside.get(name, {name}) for name in variables(expr)))


@lru_cache(1 << 14)
def _is_dear(expr: Expr) -> bool:
    """Does it call a function, or divide by what is not constant?"""
    match expr:
        case Call():
            return True
        case Binary(op, _, divisor) if op in DIVISIONS and not isinstance(divisor, Const):
            return True
    return any(map(_is_dear, children(expr)))


def _is_stride(expr: Expr) -> bool:
    """Is it a product of several sizes, as from one plane of an array to the next?"""
    products = [node for node in walk(expr) if isinstance(node, Binary)]
    return len(products) > 1 and all(node.op == "*" for node in products)
