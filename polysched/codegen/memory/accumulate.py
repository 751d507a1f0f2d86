"""Scalar replacement: an element that an innermost loop updates again and again stays in a register meanwhile
(Callahan, Carr and Kennedy, PLDI 1990).

    for k in i + 1..j:                                              if i + 1 < j:
        t[i, j] = max(t[i, j], t[i, k] + t[k + 1, j])       ->          t_0 = t[i, j]
                                                                        for k in i + 1..j:
                                                                            t_0 = max(t_0, t[i, k] + t[k + 1, j])
                                                                        t[i, j] = t_0

A compiler must not do it by itself: for it, t[i, k] may be t[i, j]. The bounds of the loops say that it never is.

Needs: names are bound once; subscripts are not linearized yet; after `register_tiles`.
Keeps: every value, and the order of the operations on each element.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from polysched.codegen.lowered import is_flat, moved, private
from polysched.codegen.memory.surrounded import Surrounded
from polysched.ir.build import binary
from polysched.ir.effects import may_change
from polysched.ir.integers.apart import are_apart
from polysched.ir.node import arrays_of, map_children, walk
from polysched.ir.nodes import Alloc, Expr, For, Function, If, Let, Load, Stmt, Store
from polysched.ir.rename import used_names


def accumulate(fn: Function) -> Function:
    """`fn` with a scalar for each element that an innermost serial loop stores to in all of its iterations."""
    return map_children(fn, _Accumulator(fn).visit)


class _Accumulator(Surrounded):
    def __init__(self, fn: Function):
        super().__init__()
        self.arrays = arrays_of(fn)
        self.taken = used_names(fn)

    def replacing(self, loop: For) -> Any | None:
        """An innermost serial loop with scalars; None if it is none, or has nothing to keep."""
        if loop.kind != "serial" or not is_flat(loop) or may_change(loop.lo, loop.hi):
            return None
        kept = {stmt.array: stmt.index for stmt in loop.body if isinstance(stmt, Store)}
        kept = {name: index for name, index in kept.items() if self.stays(name, index, loop)}
        if not kept:
            return None
        before: list[Stmt] = []
        after: list[Stmt] = []
        for name, index in kept.items():
            scalar = private(name, self.arrays[name].dtype, (), self.taken)
            before += [Alloc(scalar), Store(scalar.name, (), Load(name, index, scalar.dtype))]
            after += [Store(name, index, Load(scalar.name, (), scalar.dtype))]
            loop = replace(loop, body=moved(loop.body, {(name, index): (scalar.name, ())}))
        nonempty = binary("<" if loop.step > 0 else ">", loop.lo, loop.hi)
        return If(nonempty, (*before, loop, *after))

    def stays(self, name: str, index: tuple[Expr, ...], loop: For) -> bool:
        """Is it one element in all of the loop, and are the others that the loop uses different ones?"""
        own = {loop.var, *(stmt.name for stmt in loop.body if isinstance(stmt, Let))}
        changes = any(isinstance(n, Load) or getattr(n, "name", "") in own for n in walk(index))
        if changes or not self.arrays[name].shape:
            return False
        uses = {n.index for stmt in loop.body for n in walk(stmt) if isinstance(n, Load | Store) and n.array == name}
        is_read = any(isinstance(n, Load) and n.array == name and n.index == index for n in walk(loop.body))
        return is_read and all(are_apart(index, use, self.loops, self.facts) for use in uses - {index})
