"""Makes a program that shows a fault smaller for as long as it shows it.

for i in 0..n:
    A[i] = max(i, 3) * b                ->      for i in 0..n:
    if c > 0:                                       A[i] = i
        B[i] = floordiv(b, a)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from polysched.ir.node import children, map_children, walk
from polysched.ir.nodes import Const, Expr, For, Function, If, Let, Stmt, Var
from polysched.ir.verify import Stage, verify

_PATIENCE = 3000  # programs tried


def shrink(fn: Function, fails: Callable[[Function], bool], stage: Stage) -> Function:
    """The smallest program found that `fails` and is well-formed: fewer statements, then smaller expressions."""
    left = _PATIENCE
    smaller: Function | None = fn
    while smaller:
        fn, smaller = smaller, None
        for candidate in _smaller(fn):
            left -= 1
            if left < 0:
                return fn
            if _is_well_formed(candidate, stage) and fails(candidate):
                smaller = candidate
                break
    return fn


def _smaller(fn: Function) -> Iterator[Function]:
    nodes = [node for node in walk(fn.body) if isinstance(node, Stmt | Expr)]
    for kind in (Stmt, Expr):
        for at, node in enumerate(nodes):
            if isinstance(node, kind):
                for less in _less(node):
                    yield replace(fn, body=_with(fn.body, at, less))


def _less(node: Any) -> Iterator[Any]:
    """What may stand in place of the node, the least first; a tuple replaces a statement."""
    match node:
        case For(var, lo, _, _, body):
            yield ()
            yield (Let(var, lo), *body)
            if node.kind != "serial":
                yield replace(node, kind="serial")
        case If(_, then, other):
            yield ()
            yield then
            yield other
        case Stmt():
            yield ()
        case Const() | Var():
            pass
        case Expr(dtype=dtype):
            if dtype.kind in "iu":
                yield Const(0, dtype)
                yield Const(1, dtype)
            yield from (below for below in _below(node) if below.dtype == dtype)


def _below(expr: Expr) -> Iterator[Expr]:
    for child in children(expr):
        yield child
        yield from _below(child)


def _with(body: tuple[Stmt, ...], at: int, new: Any) -> tuple[Stmt, ...]:
    """`body` with its node number `at`, in the order of `walk`, replaced."""
    count = -1

    def visit(node: Any) -> Any:
        nonlocal count
        if isinstance(node, Stmt | Expr):
            count += 1
            if count == at:
                count += sum(1 for _ in walk(node)) - 1
                return new
        return map_children(node, visit)

    out: list[Stmt] = []
    for stmt in body:
        changed = visit(stmt)
        out.extend(changed) if isinstance(changed, tuple) else out.append(changed)
    return tuple(out)


def _is_well_formed(fn: Function, stage: Stage) -> bool:
    try:
        verify(fn, stage)
    except Exception:
        return False
    return True
