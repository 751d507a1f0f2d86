"""Rows: kernels whose blocks add up between other loops on their threads.

    for i in 0..n (block.x):                        for i in 0..n (block.x):
        for t in 0..1 (thread.x): m = -inf              for t in 0..1 (thread.x): m = -inf
        barrier                                         barrier
        for t in 0..min(d, 256) (thread.x,              for t in 0..256 (thread.x):
                                 reduces m):                acc = -inf
            for j in t..d by 256:              ->           if t < d:
                m = max(m, x[i, j])                             for j in t..d by 256: acc = max(acc, x[i, j])
        barrier                                             <tree over t>
        for t in 0..min(d, 256) (thread.x):                 if t == 0: m = max(m, acc)
            for j in t..d by 256:                       barrier
                y[i, j] = x[i, j] - m                   ...

Each sum has all threads of the block, so that they meet at the barriers of its tree; iteration t stays on thread t, as
in the loops beside it. What is not on threads is on the first one (`codegen/gpu/first_thread.py`), as is the end of
each sum.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from polysched.codegen.gpu.sums.elements import guards_of
from polysched.codegen.gpu.sums.teams import Adder, Finish, Team
from polysched.codegen.lowered import is_mapped
from polysched.codegen.parallel.declined import serial
from polysched.codegen.parallel.updates import Update, updates_in
from polysched.config.heuristics.gpu import UNKNOWN_BLOCK
from polysched.config.target import LIMITS
from polysched.ir.build import binary, where
from polysched.ir.integers.trips import most_trips
from polysched.ir.node import rewrite, substitute, walk
from polysched.ir.nodes import Array, Const, Expr, For, Stmt, Var
from polysched.ir.rename import fresh_names


def is_in_rows(kernel: For) -> bool:
    """Are there loops on thread.x, some of which reduce, one after the other in its loops on blocks?"""
    loop = kernel
    while len(loop.body) == 1 and is_mapped(loop.body[0], "block"):
        (loop,) = loop.body  # type: ignore[assignment]  # a loop on blocks
    is_one = len(loop.body) == 1 and isinstance(loop.body[0], For)
    inside = {node.kind for node in walk(loop.body) if is_mapped(node)}
    sums = {node.kind for node in walk(kernel) if isinstance(node, For) and node.reduces}
    return is_mapped(loop, "block") and not is_one and inside == sums == {"thread.x"}


def in_rows(kernel: For, arrays: Mapping[str, Array], adder: Adder, finish: Finish) -> For:
    """The kernel with its sums on all threads of a block; on one thread if there is one that they cannot add up."""
    lanes = [node for node in walk(kernel) if is_mapped(node, "thread.x")]
    lengths = [most_trips(Const(0) if each.reduces else each.lo, each.hi, each.step) for each in lanes]
    most = max(UNKNOWN_BLOCK["x"] if length is None else length for length in lengths)
    size = LIMITS.team(most)
    sums = {each.var: _sum(each, kernel, arrays) for each in lanes if each.reduces}
    if size > LIMITS.block or None in sums.values():
        return _on_one_thread(kernel)

    def rule(node: Any) -> Any:
        if not isinstance(node, For) or (own := sums.get(node.var)) is None:
            return None
        updates, guards, loop = own
        body = adder.summed(_share(loop, size, adder.taken), updates, Team(Var(node.var), size, when=guards), finish)
        return replace(node, lo=Const(0), hi=Const(size), body=body, reduces=())

    return rewrite(kernel, rule)


def _sum(loop: For, kernel: For, arrays: Mapping[str, Array]) -> tuple[list[Update], tuple[Expr, ...], For] | None:
    """What the loop updates, when a block does, and the loop without that condition; None if there are no parts of it,
    or its iterations are no numbers of threads."""
    updates = updates_in(loop, arrays)
    if updates is None or any(each.row for each in updates):
        return None
    if loop.step != 1 or most_trips(loop.lo, Const(0), 1) != 0:
        return None
    guarded = guards_of(loop, [node for node in walk(kernel) if is_mapped(node, "block")], updates)
    return None if guarded is None else (updates, *guarded)


def _share(loop: For, size: int, taken: set[str]) -> tuple[Stmt, ...]:
    """What the thread of that number, the loop's variable, runs of it: the one iteration that it has, or each `size`-th
    where there may be more."""
    thread = Var(loop.var)
    low = [binary(">=", thread, loop.lo)] if loop.lo != Const(0) else []
    high = [binary("<", thread, loop.hi)] if loop.hi != Const(size) else []
    most = most_trips(Const(0), loop.hi, 1)
    if most is not None and most <= size:
        return where([*low, *high], *loop.body)
    turn = next(fresh_names(f"{loop.var}_", taken))
    body = substitute(where(low, *loop.body), {loop.var: Var(turn)})
    return (For(turn, thread, loop.hi, size, body),)


def _on_one_thread(kernel: For) -> For:
    def rule(node: Any) -> Any:
        if not is_mapped(node, "thread.x"):
            return None
        why = "not all that it adds up are parts of fixed elements"
        return serial(node, why) if node.reduces else replace(node, kind="serial")

    return rewrite(kernel, rule)
