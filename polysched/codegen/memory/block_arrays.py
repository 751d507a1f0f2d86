"""Shared memory for temporaries that the phases of a kernel hand each other, block by block.

    s: f32[n, 128]                                     for b in 0..(n + 31) / 32 (block.x):
    for b in 0..(n + 31) / 32 (block.x):                   s: f32[32, 128] (shared)
        for i in 32 * b..32 * b + 32 (thread.y):           barrier
            s[i, j] = ..                       ->          for i in 32 * b..32 * b + 32 (thread.y):
        barrier                                                s[i - 32 * b, j] = ..
        for i in 32 * b..32 * b + 32 (thread.y):           barrier
            t[i, j] = exp(s[i, j] - m[i])                  for i in 32 * b..32 * b + 32 (thread.y):
        ..                                                     s[i - 32 * b, j] = exp(s[i - 32 * b, j] - m[i - 32 * b])

An array of which a block alone uses a box of constant shape becomes that box, the smallest first, as long as there is
room. What is made of it element by element, when nobody needs it any more, takes its place, as t does.

Needs: names are bound once; subscripts are not linearized yet.
Keeps: every value; only where a temporary lives changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

from polysched.codegen.gpu.thread_nest import blocks_of, each_kernel, is_in_phases
from polysched.codegen.lowered import around, elements
from polysched.codegen.memory.contract import iterations, without_lets
from polysched.ir.build import sub
from polysched.ir.node import rewrite, substitute, walk
from polysched.ir.nodes import Alloc, Array, Barrier, Const, Expr, For, Function, Load, Stmt, Store, Var
from polysched.model.affine import element_names, value_at
from polysched.model.extract import extract
from polysched.model.scop import Scop
from polysched.support import isl
from polysched.transform.edits.values.copies import Box, box


def block_arrays(fn: Function, room: int) -> Function:
    """`fn` with as many temporaries of its kernels in so many bytes of a block's shared memory as fit."""
    temporaries = [stmt.array for stmt in fn.body if isinstance(stmt, Alloc) and stmt.array.shape]
    kernels: list[For] = []
    each_kernel(fn, lambda kernel, _: kernels.append(kernel) or kernel)
    if not temporaries or not any(map(is_in_phases, kernels)):
        return fn
    scop = extract(without_lets(fn), check_bounds=False)
    moved: set[str] = set()

    def inside(kernel: For, _: dict[str, For]) -> For:
        if not is_in_phases(kernel):
            return kernel
        own = list(_small(_own(kernel, temporaries, kernels), kernel, scop, room))
        moved.update(each.wide.name for each in own)
        return _declared(kernel, own, scop)

    changed = each_kernel(fn, inside)
    return replace(changed, body=tuple(s for s in changed.body if not (isinstance(s, Alloc) and s.array.name in moved)))


@dataclass(frozen=True)
class _Small:
    """A temporary, and the box of it that a block uses."""

    wide: Array
    box: Box
    blocks: tuple[str, ...]  # the variables of loops over blocks

    @property
    def array(self) -> Array:
        return replace(self.wide, shape=self.box.shape, space="shared")

    @property
    def bytes(self) -> int:
        return elements(self.array) * self.wide.dtype.bits // 8

    @property
    def corner(self) -> tuple[Expr, ...]:
        """Where it begins, along each of its dimensions."""
        names = dict(zip(element_names(len(self.blocks)), map(Var, self.blocks), strict=True))
        return tuple(substitute(value_at(low, tuple(names)), names) for low in self.box.corner)

    def element(self, index: Sequence[Expr]) -> tuple[Expr, ...]:
        parts = zip(self.box.axes, self.corner, strict=True)
        return tuple(index[axis] if low == Const(0) else sub(index[axis], low) for axis, low in parts)


def _own(kernel: For, temporaries: Sequence[Array], kernels: Sequence[For]) -> Iterator[Array]:
    """The temporaries that no other kernel uses."""
    others = {array for each in kernels if each is not kernel for array in _used(each)}
    return (array for array in temporaries if array.name in _used(kernel) - others)


def _used(node: Any) -> set[str]:
    return {each.array for each in walk(node) if isinstance(each, Load | Store)}


def _small(arrays: Iterator[Array], kernel: For, scop: Scop, room: int) -> Iterator[_Small]:
    """Those that fit, the smallest first."""
    blocks = tuple(loop.var for loop in blocks_of(kernel))
    found = (_of(array, blocks, scop) for array in arrays)
    for each in sorted((each for each in found if each is not None), key=lambda each: each.bytes):
        if each.bytes <= room:
            room -= each.bytes
            yield each


def _of(array: Array, blocks: tuple[str, ...], scop: Scop) -> _Small | None:
    """Its part that a block uses, of constant shape; None if blocks share elements, or it has no such shape."""
    uses = [iterations(scop, array.name, var) for var in blocks]
    if any(use is None or not use.is_single_valued() for use in uses):
        return None
    used = reduce(isl.UnionMap.flat_range_product, (use for use in uses if use is not None))
    (of_blocks,) = isl.maps_of(used.reverse())
    small = box(of_blocks, scop.context)
    return _Small(array, small, blocks) if all(isinstance(extent, Const) for extent in small.shape) else None


def _declared(kernel: For, own: Sequence[_Small], scop: Scop) -> For:
    """The kernel with the arrays declared in its blocks, some in the place of others."""
    if not own:
        return kernel
    body = blocks_of(kernel)[-1].body
    names: dict[str, str] = {}
    for each in own:
        if each.wide.name not in names.values():
            free = (o for o in own if o.wide.name not in (*names, *names.values()) and o is not each)
            place = next((other for other in free if _takes_place(each, other, body, scop)), None)
            names |= {each.wide.name: place.wide.name} if place else {}
    small = {each.wide.name: each for each in own}

    def rule(node: Any) -> Any:
        if not isinstance(node, Load | Store) or node.array not in small:
            return None
        index = small[node.array].element(node.index)
        return replace(node, array=names.get(node.array, node.array), index=index)

    inside = rewrite(body, rule)
    before = () if isinstance(inside[0], Barrier) else (Barrier(),)  # until nobody uses what they held before
    allocs = [Alloc(each.array) for each in own if each.wide.name not in names]
    (whole,) = around(blocks_of(kernel), (*allocs, *before, *inside))
    assert isinstance(whole, For)
    return whole


def _takes_place(one: _Small, other: _Small, body: Sequence[Stmt], scop: Scop) -> bool:
    """Is each element of the first made once, of no element of the other but the same, which is used before alone?"""
    name, gone = one.wide.name, other.wide.name
    if (one.array.dtype, one.box.shape, one.corner) != (other.array.dtype, other.box.shape, other.corner):
        return False
    makers = [s for s in scop.statements if any(write.array == name for write in s.writes)]
    users = [k for k, stmt in enumerate(body) if name in _used(stmt)]
    last = [k for k, stmt in enumerate(body) if gone in _used(stmt)]
    if len(makers) != 1 or not users or not last or users[0] != last[-1]:
        return False
    (maker,) = makers
    beside = [s for s in scop.statements if s is not maker and gone in {each.array for each in s.accesses}]
    within = sum(isinstance(node, Load | Store) and node.array == gone for node in walk(body[users[0]]))
    reads = [read for read in maker.reads if read.array == gone]
    written = maker.writes[0].relation
    alike = all(read.relation.set_tuple_name(isl.dim_type.out, name).is_equal(written) for read in reads)
    return bool(reads and beside) and within == len(reads) and alike and bool(written.is_injective())
