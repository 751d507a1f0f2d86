"""Finds the loops that run sums of products, and has them run as products of packed matrices, or as dot products.

    for f, y, x: out[f, y, x] = 0
    for f, y, x: for c, r, s: out[f, y, x] += data[c, y + r, x + s] * weight[f, c, r, s]        (kind "packed")

Sums that begin with a constant, which a loop before has stored, are not loaded, and the loop goes. So do the loops
behind that change each sum, as for a bias, or store what they make of it elsewhere, as bytes: it is stored as they
leave it, or, if nothing else reads it, not at all, and its array goes, too.

Needs: loops of the kinds "packed" and "dots", as the mark `Product` gives, with constant bounds around one store; names
are bound once; subscripts are not linearized yet.
Keeps: every bit, but where sums are dot products, which have their terms in another order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from polysched.codegen.products.dots import dots
from polysched.codegen.products.packed import packed
from polysched.config.machine import Machine
from polysched.ir.node import map_children, rewrite, statements, walk
from polysched.ir.nodes import Alloc, Const, Expr, For, Function, Load, Stmt, Store, Var
from polysched.ir.rename import fresh_names, used_names
from polysched.ir.simplify import simplify
from polysched.transform.analysis.epilogues import epilogue
from polysched.transform.analysis.products import SumOfProducts, sum_of_products

_KINDS = {"packed": packed, "dots": dots}


def has_products(fn: Function) -> bool:
    """Are there such loops?"""
    return any(isinstance(node, For) and node.kind in _KINDS for node in statements(fn.body))


def pack_products(fn: Function, machine: Machine, *, parallel: bool = True) -> Function:
    """`fn` with each loop of the kinds "packed" and "dots" run by tiles, in registers; on threads if `parallel`."""
    if not has_products(fn):
        return fn
    packing = _Packing(fn, machine if parallel else replace(machine, cores=1))
    body, gone = packing.block(fn.body), packing.gone
    return replace(fn, body=rewrite(body, lambda n: () if isinstance(n, Alloc) and n.array.name in gone else None))


class _Packing:
    def __init__(self, fn: Function, machine: Machine):
        self.machine = machine
        self.names = fresh_names("q", used_names(fn))
        self.local = {node.array.name: node.array for node in statements(fn.body) if isinstance(node, Alloc)}
        self.extents = {array.name: array.shape for array in (*fn.arrays, *self.local.values())}
        self.uses = _uses(fn.body)
        self.gone: set[str] = set()  # arrays that nothing uses any more

    def block(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        out: list[Stmt] = []
        ahead = list(body)
        while ahead:
            stmt = ahead.pop(0)
            if isinstance(stmt, For) and stmt.kind in _KINDS:
                out += self.product(stmt, out, ahead)
            else:
                out.append(map_children(stmt, self.inside))
        return tuple(out)

    def inside(self, node: Any) -> Any:
        return self.block((node,)) if isinstance(node, Stmt) else node

    def product(self, loop: For, before: list[Stmt], ahead: list[Stmt]) -> tuple[Stmt, ...]:
        """What runs in place of the loop, and of those before and ahead that go with it, which are taken from these."""
        found = sum_of_products(*_nest(loop))
        assert found is not None, f"the loop {loop.var} runs no sum of products"
        taken: list[Stmt] = [loop]
        start = _constant(before[-1], found) if before else None
        if start is not None:
            taken.append(before.pop())
            found = replace(found, start=start)
        while ahead and isinstance(ahead[0], For) and (ends := epilogue(found, *_nest(ahead[0]), self.extents)):
            taken.append(ahead.pop(0))
            found = replace(found, ends=(*found.ends, *ends))
        result = found.store.array
        is_read = result not in self.local or _uses(tuple(taken))[result] < self.uses[result]
        if start is not None and not is_read and any(end.array != result for end in found.ends):
            found = replace(found, is_stored=False)
            self.gone.add(result)
        origins = {node.var: node.origin for node in statements(loop) if isinstance(node, For)}

        def of_batch(node: Any) -> For | None:
            return replace(node, origin=origins[node.var]) if isinstance(node, For) and node.var in origins else None

        return rewrite(_KINDS[loop.kind](found, self.names, self.extents, self.machine), of_batch)


def _uses(body: tuple[Stmt, ...]) -> Counter[str]:
    """How many loads and stores of each array there are."""
    return Counter(node.array for node in walk(body) if isinstance(node, Load | Store))


def _nest(loop: For) -> tuple[dict[str, int], tuple[Stmt, ...]]:
    """The extents of the loops from 0, and what they are around."""
    loops: dict[str, int] = {}
    body: tuple[Stmt, ...] = (loop,)
    while len(body) == 1 and isinstance(body[0], For):
        inner = body[0]
        match simplify(inner.lo), simplify(inner.hi), inner.step:
            case Const(0), Const(int(extent)), 1:
                loops[inner.var], body = extent, inner.body
            case _:
                break
    return loops, body


def _constant(stmt: Stmt, found: SumOfProducts) -> Const | None:
    """What `stmt` stores to each element of the sums, and to no other; None if it does not."""
    if not isinstance(stmt, For):
        return None
    loops, body = _nest(stmt)
    extents = {**found.batch.extents, **found.rows.extents, **found.columns.extents}
    match body:
        case (Store(found.store.array, index, Const() as value),):
            has_each_once = sorted(part.name for part in index if isinstance(part, Var)) == sorted(loops)
            is_all = _ranges(index, loops) == _ranges(found.store.index, extents)
            return value if has_each_once and is_all else None
    return None


def _ranges(index: tuple[Expr, ...], extents: Mapping[str, int]) -> list[int | Expr | None]:
    """From where to where the subscripts go: extents, or the subscripts that stay."""
    return [extents.get(part.name) if isinstance(part, Var) else part for part in index]
