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
immediate offset of an address, and neighbors in a stencil share the rest.

Where it leaves fewer products in a loop, integers are multiplied out and collected (`distributive.py`).

Keeps: which elements are loaded and stored, in which order. Operands of `&&` and `||` that may trap, load or have an
effect stay where they are, and nothing moves across them. The number of operations in innermost loops
grows by no more than the `!` of merged conditions.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from polysched.codegen.expr.conditions import collapse, merged
from polysched.codegen.expr.distributive import distributed
from polysched.codegen.expr.rank import Scope
from polysched.codegen.expr.sums import chain, sum_of, terms_of
from polysched.codegen.lowered import changed, if_changed, is_mapped, with_own
from polysched.ir.effects import is_pure
from polysched.ir.node import flattened, map_children
from polysched.ir.nodes import Binary, Const, Expr, For, Function, If, Let, Select, Stmt, Unary, Var


def normalize(fn: Function, *, fast_math: bool = False) -> Function:
    """`fn` with nested conditions merged and the operands of associative, commutative operators in order of rank."""
    return changed(fn, body=_Normalizer(fast_math).block(fn.body, Scope()))


class _Normalizer:
    def __init__(self, fast_math: bool):
        self.fast_math = fast_math
        self.in_kernel = False  # of a GPU

    # --- statements

    def block(self, statements: tuple[Stmt, ...], scope: Scope) -> tuple[Stmt, ...]:
        out: list[tuple[Stmt, Scope]] = []
        for stmt in statements:
            new = with_own(stmt, partial(self.expr, scope=scope))
            if out and (both := merged(out[-1][0], new)):
                out[-1] = (both, scope)
            else:
                out.append((new, scope))
            if isinstance(new, Let):
                scope = scope.binding(new.name, scope.rank(new.value), new.value)
        return if_changed(statements, tuple(self.nested(stmt, at) for stmt, at in out))

    def nested(self, stmt: Stmt, scope: Scope) -> Stmt:
        """`stmt`, whose own expressions are normal, with the blocks in it normalized."""
        match stmt:
            case For(body=body):
                in_kernel = self.in_kernel
                self.in_kernel = in_kernel or is_mapped(stmt)
                body = self.block(body, scope.inside(stmt))
                self.in_kernel = in_kernel
                return changed(stmt, body=body)
            case If(cond=cond, then=then, other=other):
                return changed(stmt, then=self.block(then, scope.under(cond)), other=self.block(other, scope))
        return stmt

    # --- expressions

    def expr(self, expr: Expr, scope: Scope) -> Expr:
        """The normal form; the same object if `expr` has it."""
        new = self.normal(expr, scope)
        return expr if new == expr else new

    def normal(self, expr: Expr, scope: Scope) -> Expr:
        def inner(child: Expr) -> Expr:
            return self.normal(child, scope)

        match expr:
            case Const() | Var():
                return expr
            case Select():
                mapped = map_children(expr, inner)
                flat = collapse(mapped)
                return flat if flat is mapped else replace(flat, cond=inner(flat.cond))
            case Binary("+" | "-") | Unary("-") if self.may_reorder(expr):
                terms = [(minus, inner(term)) for minus, term in terms_of(expr)]
                if expr.dtype.is_integer and not self.in_kernel:  # terms are new where some were collected
                    terms = [each if each in terms else (each[0], inner(each[1])) for each in distributed(terms, scope)]
                return sum_of(terms, scope)
            case Binary("*") if self.may_reorder(expr):  # a sum of which terms were collected is a product
                operands = (each for operand in flattened(expr, expr.op) for each in flattened(inner(operand), expr.op))
                return chain(expr.op, list(operands), scope)
            case Binary("min" | "max") if self.may_reorder(expr) and expr.dtype.is_integer:
                return chain(expr.op, [inner(operand) for operand in flattened(expr, expr.op)], scope)
            case Binary("&&" | "||"):
                return chain(expr.op, [inner(operand) for operand in flattened(expr, expr.op)], scope)
        return map_children(expr, inner)

    def may_reorder(self, expr: Expr) -> bool:
        """Whether the operands of this arithmetic may be evaluated and rounded in another order."""
        exact = expr.dtype.is_integer or self.fast_math
        return exact and is_pure(expr)
