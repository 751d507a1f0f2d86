"""Branches that overwrite several elements which the same iteration stored before: gcc 12 may store these last.

    for i in 0..n:                                      for (...) {
        for k in 0..5:                                      for (...) { q[i * 5 + k] = 0.0; }
            q[i * 5 + k] = 0.0                              if (i > 0) {
        if i > 0:                              ->               __asm__ volatile ("");
            for k in 0..5:                                      for (...) { q[i * 5 + k] = a[i * 5 + k]; }
                q[i * 5 + k] = a[i * 5 + k]

With -O3 and masked stores in the processor, gcc unrolls the short loops, makes a masked store of the branch, and runs
several iterations as vectors, in which groups of stores to neighbors change places. A loop of at most one iteration is
such a branch, too. One with an asm statement in it stays a branch; the statement itself does nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from polysched.config.heuristics.code import UNROLLED_BY_GCC
from polysched.ir.integers.trips import most_trips
from polysched.ir.node import statements
from polysched.ir.nodes import Const, For, If, Stmt, Store


def overwriting(body: tuple[Stmt, ...]) -> frozenset[int]:
    """The id() of each If and For that runs at times and overwrites what the iteration around it has stored."""
    loops = (node for node in statements(body) if isinstance(node, For))
    return frozenset(id(stmt) for loop in loops if _is_innermost(loop) for stmt in _branches(loop.body, set()))


def _is_innermost(loop: For) -> bool:
    """Is it, once gcc has unrolled what is in it?"""
    inner = (node for node in statements(loop.body) if isinstance(node, For))
    return all(map(is_unrolled, inner))


def _branches(block: tuple[Stmt, ...], stored: set[str]) -> Iterator[If | For]:
    """Those in the block, before which the arrays in `stored` were stored; which the block's are added to."""
    for stmt in block:
        match stmt:
            case Store(array=array):
                stored.add(array)
            case If(then=then, other=other):
                if not stored.isdisjoint([*_of_several(then), *_of_several(other)]):
                    yield stmt
                yield from _branches(then, stored)
                yield from _branches(other, stored)
            case For(lo=lo, hi=hi, body=body):
                is_branch = _trips(stmt) == 1 and not (isinstance(lo, Const) and isinstance(hi, Const))
                if is_branch and not stored.isdisjoint(_of_several(body)):
                    yield stmt
                yield from _branches(body, stored)


def _of_several(block: tuple[Stmt, ...]) -> list[str]:
    """The arrays of which more than one element may be stored."""
    stores = [node.array for node in statements(block) if isinstance(node, Store)]
    loops = tuple(node for node in statements(block) if isinstance(node, For))
    looped = {node.array for node in statements(loops) if isinstance(node, Store)}
    return [array for array in stores if stores.count(array) > 1 or array in looped]


def is_unrolled(loop: For) -> bool:
    """Does it run so few times that gcc may take it apart?"""
    trips = _trips(loop)
    return trips is not None and trips <= UNROLLED_BY_GCC


def _trips(loop: For) -> int | None:
    return most_trips(loop.lo, loop.hi, loop.step)
