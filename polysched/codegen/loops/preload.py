"""What unrolled loops load under a condition, once for each element: in registers before them.

    for x in 0..4 (unrolled):                         alloc d: private f32[4]
        for i in 0..4 (unrolled):                     for k in 0..4 (unrolled):
            s[] = s[] + (i < n ? A[i] : 0) * f(x, i)      d[k] = k < n ? A[k] : 0
                                             ->       for x in 0..4 (unrolled):
                                                          for i in 0..4 (unrolled):
                                                              s[] = s[] + d[i] * f(x, i)

nvcc loads once what is loaded for certain; of what it loads under a condition, no load comes before all others.

Needs: a name is not bound again while it is in scope.
Keeps: every load is one that the loops do as well, since they run, and nothing around it in them is lazy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import prod

from polysched.codegen.lowered import around, changed
from polysched.config.heuristics.gpu import PRELOADED
from polysched.ir.build import add, mul
from polysched.ir.effects import evaluated, may_be_dropped
from polysched.ir.node import loaded, map_blocks, map_list, rewrite, statements, substitute, variables, walk
from polysched.ir.nodes import Alloc, Array, Barrier, Const, Expr, For, Function, Let, Load, Select, Stmt, Store, Var
from polysched.ir.rename import bound_names, fresh_names, rename_bound, used_names
from polysched.model.loops import trip_count


def preload(fn: Function) -> Function:
    """`fn` with what unrolled loops load under conditions, and load again, loaded before them."""
    if not any(isinstance(node, For) and node.kind == "unrolled" for node in statements(fn.body)):
        return fn
    taken = used_names(fn)

    def fresh(stem: str) -> str:
        return next(fresh_names(stem, taken))

    def visit(stmt: Stmt) -> Stmt | tuple[Stmt, ...]:
        if isinstance(stmt, For) and stmt.kind == "unrolled":
            return _Loop(stmt, fresh).preloaded()
        return map_blocks(stmt, lambda block: map_list(block, visit))

    return changed(fn, body=map_list(fn.body, visit))


@dataclass
class _Loop:
    """An unrolled loop that is in no other."""

    loop: For
    fresh: Callable[[str], str]
    loaded: dict[Expr, Load] = field(default_factory=dict)  # as it is written in the loop -> from the registers
    before: list[Stmt] = field(default_factory=list)
    changing: set[str] = field(default_factory=set)  # arrays that the loop stores to
    elements: int = 0

    def preloaded(self) -> Stmt | tuple[Stmt, ...]:
        nodes, bound = list(walk(self.loop)), [*bound_names((self.loop,))]
        if any(isinstance(node, Barrier) for node in nodes):  # other threads store then
            return self.loop
        if len(bound) > len(set(bound)):  # what is written alike may differ
            return self.loop
        self.changing = {node.array for node in nodes if isinstance(node, Store)}
        self.changing |= {node.array.name for node in nodes if isinstance(node, Alloc)}
        self.visit(self.loop, (), {})
        if not self.loaded:
            return self.loop
        new: For = rewrite(self.loop, lambda node: self.loaded.get(node) if isinstance(node, Select) else None)
        return (*self.before, new)

    def visit(self, stmt: Stmt, loops: tuple[For, ...], lets: dict[str, Expr]) -> None:
        """Everything that runs in each iteration of the loops around."""
        match stmt:
            case For(lo=Const(value=0), step=1, when=()) if trip_count(stmt):
                for inner in stmt.body:
                    self.visit(inner, (*loops, stmt), lets)
            case Let(name, value):
                lets[name] = substitute(value, lets)
            case Store(value=value):
                for select in _evaluated(value):
                    if select not in self.loaded:
                        self.consider(select, substitute(select, lets), loops)

    def consider(self, written: Select, value: Expr, loops: tuple[For, ...]) -> None:
        names = variables(value)
        arrays = loaded(value)
        own = [loop for loop in loops if loop.var in names]
        trips = [trip_count(loop) or 0 for loop in own]
        is_again = any((trip_count(loop) or 0) > 1 for loop in loops if loop not in own)
        if not arrays or arrays & self.changing or not is_again or not may_be_dropped(value):
            return
        if self.elements + prod(trips) > PRELOADED:
            return
        self.elements += prod(trips)
        index: Expr = Const(0)
        for loop, count in zip(own, trips, strict=True):
            index = add(mul(index, count), Var(loop.var)) if index != Const(0) else Var(loop.var)
        array = Array(self.fresh("loaded"), value.dtype, (Const(prod(trips)),), "private")
        self.loaded[written] = Load(array.name, (index,), value.dtype)
        load = around(own, (Store(array.name, (index,), value),))
        self.before += [Alloc(array), *rename_bound(load, self.fresh)]


def _evaluated(expr: Expr) -> Iterator[Select]:
    """The conditional values in an expression that are certain to be evaluated with it, outermost ones."""
    if isinstance(expr, Select):
        yield expr
        return
    for operand in evaluated(expr):
        yield from _evaluated(operand)
