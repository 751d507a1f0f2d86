"""Scalar replacement: an element that an innermost loop updates again and again stays in a register meanwhile
(Callahan, Carr and Kennedy, PLDI 1990).

    for k in i + 1..j:                                              if i + 1 < j:
        t[i, j] = max(t[i, j], t[i, k] + t[k + 1, j])       ->          t_0 = t[i, j]
                                                                        for k in i + 1..j:
                                                                            t_0 = max(t_0, t[i, k] + t[k + 1, j])
                                                                        t[i, j] = t_0

A compiler must not do it by itself: for it, t[i, k] may be t[i, j]. The bounds of the loops say that it never is.
On GPUs, an element stays in its register for all of the loops directly around each other that leave it in place.

Needs: names are bound once; subscripts are not linearized yet; after `register_tiles`.
Keeps: every value, and the order of the operations on each element.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from polysched.codegen.lowered import around, chain, is_flat, moved, private
from polysched.codegen.memory.full_part import Elements
from polysched.codegen.memory.runs_when import runs_when
from polysched.codegen.memory.surrounded import Surrounded
from polysched.ir.build import binary, conjunction
from polysched.ir.effects import may_change
from polysched.ir.integers.apart import are_apart
from polysched.ir.node import arrays_of, map_children, walk
from polysched.ir.nodes import Alloc, Expr, For, Function, If, Let, Load, Stmt, Store
from polysched.ir.rename import used_names


def accumulate(fn: Function, *, nested: bool = False) -> Function:
    """`fn` with a scalar for each element that an innermost serial loop stores to in all of its iterations; or several
    that are `nested`, where none but these loops are in each other."""
    return map_children(fn, _Accumulator(fn, nested).visit)


class _Accumulator(Surrounded):
    def __init__(self, fn: Function, nested: bool):
        super().__init__()
        self.arrays = arrays_of(fn)
        self.taken = used_names(fn)
        self.nested = nested

    def replacing(self, loop: For) -> Any | None:
        """Serial loops around each other, with scalars; None if they are none, or have nothing to keep."""
        loops = chain((loop,)) if self.nested else [loop]
        inner = loops[-1]
        is_serial = all(each.kind == "serial" and not may_change(each.lo, each.hi) for each in loops)
        runs = runs_when(loops) if inner is not loop else [binary("<" if loop.step > 0 else ">", loop.lo, loop.hi)]
        if runs is None or not is_serial or not is_flat(inner):
            return None
        self.loops |= {each.var: each for each in loops}
        kept, least = self.kept(loops), self.kept([inner])
        for each in loops[1:]:
            del self.loops[each.var]
        return self.in_scalars(loops, kept, runs) if kept and kept == least else None

    def kept(self, loops: Sequence[For]) -> Elements:
        """The elements that stay for all of these loops."""
        stored = {stmt.array: stmt.index for stmt in loops[-1].body if isinstance(stmt, Store)}
        return {name: index for name, index in stored.items() if self.stays(name, index, loops)}

    def in_scalars(self, loops: Sequence[For], kept: Elements, runs: list[Expr]) -> Stmt:
        before: list[Stmt] = []
        after: list[Stmt] = []
        body = loops[-1].body
        for name, index in kept.items():
            scalar = private(name, self.arrays[name].dtype, (), self.taken)
            before += [Alloc(scalar), Store(scalar.name, (), Load(name, index, scalar.dtype))]
            after += [Store(name, index, Load(scalar.name, (), scalar.dtype))]
            body = moved(body, {(name, index): (scalar.name, ())})
        return If(conjunction(runs), (*before, *around(loops, body), *after))

    def stays(self, name: str, index: tuple[Expr, ...], loops: Sequence[For]) -> bool:
        """Is it one element in all of the loops, and are the others that these use different ones?"""
        body = loops[-1].body
        own = {*(loop.var for loop in loops), *(stmt.name for stmt in body if isinstance(stmt, Let))}
        changes = any(isinstance(n, Load) or getattr(n, "name", "") in own for n in walk(index))
        if changes or not self.arrays[name].shape:
            return False
        uses = {n.index for stmt in body for n in walk(stmt) if isinstance(n, Load | Store) and n.array == name}
        is_read = any(isinstance(n, Load) and n.array == name and n.index == index for n in walk(body))
        return is_read and all(are_apart(index, use, self.loops, self.facts) for use in uses - {index})
