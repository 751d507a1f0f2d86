"""What a kernel reads of the array that it stores to, but never stores, as a panel of a matrix beside what it updates.

    for i in 64 * K + 64..n (thread.y):
        for j in 64 * K + 64..n (thread.x):             kept: A[i, k], left of all that is stored, for k < j
            for k in 64 * K..64 * K + 64:                     A[k, j], above it
                A[i, j] = A[i, j] - A[i, k] * A[k, j]

Bounds of loops tell: along one dimension, all elements that are read are before, or after, all that are stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from polysched.codegen.gpu.footprint import Box
from polysched.codegen.gpu.thread_nest import ThreadNest
from polysched.ir.effects import may_change
from polysched.ir.integers.apart import are_apart, least_value
from polysched.ir.integers.linear import Linear, added, forms
from polysched.ir.node import substitute, walk
from polysched.ir.nodes import Expr, For, Load, Store, Var


def with_kept(nest: ThreadNest | None, host: Mapping[str, For]) -> ThreadNest | None:
    """The nest, in the `host`'s loops, with the loads of elements that it keeps as they are, if it adds to others."""
    if nest is None or not nest.serial:
        return nest
    array, own = nest.store.array, _own(nest)
    loads = {node for node in walk(_stores(nest)) if isinstance(node, Load) and node.array == array}
    kept = loads - {own}
    is_sum = own in loads and kept and all(_is_kept(load, nest, host) for load in kept)
    return replace(nest, kept=frozenset(kept)) if is_sum else nest


def is_box_kept(box: Box, nest: ThreadNest, host: Mapping[str, For]) -> bool:
    """Does the nest store to no element of a box of its array, wherever this is read?"""
    loops, again = _twice(nest, host)
    index = nest.store.index
    for part, origin, extent in zip(index, box.origin, box.extents, strict=True):
        first: Linear = {atom and substitute(atom, again): factor for atom, factor in origin.items()}
        last = added(first, {None: extent - 1}, 1)
        if may_change(part) or may_change(*(atom for atom in origin if atom is not None)):
            continue
        if any(_is_above(low, last, loops) for low in forms(part, upper=False)):
            return True
        if any(_is_above(first, high, loops) for high in forms(part, upper=True)):
            return True
    return False


def _is_kept(load: Load, nest: ThreadNest, host: Mapping[str, For]) -> bool:
    loops, again = _twice(nest, host)
    own = [each for each in _stores(nest) if each.array == load.array]
    return all(are_apart(substitute(load.index, again), each.index, loops, ()) for each in own)


def _twice(nest: ThreadNest, host: Mapping[str, For]) -> tuple[dict[str, For], dict[str, Expr]]:
    """The loops around a point of the nest and around any other point in the same launch; the names of the latter."""
    own = list(_loops(nest))
    again: dict[str, Expr] = {loop.var: Var(_again(loop.var)) for loop in own}
    others = {_again(loop.var): _bounded(loop, again) for loop in own}
    return {**host, **others, **{loop.var: loop for loop in own}}, again


def _again(name: str) -> str:
    """No name of a loop has such a sign."""
    return f"{name}'"


def _bounded(loop: For, again: dict[str, Expr]) -> For:
    return replace(loop, var=_again(loop.var), lo=substitute(loop.lo, again), hi=substitute(loop.hi, again))


def _loops(nest: ThreadNest) -> Iterator[For]:
    yield from nest.blocks
    yield from (side.loop for side in nest.threads)
    yield from nest.serial
    yield from (side.loop for side in nest.points)


def _stores(nest: ThreadNest) -> tuple[Store, ...]:
    return (*nest.before, nest.store, *nest.after)


def _own(nest: ThreadNest) -> Load:
    return Load(nest.store.array, nest.store.index, nest.store.value.dtype)


def _is_above(high: Linear, low: Linear, loops: dict[str, For]) -> bool:
    least = least_value(added(high, low, -1), loops, ())
    return least is not None and least > 0
