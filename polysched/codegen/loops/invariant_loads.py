"""Elements that never change, loaded before the SIMD loop that uses them: on threads, compilers do not see it.

    for j in 0..n (vector):                     w0 = w[0]
        B[j] = w[0] * A[j] + w[1]       ->      w1 = w[1]
                                                for j in 0..n (vector):
                                                    B[j] = w0 * A[j] + w1

Needs: names are bound once; arrays are apart. Keeps: every value. An element of constant subscripts is inside of its
array, so that it may be loaded for a loop that does not run.
"""

from __future__ import annotations

from dataclasses import replace

from polysched.codegen.lowered import changed
from polysched.config.heuristics.cpu import INVARIANT_REGISTERS
from polysched.ir.node import map_blocks, map_list, rewrite, stored, walk
from polysched.ir.nodes import Const, Expr, For, Function, Let, Load, Stmt, Var
from polysched.ir.rename import fresh_names, used_names


def invariant_loads(fn: Function) -> Function:
    """`fn` with elements of arrays that it only reads named before the SIMD loops around them; the same object if there
    are none."""
    written = stored(fn.body)
    shapes = {a.name: a.shape for a in fn.arrays if a.name not in written and a.dtype.bits >= 32}
    names = fresh_names("fixed", used_names(fn))

    def visit(stmt: Stmt) -> Stmt | tuple[Stmt, ...]:
        if not isinstance(stmt, For) or stmt.kind != "vector":
            return map_blocks(stmt, lambda block: map_list(block, visit))
        found = (node for node in walk(stmt.body) if isinstance(node, Load) and node.array in shapes)
        loads = dict.fromkeys(load for load in found if _is_inside(load, shapes[load.array]))
        if not 0 < len(loads) <= INVARIANT_REGISTERS:
            return stmt
        named = {load: Var(next(names), load.dtype) for load in loads}
        body = rewrite(stmt.body, lambda node: named.get(node) if isinstance(node, Load) else None)
        return (*(Let(var.name, load) for load, var in named.items()), replace(stmt, body=body))

    return changed(fn, body=map_list(fn.body, visit))


def _is_inside(load: Load, shape: tuple[Expr, ...]) -> bool:
    """Are all subscripts constants, of an element that there is?"""
    pairs = zip(load.index, shape, strict=True)
    return all(isinstance(k, Const) and isinstance(n, Const) and 0 <= k.value < n.value for k, n in pairs)
