"""Private accumulators for the loops that reduce: partial results of threads, variables for SIMD lanes.

    for i in 0..n (parallel if w, reduces s):      if w:
        s[0] = s[0] + a[i]                             part: f64[32]
                                                       for b in 0..32 (parallel):
                                                           acc: f64
                                              ->           acc = -0.0
                                                           for i in <part b of 0..n> (vector, reduces acc):
                                                               acc = acc + a[i]
                                                           part[b] = acc
                                                       for b in 0..32:
                                                           s[0] = s[0] + part[b]
                                                   else:
                                                       for i in 0..n: s[0] = s[0] + a[i]

The iterations are cut in as many parts whatever the number of threads, and the parts are combined in their order: so
is the result the same for any number of threads. Where the loop updates a row of elements, each part has the row.
A loop whose updates do not fit this runs serially.

Needs: names are bound once; subscripts are not linearized yet; steps are positive.
Keeps: which updates each element gets; the order of those of floats is another one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from polysched.codegen.lowered import Element, is_flat, private
from polysched.codegen.parallel.declined import serial
from polysched.codegen.parallel.updates import Row, Update, in_variables, updates_in
from polysched.config.heuristics.cpu import LEAST_PARTED, PARTS
from polysched.ir.build import add, binary, conjunction, floordiv, mul, sub, where
from polysched.ir.integers.trips import trips
from polysched.ir.node import arrays_of, map_children, rewrite, statements
from polysched.ir.nodes import PARALLEL, Alloc, Array, Binary, Const, For, Function, If, Let, Load, Stmt, Store, Var
from polysched.ir.rename import fresh_names, rename_bound, used_names
from polysched.model.reduction import identity


def privatize(fn: Function, *, vector: bool = True) -> Function:
    """`fn` without parallel loops that reduce, and with SIMD loops that reduce scalar variables alone.

    `vector`: the loop over a part becomes SIMD where it is an innermost one.
    """
    if not any(isinstance(node, For) and node.reduces for node in statements(fn.body)):
        return fn
    return map_children(fn, _Privatizer(fn, vector).visit)


class _Privatizer:
    def __init__(self, fn: Function, vector: bool):
        self.vector = vector
        self.taken = used_names(fn)
        self.names = fresh_names("p", self.taken)
        self.arrays = arrays_of(fn)

    def visit(self, node: Any) -> Any:
        if isinstance(node, For) and node.reduces:
            updates = updates_in(node, self.arrays)
            if updates is not None and node.kind in PARALLEL:
                return self.on_threads(node, updates)
            if updates is not None and node.kind == "vector" and not any(update.row for update in updates):
                return self.on_lanes(node, updates)
            return self.visit(serial(node, "its body is more than sums of which parts can be made"))
        return map_children(node, self.visit)

    def on_lanes(self, loop: For, updates: list[Update]) -> tuple[Stmt, ...]:
        """The loop on scalar variables, which take the elements of arrays meanwhile."""
        moved = [update for update in updates if update.array.shape or update.array.space == "global"]
        names: dict[str, str] = {}
        before: list[Stmt] = []
        after: list[Stmt] = []
        for update in moved:
            array, dtype = update.array.name, update.array.dtype
            variable = private(array, dtype, (), self.taken)
            names[array] = variable.name
            before += [Alloc(variable), Store(variable.name, (), Load(array, update.index, dtype))]
            after += [Store(array, update.index, Load(variable.name, (), dtype))]
        reduced = tuple(names.get(update.array.name, update.array.name) for update in updates)
        lanes = replace(loop, body=in_variables(loop.body, names), reduces=reduced)
        return (If(binary("<", loop.lo, loop.hi), (*before, lanes, *after)),) if moved else (lanes,)

    def on_threads(self, loop: For, updates: list[Update]) -> tuple[Stmt, ...]:
        """The loop in parts, where it is worth its threads, or as it was."""
        count, size, part = trips(loop), next(self.names), next(self.names)
        partial = {update.array.name: self.partial(update) for update in updates}
        inside = self.part(loop, updates, partial, part, size)
        parts = For(part, Const(0), Const(PARTS), 1, inside, loop.kind, loop.loc, origin=loop.origin)
        combined = tuple(stmt for update in updates for stmt in self.combined(update, partial[update.array.name]))
        in_parts = (
            *(Alloc(array) for array in partial.values()),
            Let(size, mul(floordiv(add(count, PARTS - 1), PARTS), loop.step)),
            parts,
            *combined,
        )
        conditions = [*loop.when]
        if any(update.row for update in updates):
            conditions.append(binary(">=", count, LEAST_PARTED))
        if not conditions:
            return in_parts
        (copy,) = rename_bound((loop,), lambda name: next(self.names))
        self.arrays |= {node.array.name: node.array for node in statements(copy) if isinstance(node, Alloc)}
        lanes = self.vector and is_flat(copy)
        kind, reduces = ("vector", copy.reduces) if lanes else ("serial", ())
        alone = self.visit(replace(copy, kind=kind, reduces=reduces, when=()))
        return (If(conjunction(conditions), in_parts, alone if isinstance(alone, tuple) else (alone,)),)

    def partial(self, update: Update) -> Array:
        """One accumulator for each part."""
        extents = () if update.row is None else (update.row.extent,)
        return private(update.array.name, update.array.dtype, (Const(PARTS), *extents), self.taken)

    def part(
        self, loop: For, updates: list[Update], partial: Mapping[str, Array], part: str, size: str
    ) -> tuple[Stmt, ...]:
        """The iterations of one part, with accumulators that begin with nothing."""
        before: list[Stmt] = []
        after: list[Stmt] = []
        moves: dict[str, Element] = {}
        rows: dict[str, Row] = {}
        for update in updates:
            array, dtype = partial[update.array.name], update.array.dtype
            nothing = identity(update.op, dtype)
            if update.row is None:
                variable = private(update.array.name, dtype, (), self.taken)
                before += [Alloc(variable), Store(variable.name, (), nothing)]
                after.append(Store(array.name, (Var(part),), Load(variable.name, (), dtype)))
                moves[update.array.name] = variable.name, ()
            else:
                k = next(self.names)
                zero = Store(array.name, (Var(part), Var(k)), nothing)
                before.append(For(k, Const(0), update.row.extent, 1, (zero,)))
                moves[update.array.name] = array.name, (Var(part),)
                rows[update.array.name] = update.row
        first = add(loop.lo, mul(Var(part), Var(size)))
        iterations = replace(loop, lo=first, hi=binary("min", loop.hi, add(first, Var(size))), when=())
        inner = rewrite(iterations, _moves(moves, rows))
        self.arrays |= {stmt.array.name: stmt.array for stmt in before if isinstance(stmt, Alloc)}
        self.arrays |= {array.name: array for array in partial.values()}
        kind = "vector" if self.vector and is_flat(inner) and not rows else "serial"
        done = self.visit(replace(inner, kind=kind, reduces=inner.reduces if kind == "vector" else ()))
        return (*before, *(done if isinstance(done, tuple) else (done,)), *after)

    def combined(self, update: Update, partial: Array) -> tuple[Stmt, ...]:
        """Adds the parts to the elements, first part first."""
        part, k, dtype = next(self.names), next(self.names), update.array.dtype
        target = update.element(Var(k))
        at = (Var(part),) if update.row is None else (Var(part), Var(k))
        old, more = Load(update.array.name, target, dtype), Load(partial.name, at, dtype)
        body: Stmt = Store(update.array.name, target, Binary(update.op, old, more))
        if update.row is not None:
            body = For(k, Const(0), update.row.extent, 1, (body,), "vector" if self.vector else "serial")
        whole = For(part, Const(0), Const(PARTS), 1, (body,))
        return where(update.bounds(), whole)


def _moves(elements: Mapping[str, Element], rows: Mapping[str, Row]) -> Any:
    """The rule that puts other elements in place of those of some arrays."""

    def rule(node: Any) -> Any:
        match node:
            case Load(array=name) | Store(array=name) if name in elements:
                array, index = elements[name]
                if name in rows:
                    index = (*index, sub(node.index[rows[name].axis], rows[name].low))
                return replace(node, array=array, index=index)
            case For(reduces=names) if names:
                return replace(node, reduces=tuple(elements[n][0] if n in elements else n for n in names))
        return None

    return rule
