"""What a nest asks of its data, so that C defines what it does.

    h[x[i]] += 1                 with h: i64[64]        x[i] is from 0 to 63
    a[i] = (u8) (b[i] - 300.0)                          b[i] - 300.0 is from 0 to 255
    q[i] = i // d[i]                                    d[i] is at least 1
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import inf

from polysched.ir.integers.intervals import whole
from polysched.ir.node import children, walk
from polysched.ir.nodes import (
    DIVISIONS,
    LOGICAL,
    Alloc,
    Binary,
    Cast,
    Const,
    Expr,
    For,
    Function,
    If,
    Let,
    Load,
    Select,
    Stmt,
    Store,
    Var,
)


@dataclass(frozen=True, eq=False)
class Bound:
    """What a name stands for: one of the values of these expressions, or, of a loop, all from the first to the last."""

    exprs: tuple[Expr, ...]
    scope: Scope
    step: int = 0  # of a loop


Scope = Mapping[str, Bound]


@dataclass(frozen=True, eq=False)
class Demand:
    """The value of an expression is from `low` to `high`, which is an expression in the sizes where it is one."""

    expr: Expr
    low: float
    high: float | Expr  # Expr: an extent, which the value is below
    scope: Scope
    sources: frozenset[str]  # the arrays and scalars that it is made of
    is_guarded: bool  # only asked for where some condition holds


@dataclass(frozen=True, eq=False)
class Demands:
    """All of a nest."""

    nest: Function
    all: tuple[Demand, ...]
    stores: Mapping[str, tuple[Bound, ...]]  # what is stored to each array
    ascending: frozenset[str]  # arrays between whose elements loops run

    @property
    def sources(self) -> list[str]:
        """The arrays and scalars of which something is asked."""
        return list(dict.fromkeys(name for demand in self.all for name in sorted(demand.sources)))


def demands_of(nest: Function) -> Demands:
    """What a nest asks of its arrays and scalars."""
    collected = _Collector(nest)
    collected.block(nest.body, {}, False)
    stores = {name: tuple(found) for name, found in collected.stores.items()}
    found = (replace(each, sources=_sources(nest, stores, each.expr, each.scope)) for each in collected.found)
    return Demands(nest, tuple(each for each in found if each.sources), stores, frozenset(collected.ascending))


@dataclass
class _Collector:
    """Walks a nest, and notes demands with what names stand for."""

    nest: Function
    found: list[Demand] = field(default_factory=list)
    stores: dict[str, list[Bound]] = field(default_factory=dict)
    ascending: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.shapes = {array.name: array.shape for array in self.nest.arrays}

    def block(self, body: tuple[Stmt, ...], scope: Scope, guarded: bool) -> None:
        for stmt in body:
            match stmt:
                case Let(name, value):
                    self.expr(value, scope, guarded)
                    scope = {**scope, name: Bound((value,), scope)}
                case Store(array, index, value):
                    self.expr(value, scope, guarded)
                    self.subscripts(array, index, scope, guarded)
                    self.stores.setdefault(array, []).append(Bound((value,), scope))
                case For(var, lo, hi, step, inner):
                    for bound in (lo, hi):
                        self.expr(bound, scope, guarded)
                        self.ascending |= {node.array for node in walk(bound) if isinstance(node, Load)}
                    self.block(inner, {**scope, var: Bound((lo, hi), scope, step)}, guarded)
                case If(cond, then, other):
                    self.expr(cond, scope, guarded)
                    self.block(then, scope, True)
                    self.block(other, scope, True)
                case Alloc(array):
                    self.shapes[array.name] = array.shape

    def subscripts(self, array: str, index: tuple[Expr, ...], scope: Scope, guarded: bool) -> None:
        for subscript, extent in zip(index, self.shapes[array], strict=True):
            self.expr(subscript, scope, guarded)
            self.ask(subscript, 0, extent, scope, guarded)

    def expr(self, expr: Expr, scope: Scope, guarded: bool) -> None:
        match expr:
            case Load(array, index, _):
                self.subscripts(array, index, scope, guarded)
                return
            case Select(cond, then, other):
                self.expr(cond, scope, guarded)
                self.expr(then, scope, True)
                self.expr(other, scope, True)
                return
            case Binary(op, left, right) if op in LOGICAL:
                self.expr(left, scope, guarded)
                self.expr(right, scope, True)
                return
            case Binary(op, _, right) if op in DIVISIONS:
                self.ask(right, 1, inf, scope, guarded)
            case Binary("<<" | ">>", left, right):
                self.ask(right, 0, left.dtype.bits - 1, scope, guarded)
            case Cast(arg, dtype) if arg.dtype.is_float and dtype.is_integer:
                self.ask(arg, *whole(dtype), scope, guarded)
        for child in children(expr):
            self.expr(child, scope, guarded)

    def ask(self, expr: Expr, low: float, high: float | Expr, scope: Scope, guarded: bool) -> None:
        if not isinstance(expr, Const):
            self.found.append(Demand(expr, low, high, scope, frozenset(), guarded))


def _sources(nest: Function, stores: Mapping[str, tuple[Bound, ...]], expr: Expr, scope: Scope) -> frozenset[str]:
    """The arrays and scalars of the caller's that the value of an expression is made of, but for subscripts, which are
    demands of their own."""
    parameters = {array.name for array in nest.arrays} | {scalar.name for scalar in nest.scalars}
    found: set[str] = set()
    seen: set[int] = set()
    rest: list[tuple[Expr, Scope]] = [(expr, scope)]
    while rest:
        expr, scope = rest.pop()
        bounds: tuple[Bound, ...] = ()
        match expr:
            case Load(array, _, _):
                found |= {array} & parameters
                bounds = stores.get(array, ())
            case Var(name, _) if name in scope:
                bounds = (scope[name],)
            case Var(name, _):
                found |= {name} & parameters
            case _:
                rest += [(child, scope) for child in children(expr)]
        for bound in bounds:
            if id(bound) not in seen:
                seen.add(id(bound))
                rest += [(each, bound.scope) for each in bound.exprs]
    return frozenset(found)
