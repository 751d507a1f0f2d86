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
room. What is made of it element by element, when nobody needs it any more, takes its place, as t does. What one phase
alone uses, and what blocks of one row do, is left to `contract.py`.

Needs: names are bound once; subscripts are not linearized yet.
Keeps: every value; only where a temporary lives changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from polysched.codegen.gpu.thread_nest import block_shape, blocks_of, each_kernel, is_in_phases
from polysched.codegen.lowered import nested
from polysched.codegen.memory.contract import without_lets
from polysched.ir.build import sub
from polysched.ir.integers.linear import Linear, added, constant_of, expression, forms
from polysched.ir.integers.trips import bounded
from polysched.ir.node import children, rewrite, statements, walk
from polysched.ir.nodes import Alloc, Array, Barrier, Const, Expr, For, Function, Load, Store, Var
from polysched.model.extract import extract


def block_arrays(fn: Function, room: int) -> Function:
    """`fn` with as many temporaries of its kernels in so many bytes of a block's shared memory as fit."""
    temporaries = [stmt.array for stmt in fn.body if isinstance(stmt, Alloc) and stmt.array.shape]
    moved: set[str] = set()

    def inside(kernel: For, host: dict[str, For]) -> For:
        if host or not temporaries or not is_in_phases(kernel) or "thread.y" not in block_shape(kernel):
            return kernel
        (plain,) = without_lets(replace(fn, body=(kernel,))).body
        elsewhere = _used(rewrite(fn.body, lambda node: () if node == kernel else None))
        assert isinstance(plain, For)
        own = list(_small([array for array in temporaries if array.name not in elsewhere], plain, room))
        moved.update(each.wide.name for each in own)
        return _declared(kernel, own, plain, fn)

    changed = each_kernel(fn, inside)
    if not moved:
        return fn
    return replace(changed, body=tuple(s for s in changed.body if not (isinstance(s, Alloc) and s.array.name in moved)))


@dataclass(frozen=True)
class _Small:
    """A temporary, and the box of it that a block uses: where it begins, as the block tells, and how long it is."""

    wide: Array
    origin: tuple[Linear, ...]
    extents: tuple[int, ...]

    @property
    def axes(self) -> list[int]:
        """The dimensions along which the box has more than one element."""
        return [k for k, extent in enumerate(self.extents) if extent > 1]

    @property
    def array(self) -> Array:
        return replace(self.wide, shape=tuple(Const(self.extents[k]) for k in self.axes), space="shared")

    @property
    def bytes(self) -> int:
        return prod(self.extents) * self.wide.dtype.bits // 8

    def element(self, index: Sequence[Expr]) -> tuple[Expr, ...]:
        """The subscript in the box."""
        lows = [(k, expression(self.origin[k])) for k in self.axes]
        return tuple(index[k] if low == Const(0) else sub(index[k], low) for k, low in lows)


def _used(node: Any) -> set[str]:
    return {each.array for each in walk(node) if isinstance(each, Load | Store)}


def _small(arrays: Sequence[Array], kernel: For, room: int) -> Iterator[_Small]:
    """Those that fit, the smallest first."""
    found = (_of(array, kernel) for array in arrays)
    for each in sorted((each for each in found if each is not None), key=lambda each: each.bytes):
        if each.bytes <= room:
            room -= each.bytes
            yield each


def _of(array: Array, kernel: For) -> _Small | None:
    """The box that a block uses; None if it has no constant shape, or blocks may share elements."""
    blocks = blocks_of(kernel)
    boxes = [_box(use, loops) for use, loops in _uses(blocks[-1].body, array.name, {})]
    if sum(array.name in _used(stmt) for stmt in blocks[-1].body) < 2 or None in boxes:
        return None
    origin, extents = list[Linear](), list[int]()
    for sides in zip(*(box for box in boxes if box is not None), strict=True):
        first = sides[0][0]
        starts = [constant_of(added(start, first, -1)) for start, _ in sides]
        known = [start for start in starts if start is not None]
        if len(known) < len(starts):
            return None
        low = min(known)
        origin.append(added(first, {None: low}, 1))
        extents.append(max(start + length for start, (_, length) in zip(known, sides, strict=True)) - low)
    are_apart = all(any(_tells(each.var, *side) for side in zip(origin, extents, strict=True)) for each in blocks)
    return _Small(array, tuple(origin), tuple(extents)) if are_apart else None


