"""Scalars that only name an index, put in where they are read.

    for p in 0..h * w:                          for p in 0..h * w:
        y: i64                                      b[p - floordiv(p, w) * w] = a[floordiv(p, w)]
        y = floordiv(p, w)              ->
        x: i64
        x = p - y * w
        b[x] = a[y]

They are integers and conditions, assigned only in the block that declares them, computed of sizes and loop variables,
which nothing changes, without a division that could trap.

Needs: a source nest. Keeps: every load and store but theirs, and every trap.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from polysched.config.heuristics.nest import LONGEST_VALUE
from polysched.ir.dtypes import boolean, i64
from polysched.ir.effects import is_pure, is_total_operation
from polysched.ir.node import map_list, rewrite, walk
from polysched.ir.nodes import DIVISIONS, Alloc, Binary, Const, Expr, For, Function, If, Let, Load, Stmt, Store, Var
from polysched.prelude.structure.radix import Product, product_of


def forward_indices(fn: Function) -> tuple[tuple[Stmt, ...], dict[Expr, str]]:
    """The body of `fn` with these scalars put in; and how their values were called."""
    forward = _Forward(fn.sizes)
    return forward.block(fn.body, {}, ()), forward.names


_KINDS = (i64, boolean)  # of an index, and of a condition on it
_Values = dict[str, Expr]
_Ends = tuple[Product, ...]  # of the loops around that count from zero: none of them is zero inside


@dataclass
class _Forward:
    sizes: tuple[str, ...]
    names: dict[Expr, str] = field(default_factory=dict)

    def block(self, body: tuple[Stmt, ...], values: _Values, ends: _Ends) -> tuple[Stmt, ...]:
        """The block with the names that have `values` around it, and its own, put in."""
        names = self.indices(body, values, ends)
        values = dict(values)

        def rule(stmt: Stmt) -> Stmt | tuple[Stmt, ...]:
            match stmt:
                case Alloc(array) if array.name in names:
                    return ()
                case Store(name, _, value) | Let(name, value) if name in names:
                    values[name] = put_in(value, values)
                    self.names.setdefault(values[name], name)
                    return ()
                case For():
                    lo, hi, when = (put_in(part, values) for part in (stmt.lo, stmt.hi, stmt.when))
                    end = product_of(hi, self.sizes) if lo == Const(0) and stmt.step == 1 else None
                    inside = self.block(stmt.body, values, ends if end is None else (*ends, end))
                    return replace(stmt, lo=lo, hi=hi, when=when, body=inside)
                case If(cond, then, other):
                    then, other = self.block(then, values, ends), self.block(other, values, ends)
                    return If(put_in(cond, values), then, other, stmt.loc)
            changed: Stmt = put_in(stmt, values)
            return changed

        return map_list(body, rule)

    def indices(self, body: tuple[Stmt, ...], outer: _Values, ends: _Ends) -> set[str]:
        """The names of this block to be put in."""
        scalars = [stmt.array for stmt in body if isinstance(stmt, Alloc) and not stmt.array.shape]
        names = {array.name for array in scalars if array.dtype in _KINDS and _is_set_here(array.name, body)}
        names |= {stmt.name for stmt in body if isinstance(stmt, Let) and stmt.value.dtype in _KINDS}
        while True:  # a name that is none may be in the value of another one
            values, none = dict(outer), set[str]()
            for stmt in body:
                match stmt:
                    case Store(name, _, value) | Let(name, value) if name in names:
                        values[name] = put_in(value, values)
                        if not self.is_fixed(values[name], ends):
                            none.add(name)
            if not none:
                return names
            names -= none

    def is_fixed(self, value: Expr, ends: _Ends) -> bool:
        """Is it the same whenever it is evaluated, and defined, and of a reasonable length?"""
        nodes = list(islice(walk(value), LONGEST_VALUE + 1))
        return len(nodes) <= LONGEST_VALUE and is_pure(value) and all(self.is_defined(node, ends) for node in nodes)

    def is_defined(self, node: Expr, ends: _Ends) -> bool:
        match node:
            case Binary(op, _, right) if op in DIVISIONS and not isinstance(right, Const):
                divisor = product_of(right, self.sizes)
                return divisor is not None and any(divisor.divides(end) for end in ends)
        return is_total_operation(node)


def put_in(node: Any, values: _Values) -> Any:
    """`node` with the values of scalars for what reads them."""

    def rule(part: Any) -> Expr | None:
        match part:
            case Load(name, ()) | Var(name) if name in values:
                return values[name]
        return None

    return rewrite(node, rule) if values else node


def _is_set_here(name: str, body: tuple[Stmt, ...]) -> bool:
    """Do statements of this block alone assign the scalar, the first of them before it is read?"""
    assigned = False
    for stmt in body:
        mentions = [node for node in walk(stmt) if isinstance(node, Load | Store) and node.array == name]
        match stmt:
            case Store(array) if array == name:
                if not assigned and any(node is not stmt for node in mentions):
                    return False
                assigned = True
            case _ if any(isinstance(node, Store) or not assigned for node in mentions):
                return False
    return assigned
