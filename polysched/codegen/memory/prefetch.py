"""What a loop loads of an array so many iterations later, fetched ahead of time.

    for i in 0..n (prefetch x, 8):                 for i in 0..n:
        s = s + x[at[i]]                   ->          if i + 8 < n:
                                                           prefetch x[at[i + 8]]
                                                       s = s + x[at[i]]

    for i in 0..n (prefetch A, 1):                 for i in 0..n:
        for j in 0..m: ... A[i * m + j]    ->          for q in 0..m by 8:                     a line of the cache each
                                                           prefetch A[(i + 1) * m + q]
                                                       for j in 0..m: ... A[i * m + j]

Where the place is computed by what may fail, or loads, the iteration must be one that there is. Values that the loop
itself stores are not known so early, and what depends on them is not fetched.

Needs: subscripts are linearized. Keeps: everything: nothing is loaded but what tells the place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from polysched.codegen.lowered import changed, own_expressions
from polysched.codegen.parallel.declined import decline_prefetch
from polysched.config.heuristics.cpu import NEAR
from polysched.config.machine import LINE
from polysched.ir.build import add, binary, where
from polysched.ir.effects import evaluated, is_pure, is_total
from polysched.ir.integers.linear import constant_of, difference, forms
from polysched.ir.integers.trips import most_trips
from polysched.ir.node import arrays_of, loaded, rewrite, statements, stored, substitute, variables, walk
from polysched.ir.nodes import Alloc, Array, Expr, For, Function, If, Let, Load, Prefetch, Stmt, Var
from polysched.ir.rename import fresh_names, rename_bound, used_names


def with_prefetches(fn: Function, *, on_gpu: bool = False) -> Function:
    """`fn` where loops fetch what they are to, which a GPU does not; the same object if there are none."""
    arrays, names = arrays_of(fn), fresh_names("q", used_names(fn))

    def rule(node: Any) -> For | None:
        if not (isinstance(node, For) and node.prefetch):
            return None
        loop = replace(node, prefetch=())
        if on_gpu:
            for name, _ in node.prefetch:
                decline_prefetch(loop, name, "a GPU hides the time that loads take by other threads")
            return loop
        ahead = tuple(s for name, n in node.prefetch for s in _ahead(loop, name, arrays.get(name), n, names))
        return replace(loop, body=(*ahead, *loop.body))

    return changed(fn, body=rewrite(fn.body, rule))


def _ahead(loop: For, name: str, array: Array | None, iterations: int, names: Iterator[str]) -> tuple[Stmt, ...]:
    """What fetches the array's elements that an iteration so many later loads."""
    most = most_trips(loop.lo, loop.hi, loop.step)
    found: tuple[Stmt, ...] = ()
    if loop.kind in ("vector", "unrolled"):
        why = "its iterations run at once"
    elif array is None or any(isinstance(node, Alloc) and node.array.name == name for node in statements(loop.body)):
        why = "there is another one in each iteration, or none"
    elif most is not None and most <= iterations:
        why = f"it has no iteration that is {iterations} later"
    else:
        found = _Places(loop, array).block(loop.body, {})
        why = "where it loads from is known too late, or on a condition, or stays the same"
    if not found:
        decline_prefetch(loop, name, why)
        return ()
    later = add(Var(loop.var), iterations * loop.step)
    fetched = substitute(rename_bound(found, lambda _: next(names)), {loop.var: later})
    return fetched if _is_safe(fetched) else where([binary("<", later, loop.hi)], *fetched)


def _is_safe(node: Any) -> bool:
    """May it run for iterations that there are not, since nothing in it loads, or may fail?"""
    statements = (part for part in walk(node) if isinstance(part, Stmt))
    return all(is_total(expr) for stmt in statements for expr in own_expressions(stmt))


