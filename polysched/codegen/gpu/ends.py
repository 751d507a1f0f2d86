"""What a kernel does at each of its points before and after its sums, while a register has the element.

    C[i, j] = 0                             acc = 0
    for k: C[i, j] += ..          ->        ..
    C[i, j] = max(C[i, j], b[j])            if the point is in the domain: C[i, j] = max(acc, b[j])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from polysched.codegen.gpu.thread_nest import ThreadNest
from polysched.codegen.lowered import moved
from polysched.ir.build import conjunction, where, zero
from polysched.ir.effects import is_total
from polysched.ir.node import walk
from polysched.ir.nodes import Expr, Load, Select, Stmt, Store


@dataclass(frozen=True)
class Ends:
    """Of one point, whose element is `register`."""

    nest: ThreadNest
    register: Load

    def begin(self, conditions: Sequence[Expr]) -> tuple[Stmt, ...]:
        """What runs before the sum at a point that is in the domain under these conditions; zero where it is not."""
        store, before, dtype = self.nest.store, self.nest.before, self.register.dtype
        first: Expr = Load(store.array, store.index, dtype)
        if before and (before[0].array, before[0].index) == (store.array, store.index):
            first, before = before[0].value, before[1:]
        if conditions and not is_total(first):
            first = Select(conjunction(conditions), first, zero(dtype))
        begin = Store(self.register.array, self.register.index, first, store.loc)
        return (begin, *where(conditions, *self.in_register(before))) if before else (begin,)

    def end(self, conditions: Sequence[Expr]) -> tuple[Stmt, ...]:
        """What runs after it: the element is stored there."""
        store, after = self.nest.store, self.in_register(self.nest.after)
        last = max((k for k, each in enumerate(after) if each.array == self.register.array), default=None)
        if last is not None and not any(node == self.register for node in walk(after[last + 1 :])):
            own = replace(after[last], array=store.array, index=store.index)
            return where(conditions, *after[:last], own, *after[last + 1 :])
        place = 0 if last is None else last + 1
        own = Store(store.array, store.index, self.register, store.loc)
        return where(conditions, *after[:place], own, *after[place:])

    def in_register(self, stores: tuple[Store, ...]) -> tuple[Store, ...]:
        """The stores with the register in place of the element."""
        own, register = self.nest.store, self.register
        return moved(stores, {(own.array, own.index): (register.array, register.index)})
