"""Barriers in kernels: the threads of a block wait where one needs what another has done in an earlier phase.

    mark: map:block.x                          mark: map:block.x
      band: i_o                                  band: i_o
        sequence                       ->          sequence
          filter: S                                  filter: S
            mark: map:thread.x  band: i                mark: map:thread.x  band: i
          filter: T                                  filter: T
            mark: map:thread.x  band: i                mark: wait
                                                         mark: map:thread.x  band: i

A wait is at the beginning of a child of a sequence, or of each iteration of a serial loop, which need what other
threads have done before; and where a block begins to use a shared array, which it may have used before. All threads of
a block reach it: nothing around it differs from one to the other.
Needs: a legal tree.
"""

from __future__ import annotations

from dataclasses import replace

from polysched.deps.coincidence import left_below
from polysched.deps.dependences import Dependences
from polysched.deps.phases import between_threads, is_kernel, is_on_threads
from polysched.errors import InputError
from polysched.model.scop import Scop
from polysched.model.tree.nodes import Band, Filter, InOrder, Mark, Set, Storage, Tree, Wait, children, with_children
from polysched.support import isl


def place_barriers(tree: Tree, scop: Scop, dependences: Dependences) -> Tree:
    """`tree` with a mark `Wait` wherever the threads of a block have to wait for each other."""
    shared = frozenset(array.name for array in scop.arrays if array.space == "shared")
    return _placed(tree, dependences.exclusive, shared)


def _placed(tree: Tree, reaching: isl.UnionMap, shared: frozenset[str]) -> Tree:
    if is_kernel(tree):
        return _in_kernel(_again(tree, shared), between_threads(tree, reaching))
    if isinstance(tree, Mark) and isinstance(tree.mark, Storage) and (names := shared.intersection(tree.mark.arrays)):
        message = f"'{min(names)}' is shared by the threads of a block, and no loop around it is on blocks"
        raise InputError(message, hint="bind one to blockIdx.x")
    below = left_below(tree, reaching)
    return with_children(tree, tuple(_placed(child, below, shared) for child in children(tree)))


def _again(tree: Tree, shared: frozenset[str]) -> Tree:
    """A wait where the block begins to use shared arrays again, which threads may still read."""
    if is_on_threads(tree):
        return tree
    tree = with_children(tree, tuple(_again(child, shared) for child in children(tree)))
    if isinstance(tree, Mark) and isinstance(tree.mark, Storage) and not shared.isdisjoint(tree.mark.arrays):
        return replace(tree, child=_waiting(tree.child))
    return tree


def _in_kernel(tree: Tree, apart: isl.UnionMap) -> Tree:
    """`apart` are the pairs on different threads that nothing above orders."""
    if is_on_threads(tree) or apart.is_empty():
        return tree
    match tree:
        case Band(members=(first, *others)) if others:
            return _in_kernel(Band((first,), child=replace(tree, members=tuple(others))), apart)
        case Band(child=child):
            below = left_below(tree, apart)
            inner = _in_kernel(child, below)
            return replace(tree, child=inner if apart.subtract(below).is_empty() else _waiting(inner))
        case InOrder(children=branches) | Set(children=branches):
            return with_children(tree, tuple(_branch(branches, k, apart) for k in range(len(branches))))
        case _:
            below = left_below(tree, apart)
            return with_children(tree, tuple(_in_kernel(child, below) for child in children(tree)))


def _branch(branches: tuple[Filter, ...], k: int, apart: isl.UnionMap) -> Filter:
    branch = branches[k]
    inner = _in_kernel(branch, apart)
    assert isinstance(inner, Filter)
    into = apart.intersect_range(branch.filter)
    waits = any(not into.intersect_domain(earlier.filter).is_empty() for earlier in branches[:k])
    return replace(inner, child=_waiting(inner.child)) if waits else inner


def _waiting(tree: Tree) -> Tree:
    """`tree` after a wait, if it does not begin with one."""
    return tree if _waits_first(tree) else Mark(Wait(), tree)


def _waits_first(tree: Tree) -> bool:
    match tree:
        case Mark(mark=Wait()):
            return True
        case Band(child=child) | Mark(mark=Storage(), child=child):  # each iteration of a band does
            return _waits_first(child)
    return False