@dataclass
class _Places:
    """Reads what an iteration of the loop loads of the array as fetches alone, in the loops and branches around."""

    loop: For
    array: Array

    def __post_init__(self) -> None:
        own = {node.array.name for node in statements(self.loop.body) if isinstance(node, Alloc)}
        self.made = own | stored(self.loop.body)
        self.moving = {self.loop.var}  # names with other values in each iteration

    def block(self, body: tuple[Stmt, ...], values: Mapping[str, Expr]) -> tuple[Stmt, ...]:
        values, found = dict(values), list[Stmt]()
        for stmt in body:
            stmt = substitute(stmt, values) if not isinstance(stmt, For | If) else stmt
            for place in self.of(stmt, values):
                if not any(_shares_a_line(place, other) for other in found):
                    found.append(place)
            if isinstance(stmt, Let):
                values[stmt.name] = stmt.value
        return tuple(found)

    def of(self, stmt: Stmt, values: Mapping[str, Expr]) -> Iterator[Stmt]:
        match stmt:
            case For(var, lo, hi, step, body):
                lo, hi = substitute((lo, hi), dict(values))
                yield from self.places(lo, hi)
                if not self.moving.isdisjoint(variables(lo)):
                    self.moving.add(var)
                inside = self.block(body, values)
                if inside and var not in variables(inside) and _is_safe(inside):  # the same in each of its iterations
                    yield from inside
                elif inside and self.is_known(lo, hi):
                    yield For(var, lo, hi, _a_line_each(inside, var, step, self.array), inside)
            case If(cond, then, other):
                cond = substitute(cond, dict(values))
                yield from self.places(cond)
                then, other = self.block(then, values), self.block(other, values)
                if (then or other) and self.is_known(cond) and self.array.name not in loaded(cond):
                    yield If(cond, then, other)
            case _:
                yield from self.places(*own_expressions(stmt))

    def places(self, *exprs: Expr) -> Iterator[Stmt]:
        """Of what they load in any case; on a condition, only where that loads nothing, nor may fail."""
        certain = {id(node) for expr in exprs for node in _evaluated(expr)}
        for load in (node for expr in exprs for node in walk(expr)):
            if not (isinstance(load, Load) and load.array == self.array.name and self.is_other_each_time(load)):
                continue
            if id(load) in certain or all(map(is_total, load.index)):
                yield Prefetch(load.array, load.index)

    def is_other_each_time(self, load: Load) -> bool:
        return not self.moving.isdisjoint(variables(load.index)) and self.is_known(*load.index)

    def is_known(self, *exprs: Expr) -> bool:
        """Are they what they will be then?"""
        return all(map(is_pure, exprs)) and loaded(exprs).isdisjoint(self.made)


def _evaluated(expr: Expr) -> Iterator[Expr]:
    """The nodes that are evaluated whenever the expression is."""
    yield expr
    for operand in evaluated(expr):
        yield from _evaluated(operand)


def _shares_a_line(one: Stmt, other: Stmt) -> bool:
    """Are both fetches of elements that are next to each other?"""
    if not (isinstance(one, Prefetch) and isinstance(other, Prefetch)):
        return one == other
    apart = difference(other.index[0], one.index[0])
    distance = None if apart is None else constant_of(apart)
    return distance is not None and abs(distance) < NEAR


def _a_line_each(inside: tuple[Stmt, ...], var: str, step: int, array: Array) -> int:
    """The step of a loop over fetches that need not fetch a line twice."""
    places = [stmt.index[0] for stmt in inside if isinstance(stmt, Prefetch)]
    if step != 1 or len(places) < len(inside) or not all(map(partial(_moves_by_one, var), places)):
        return step
    return max(1, LINE * 8 // array.dtype.bits)


def _moves_by_one(var: str, place: Expr) -> bool:
    (form,) = forms(place, upper=True)
    others = (atom for atom in form if atom is not None and atom != Var(var))
    return form.get(Var(var)) == 1 and not any(var in variables(atom) for atom in others)
