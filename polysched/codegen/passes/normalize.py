"""One order for the operands of `+ * && || min max`: what changes rarely comes first, so that it can move out of loops.

    A[i * m + j + n * 4 - 1]                        A[n * 4 + i * m + j - 1]
    i < 8 && j < 8 && i >= n            ->          (i < 8 && i >= n) && j < 8
    i < n ? (j < n ? x : 0) : 0                     i < n && j < n ? x : 0
    if c: S                                         if c:
    if c: T                                             S
                                                        T

Operands are sorted by rank, the number of loops they must stay inside; those of equal rank become one subtree.
Two's complement addition and multiplication are associative and commutative for every operand, wrapped or not, so
integers stay exact; floats are left alone unless `fast_math`. A constant stays the last addend: it becomes the
immediate offset of an address, and neighbours in a stencil share the rest.

Keeps: which elements are loaded and stored, in which order; the number of operations does not grow. Operands of
`&&` and `||` that may trap, load or have an effect stay where they are, and nothing moves across them.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import reduce
from itertools import groupby
from typing import Any

from polysched.codegen.passes.conditions import collapse, merged
from polysched.codegen.passes.rank import Scope
from polysched.ir.node import map_children, walk
from polysched.ir.nodes import LOGICAL, Binary, Call, Const, Expr, For, Function, If, Let, Select, Stmt, Unary

Term = tuple[bool, Expr]  # whether it is subtracted, and what


def normalize(fn: Function, *, fast_math: bool = False) -> Function:
    """`fn` with nested conditions merged and the operands of associative, commutative operators in order of rank."""
    body = _Normalizer(fast_math).block(fn.body, Scope())
    return fn if body is fn.body else replace(fn, body=body)


class _Normalizer:
    def __init__(self, fast_math: bool):
        self.fast_math = fast_math

    # --- statements

    def block(self, statements: tuple[Stmt, ...], scope: Scope) -> tuple[Stmt, ...]:
        out: list[tuple[Stmt, Scope]] = []
        for stmt in statements:
            new = map_children(stmt, lambda child, at=scope: self.expr(child, at) if isinstance(child, Expr) else child)
            if out and (both := merged(out[-1][0], new)):
                out[-1] = (both, scope)
            else:
                out.append((new, scope))
            if isinstance(new, Let):
                scope = scope.binding(new.name, scope.rank(new.value))
        result = tuple(self.nested(stmt, at) for stmt, at in out)
        unchanged = len(result) == len(statements) and all(map(operator.is_, result, statements))
        return statements if unchanged else result

    def nested(self, stmt: Stmt, scope: Scope) -> Stmt:
        """`stmt`, whose own expressions are normal, with the blocks in it normalised."""
        match stmt:
            case For(body=old):
                body = self.block(old, scope.inside(stmt))
                return stmt if body is old else replace(stmt, body=body)
            case If(cond=cond, then=old_then, other=old_other):
                then, other = self.block(old_then, scope.under(cond)), self.block(old_other, scope)
                return stmt if then is old_then and other is old_other else replace(stmt, then=then, other=other)
        return stmt

    # --- expressions

    def expr(self, expr: Expr, scope: Scope) -> Expr:
        """The normal form; the same object if `expr` has it."""
        new = self.normal(expr, scope)
        return expr if new == expr else new

    def normal(self, expr: Expr, scope: Scope) -> Expr:
        if isinstance(expr, Select):
            mapped = map_children(expr, lambda child: self.normal(child, scope))
            flat = collapse(mapped)
            return flat if flat is mapped else replace(flat, cond=self.normal(flat.cond, scope))
        if self.is_additive(expr):
            return _sum(((minus, self.normal(e, scope)) for minus, e in self.terms(expr)), scope.rank)
        if self.is_chain(expr):
            assert isinstance(expr, Binary)
            op = expr.op
            operands = [self.normal(e, scope) for e in _operands(expr, op)]
            if op not in LOGICAL:
                return _product(op, operands, scope.rank)
            groups: list[Expr] = []
            for total, run in groupby(operands, scope.is_total):
                groups += _grouped(op, list(run), scope.rank) if total else run
            return _joined(op, groups)
        return map_children(expr, lambda child: self.normal(child, scope))
