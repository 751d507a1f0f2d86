"""Results that go to a parameter: in place where no value that is still needed is lost, else by a copy.

    for i in 0..n: a_new[i] = a[i]                            for i in 0..n // 2:
    for i in 0..n // 2:                               ->          a[2 * i] = a[2 * i] + a[2 * i + 1]
        a_new[2 * i] = a[2 * i] + a[2 * i + 1]

    for i in 0..n - 1: a_new[i + 1] = a[i] + 1        ->      ... of a local array a_new, then
                                                              for i in 0..n: a[i] = a_new[i]

In place: every read of the parameter that does not come before all stores is of the element that its statement stores,
or of one that is never stored.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import combinations

from polysched.frontend.temporaries import renamed
from polysched.frontend.tensor.stores import elements
from polysched.ir.node import walk
from polysched.ir.nodes import Alloc, Array, Const, Expr, For, Function, If, Load, Stmt, Store, Var
from polysched.model.affine import NotAffine
from polysched.model.known import accesses
from polysched.model.loops import loop_conditions
from polysched.support import isl


def in_place(function: Function, result: str, parameter: str) -> Function | None:
    """The function with no array parameter `result`, whose stores go to `parameter`; None if that may lose values."""
    body = _without_copy(function.body, result, parameter)
    if body is None or not _may_be_in_place(body, result, parameter, function.sizes):
        return None
    return replace(_without(function, result), body=renamed(body, result, parameter))


def copied_back(function: Function, result: str, parameter: str, names: Iterable[str]) -> Function:
    """The function with a local array `result`, which is copied to `parameter` in the end.

    `names` are those that no new loop variable has.
    """
    array = function.array(result)
    local = Alloc(replace(array, space="private"), function.loc)
    copy = _copy(array, parameter, function, names)
    return replace(_without(function, result), body=(local, *function.body, copy))


def _without(function: Function, result: str) -> Function:
    """The function without this parameter."""
    arrays = tuple(one for one in function.arrays if one.name != result)
    return replace(function, arrays=arrays, params=tuple(name for name in function.params if name != result))


def _without_copy(body: tuple[Stmt, ...], result: str, parameter: str) -> tuple[Stmt, ...] | None:
    """The body without the loops that only copy the parameter to the result; None if they do more."""
    kept = []
    for stmt in body:
        stores = [node for node in walk(stmt) if isinstance(node, Store)]
        copies = [s for s in stores if s.array == result and s.value == Load(parameter, s.index, s.value.dtype)]
        if not copies:
            kept.append(stmt)
        elif len(stores) > len(copies):
            return None
    return tuple(kept)


def _may_be_in_place(body: tuple[Stmt, ...], result: str, parameter: str, sizes: tuple[str, ...]) -> bool:
    first = next((k for k, stmt in enumerate(body) if _stores_to(stmt, result)), len(body))
    stored = [(store, where.loops) for store, where in accesses(body[first:]) if isinstance(store, Store)]
    if any(_reads(_control(stmt), parameter) for stmt in walk(body[first:])):
        return False
    try:
        stores = [_elements(loops, store.index, sizes) for store, loops in stored if store.array == result]
        written = [one.range() for one in stores]
        reads_own = False
        for store, loops in stored:
            for read in _reads(store, parameter):
                if store.array == result and read.index == store.index:
                    reads_own = True
                    continue
                needed = _elements(loops, read.index, sizes).range()
                if not all(needed.is_disjoint(one) for one in written):
                    return False
    except NotAffine:
        return False
    # An element that is read where it is stored must not have been stored before.
    is_stored_once = all(one.is_injective() for one in stores)
    return not reads_own or (is_stored_once and all(a.is_disjoint(b) for a, b in combinations(written, 2)))


def _stores_to(stmt: Stmt, array: str) -> bool:
    return any(isinstance(node, Store) and node.array == array for node in walk(stmt))


def _reads(node: Stmt | tuple[Expr, ...], array: str) -> list[Load]:
    return [one for one in walk(node) if isinstance(one, Load) and one.array == array]


def _control(node: object) -> tuple[Expr, ...]:
    """What decides whether, and how often, statements run."""
    match node:
        case For(lo=lo, hi=hi):
            return lo, hi
        case If(cond=cond):
            return (cond,)
    return ()


def _elements(loops: tuple[For, ...], index: tuple[Expr, ...], sizes: tuple[str, ...]) -> isl.Map:
    return elements((loop.var for loop in loops), (c for loop in loops for c in loop_conditions(loop)), index, sizes)


def _copy(array: Array, parameter: str, function: Function, names: Iterable[str]) -> Stmt:
    """parameter[...] = array[...]."""
    taken = {*names, *function.params, *(node.var for node in walk(function.body) if isinstance(node, For))}
    free = (name for name in (*"ijklmnpq", *(f"i{k}" for k in range(32))) if name not in taken)
    names = [next(free) for _ in array.shape]
    index = tuple(map(Var, names))
    copy: Stmt = Store(parameter, index, Load(array.name, index, array.dtype), function.loc)
    for name, extent in reversed(list(zip(names, array.shape, strict=True))):
        copy = For(name, Const(0), extent, 1, (copy,), loc=function.loc)
    return copy