def _tells(block: str, start: Linear, extent: int) -> bool:
    """Does each value of the variable, and nothing else, lead to a stretch of its own?"""
    moving = {atom: factor for atom, factor in start.items() if atom is not None and factor}
    return [*moving] == [Var(block)] and abs(moving[Var(block)]) >= extent


def _uses(node: Any, name: str, loops: dict[str, For]) -> Iterator[tuple[tuple[Expr, ...], dict[str, For]]]:
    """The subscripts with which the array is used, and the loops around each."""
    if isinstance(node, tuple):
        for each in node:
            yield from _uses(each, name, loops)
        return
    if isinstance(node, Load | Store) and node.array == name:
        yield node.index, loops
    inner = {**loops, node.var: node} if isinstance(node, For) else loops
    for child in children(node):
        yield from _uses(child, name, inner)


def _box(index: Sequence[Expr], loops: dict[str, For]) -> list[tuple[Linear, int]] | None:
    """Where the subscripts begin, and how long the stretches are in which they stay, whatever these loops do; None if
    that is not known."""
    found = []
    for part in index:
        low, high = (bounded(part, loops, upper) for upper in (False, True))
        if low is None or high is None:
            return None
        spans = [
            (span + 1, start)
            for start in forms(low, upper=False)
            for end in forms(high, upper=True)
            if (span := constant_of(added(end, start, -1))) is not None and span >= 0
        ]
        if not spans:
            return None
        length, start = min(spans, key=lambda each: each[0])
        found.append((start, length))
    return found


def _declared(kernel: For, own: Sequence[_Small], plain: For, fn: Function) -> For:
    """The kernel with the arrays declared in its blocks, some in the place of others."""
    if not own:
        return kernel
    names: dict[str, str] = {}
    for each in own:
        free = (o for o in own if o is not each and o.wide.name not in (*names, *names.values()))
        place = next((other for other in free if _takes_place(each, other, plain, fn)), None)
        if place is not None and each.wide.name not in names.values():
            names[each.wide.name] = place.wide.name
    small = {each.wide.name: each for each in own}

    def rule(node: Any) -> Any:
        if not isinstance(node, Load | Store) or node.array not in small:
            return None
        index = small[node.array].element(node.index)
        return replace(node, array=names.get(node.array, node.array), index=index)

    blocks = blocks_of(kernel)
    inside = rewrite(blocks[-1].body, rule)
    before = () if isinstance(inside[0], Barrier) else (Barrier(),)  # until nobody uses what they held before
    allocs = [Alloc(each.array) for each in own if each.wide.name not in names]
    return nested(blocks, (*allocs, *before, *inside))


def _takes_place(one: _Small, other: _Small, kernel: For, fn: Function) -> bool:
    """Is each element of the first made once, of no element of the other but the same, which is used before alone?"""
    name, gone = one.wide.name, other.wide.name
    alike = [(each.wide.dtype, each.origin, each.extents) for each in (one, other)]
    blocks = blocks_of(kernel)
    users, last = ([k for k, each in enumerate(blocks[-1].body) if array in _used(each)] for array in (name, gone))
    if alike[0] != alike[1] or not users or not last or users[0] != last[-1] or last[0] == last[-1]:
        return False
    if not any(isinstance(each, Barrier) for each in blocks[-1].body[last[-2] : users[0]]):
        return False
    phase = blocks[-1].body[users[0]]
    makers = [node for node in statements(phase) if isinstance(node, Store) and node.array == name]
    reads = [node for node in walk(phase) if isinstance(node, Load | Store) and node.array == gone]
    stores = [node for node in statements(kernel) if isinstance(node, Store) and node.array == name]
    if len(makers) != 1 or stores != makers:
        return False
    if len([node for node in walk(makers[0].value) if isinstance(node, Load) and node.array == gone]) < len(reads):
        return False  # others read it, too
    if any(node.index != makers[0].index for node in reads):
        return False
    temporaries = (stmt for stmt in fn.body if isinstance(stmt, Alloc))
    scop = extract(replace(fn, body=(*temporaries, nested(blocks, (phase,)))), check_bounds=False)
    each = ((s.domain, write) for s in scop.statements for write in s.writes if write.array == name)
    made = [write.relation.intersect_domain(domain) for domain, write in each]
    return all(bool(relation.is_injective()) for relation in made)
