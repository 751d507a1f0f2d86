"""Temporaries that are set once, to what no memory decides, are names.

    for j in 0..m:                          for j in 0..m:
        alloc t: private i64[]                  t = i * i
        t[] = i * i                 ->          A[i, j] = t + j
        A[i, j] = t[] + j

So the passes that follow see that t does not change with j.

Needs: every name is bound once. Keeps: what is evaluated, and where.
"""

from __future__ import annotations

from polysched.codegen.lowered import changed
from polysched.ir.effects import may_change
from polysched.ir.node import map_blocks, map_list, rewrite, statements, touches
from polysched.ir.nodes import Alloc, Array, Expr, Function, Let, Load, Stmt, Store, Var


def named_temporaries(fn: Function) -> Function:
    """`fn` with names for scalars that one store in the block of their allocation sets, before any use; the same
    object if there are none."""
    return changed(fn, body=_block(fn.body))


def _block(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    body = map_list(body, lambda stmt: map_blocks(stmt, _block))
    for k, stmt in enumerate(body):
        if isinstance(stmt, Alloc) and not stmt.array.shape and stmt.array.space == "private":
            rest = _with_name(stmt.array, body[k + 1 :])
            if rest is not None:  # what others are set to may be free of loads now
                return _block((*body[:k], *rest))
    return body


def _with_name(scalar: Array, rest: tuple[Stmt, ...]) -> tuple[Stmt, ...] | None:
    """The statements after the allocation with a name for the scalar; None if it is no such one."""
    stores = [node for node in statements(rest) if isinstance(node, Store) and node.array == scalar.name]
    first = next((k for k, stmt in enumerate(rest) if touches(stmt, scalar.name)), None)
    if first is None or len(stores) != 1 or stores[0] is not rest[first]:
        return None
    (store,) = stores
    if may_change(store.value) or store.value.dtype != scalar.dtype:
        return None

    def rule(node: Stmt | Expr) -> Expr | None:
        return Var(scalar.name, scalar.dtype) if isinstance(node, Load) and node.array == scalar.name else None

    return (*rest[:first], Let(scalar.name, store.value, store.loc), *rewrite(rest[first + 1 :], rule))
