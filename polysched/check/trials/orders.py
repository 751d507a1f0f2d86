"""A kernel whose parallel loops run as one may want them to: on threads, however short; or serially, in any order.

    for i in 0..n (parallel if n >= 60000):               for i in 0..n (parallel):
        a[i + 3] = a[i] + 1.0                      ->         a[i + 3] = a[i] + 1.0
                                                                                                       always_on_threads
    place: i64[n]                                         place is filled with 0..n in a random order that `order`
    for k in 0..n:                                        stands for; -1 is from the last to the first
        i = place[k]
        a[i + 3] = a[i] + 1.0                                                                          in_other_orders

Iterations of such a loop are said to be independent, so every order must give the same. The order from the last to the
first turns round every dependence that there is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

from polysched.ir.build import add, binary, floordiv, floormod, load, mul, store, sub, var
from polysched.ir.dtypes import i64
from polysched.ir.node import rewrite, walk
from polysched.ir.nodes import PARALLEL, Alloc, Array, Const, Expr, For, Function, Let, Select, Stmt, Var
from polysched.ir.rename import fresh_names, used_names

INDEPENDENT = PARALLEL | {"vector"}  # kinds of loops whose iterations may run in any order
BACKWARDS = -1


def has_loops(kernel: Function, kinds: Collection[str]) -> bool:
    return any(isinstance(node, For) and node.kind in kinds for node in walk(kernel.body))


def always_on_threads(kernel: Function) -> Function:
    """The kernel whose parallel loops start threads at any size."""
    return rewrite_loops(kernel, lambda loop: replace(loop, when=()) if loop.kind in PARALLEL else None)


def in_other_orders(kernel: Function) -> tuple[Function, str]:
    """The kernel with such loops serial, in the order that another scalar parameter, of which this is the name, says:
    BACKWARDS, or the seed of a random order."""
    taken = used_names(kernel)
    order = next(fresh_names("order", taken))
    taken.add(order)
    places, counters = fresh_names("place", taken), fresh_names("turn", taken)

    def reordered(loop: For) -> tuple[Stmt, ...] | None:
        if loop.kind not in INDEPENDENT:
            return None
        return _reordered(loop, order, next(places), [next(counters) for _ in range(5)])

    serial = rewrite_loops(kernel, reordered)
    scalar = Var(order, i64)
    params = (*kernel.params, order) if kernel.params else ()
    return replace(serial, scalars=(*kernel.scalars, scalar), params=params), order


def rewrite_loops(kernel: Function, rule: Callable[[For], For | tuple[Stmt, ...] | None]) -> Function:
    """The function with what the rule makes of its loops; None leaves one as it is."""
    body = rewrite(kernel.body, lambda node: rule(node) if isinstance(node, For) else None)
    return replace(kernel, body=body)


def _reordered(loop: For, order: str, name: str, names: list[str]) -> tuple[Stmt, ...]:
    """The loop through a table of its iterations: shuffled as Durstenfeld does it, inside out."""
    first, count, k, turn, at = names
    step = abs(loop.step)
    distance = sub(loop.hi, Var(first)) if loop.step > 0 else sub(Var(first), loop.hi)
    trips: Expr = binary("max", floordiv(add(distance, step - 1), step), 0)
    table = Array(name, i64, (Var(count),))
    is_backwards = binary("==", var(order), BACKWARDS)
    random = floormod(_hash(add(var(k), var(order))), add(var(k), 1))
    chosen = Select(is_backwards, sub(sub(var(count), 1), var(turn)), load(table, var(turn)))
    shuffled = (Let(at, random), store(table, (var(k),), load(table, var(at))), store(table, (var(at),), var(k)))
    body = (Let(loop.var, add(var(first), mul(chosen, loop.step))), *loop.body)
    filled = For(k, Const(0), var(count), 1, shuffled)
    return (
        Let(first, loop.lo),
        Let(count, trips),
        Alloc(table),
        filled,
        For(turn, Const(0), var(count), 1, body, loc=loop.loc),
    )


def _hash(expr: Expr) -> Expr:
    """A number of 32 bits that looks random, by the multiplier of Steele and Vigna's SplitMix64."""
    mixed = mul(add(expr, 1), -7046029254386353131)
    return binary("&", binary("^", mixed, binary(">>", mixed, 29)), 0xFFFFFFFF)
