"""Several vectors of partial results for short sums on lanes: each addition waits for the one before, so that four of
them are under way at a time.

    for j in 0..d (vector, reduces s):          if 128 <= d:
        s = s + x[j]                                part: f32[64]
                                                    for k in 0..64 (vector): part[k] = -0.0
                                        ->          for b in 0..d / 64:
                                                        for k in 0..64 (vector): part[k] = part[k] + x[b * 64 + k]
                                                    for k in 0..d % 64 (vector): part[k] = part[k] + x[d / 64 * 64 + k]
                                                    for k in 0..64 (vector, reduces s): s = s + part[k]
                                                else:
                                                    for j in 0..d (vector, reduces s): s = s + x[j]

Not where an iteration takes longer than an addition, as with a call. gcc 12 does so for no sum that is marked as SIMD.

Needs: names are bound once; after `privatize`: what is reduced is scalar variables.
Keeps: which updates each variable gets; the order of those of floats is another one.
"""

from __future__ import annotations

from typing import Any

from polysched.codegen.lowered import is_flat, moved, private
from polysched.codegen.parallel.updates import Update, updates_in
from polysched.config.heuristics.cpu import SUM_OPERATIONS, SUM_TRIPS, SUM_VECTORS
from polysched.ir.build import add, binary, floordiv, mul, sub
from polysched.ir.integers.trips import most_trips
from polysched.ir.node import arrays_of, map_children, substitute, walk
from polysched.ir.nodes import Alloc, Array, Binary, Call, Const, Expr, For, Function, If, Let, Load, Store, Var
from polysched.ir.rename import fresh_names, rename_bound, used_names
from polysched.model.reduction import identity


def several_vectors(fn: Function, *, vector_bytes: int) -> Function:
    """`fn` with four vectors of partial results in place of one in each short loop that reduces on lanes."""
    return map_children(fn, _Lanes(fn, vector_bytes).visit)


class _Lanes:
    def __init__(self, fn: Function, vector_bytes: int):
        self.vector_bytes, self.taken = vector_bytes, used_names(fn)
        self.names = fresh_names("p", self.taken)
        self.arrays = arrays_of(fn)

    def visit(self, node: Any) -> Any:
        if isinstance(node, For) and node.kind == "vector" and node.reduces and not node.width and _is_short(node):
            updates = updates_in(node, self.arrays)
            if updates and all(not u.array.shape and u.array.dtype.is_float for u in updates):
                return self.in_vectors(node, updates)
        return map_children(node, self.visit)

    def in_vectors(self, loop: For, updates: list[Update]) -> If:
        width = Const(SUM_VECTORS * self.vector_bytes * 8 // min(update.array.dtype.bits for update in updates))
        first, block = next(self.names), next(self.names)
        parts = {u.array.name: private(u.array.name, u.array.dtype, (width,), self.taken) for u in updates}
        trips = sub(loop.hi, loop.lo)
        whole = (
            Let(first, add(loop.lo, mul(floordiv(trips, width), width))),
            *(Alloc(part) for part in parts.values()),
            *(self.filled(update, parts[update.array.name], width) for update in updates),
            For(
                block, Const(0), floordiv(trips, width), 1,
                (self.added(loop, parts, add(loop.lo, mul(Var(block), width)), width),),
                loc=loop.loc, origin=loop.origin,
            ),
            self.added(loop, parts, Var(first), sub(loop.hi, Var(first))),
            *(self.combined(update, parts[update.array.name], width) for update in updates),
        )  # fmt: skip
        return If(binary("<=", add(loop.lo, Const(2 * width.value)), loop.hi), whole, (loop,))

    def filled(self, update: Update, part: Array, width: Const) -> For:
        k = next(self.names)
        nothing = Store(part.name, (Var(k),), identity(update.op, part.dtype))
        return For(k, Const(0), width, 1, (nothing,), "vector")

    def added(self, loop: For, parts: dict[str, Array], at: Expr, count: Expr) -> For:
        """So many iterations of the loop, from one on, on a partial result each."""
        lane = next(self.names)
        body = substitute(loop.body, {loop.var: add(at, Var(lane))})
        body = rename_bound(body, lambda name: next(self.names))
        body = moved(body, {(name, ()): (part.name, (Var(lane),)) for name, part in parts.items()})
        return For(lane, Const(0), count, 1, body, "vector", loop.loc, origin=loop.origin)

    def combined(self, update: Update, part: Array, width: Const) -> For:
        k, name, dtype = next(self.names), update.array.name, part.dtype
        value = Binary(update.op, Load(name, (), dtype), Load(part.name, (Var(k),), dtype))
        return For(k, Const(0), width, 1, (Store(name, (), value),), "vector", reduces=(name,))


def _is_short(loop: For) -> bool:
    """Does an iteration take no longer than an addition, of enough of them?"""
    nodes = list(walk(loop.body))
    count = sum(isinstance(node, Binary) and node.dtype.is_float for node in nodes)
    has_calls = any(isinstance(node, Call) for node in nodes)
    most = most_trips(loop.lo, loop.hi, loop.step)
    is_long = most is None or most > SUM_TRIPS
    return loop.step == 1 and is_flat(loop) and not has_calls and count <= SUM_OPERATIONS and is_long
