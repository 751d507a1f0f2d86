"""Which iterations of a block or thread loop run on which block or thread.

    for i in max(32 * b, 1)..min(n, 32 * b + 32)  (thread.x, 32 threads)
        ->  i = 32 * b + threadIdx.x, if i >= 1 && i < n

Iteration i of all loops on one axis runs on the same thread, i modulo their number, whatever the loop's bounds are: so
that what a thread has written in one loop it may read in the next, and addresses begin where tiles do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import gcd

from polysched.codegen.lowered import from_start
from polysched.ir.build import add, binary, conjunction, floordiv, floormod, mul, sub
from polysched.ir.integers.trips import most_trips
from polysched.ir.node import substitute, walk
from polysched.ir.nodes import Binary, Const, Expr, For, Var


@dataclass(frozen=True)
class Share:
    """A block's or thread's part of a loop: `first`, alone if it meets `guard`, or with all that stride from it."""

    first: Expr
    guard: Expr | None  # None: it strides


@dataclass(frozen=True)
class Around:
    """What is known around a loop in a kernel."""

    lets: dict[str, Expr]  # values of names, without such names in them
    loops: Mapping[str, For]  # all loops around, by variable
    serial: frozenset[str]  # variables of those in the kernel that are neither block nor thread loops
    alone: bool  # no other loop of the kernel is on this axis


def thread_share(loop: For, index: Expr, threads: int, around: Around) -> Share:
    """The part of thread `index` of as many as `threads`."""
    lo, hi = substitute(loop.lo, around.lets), substitute(loop.hi, around.lets)
    if loop.step > 0:
        for start in _operands("max", lo):
            most = most_trips(start, hi, loop.step)
            is_origin = is_multiple(start, threads * loop.step, around.loops) or (start == lo and _is_fixed(lo, around))
            # With other steps than 1, iterations count from lo.
            if is_origin and most is not None and most <= threads and (loop.step == 1 or start == lo):
                first = from_start(start, mul(index, loop.step) if loop.step != 1 else index)
                return Share(first, conjunction(_conditions(loop, start, threads, around)))
    most = most_trips(lo, hi, loop.step)
    strides = most is None or most > threads
    guard = binary("<" if loop.step > 0 else ">", Var(loop.var), loop.hi)
    return Share(first_iteration(loop, index, Const(threads), around), None if strides else guard)


def _conditions(loop: For, start: Expr, threads: int, around: Around) -> Iterator[Expr]:
    """When is an iteration between `start` and `threads` steps later one of the loop?"""
    for bound in _operands("max", loop.lo):
        if substitute(bound, around.lets) != start:
            yield binary(">=", Var(loop.var), bound)
    for bound in _operands("min", loop.hi):
        if most_trips(substitute(bound, around.lets), add(start, threads * loop.step), 1) != 0:  # it may be below
            yield binary("<", Var(loop.var), bound)


def first_iteration(loop: For, index: Expr, count: Expr, around: Around) -> Expr:
    """The first iteration of block or thread `index`; iteration i belongs to number i / step modulo `count`."""
    lo, step = substitute(loop.lo, around.lets), loop.step
    is_origin = isinstance(count, Const) and is_multiple(lo, int(count.value) * step, around.loops)
    if not is_origin and not _is_fixed(lo, around):
        index = floormod(sub(index, loop.lo if step == 1 else floordiv(loop.lo, step)), count)
    return from_start(loop.lo, index if step == 1 else mul(index, step))


def _is_fixed(lo: Expr, around: Around) -> bool:
    """Is this the only origin that iterations of the axis count from?"""
    inner = any(isinstance(node, Var) and node.name in around.serial for node in walk(lo))
    return lo == Const(0) or (around.alone and not inner)


def is_multiple(expr: Expr, factor: int, loops: Mapping[str, For]) -> bool:
    """Is it always a multiple of `factor`? Variables of `loops` are, if they begin and step so."""
    if factor in (1, -1):
        return True
    match expr:
        case Const(int(value)):
            return value % factor == 0
        case Var(name, _) if name in loops:
            return loops[name].step % factor == 0 and is_multiple(loops[name].lo, factor, loops)
        case Binary("+" | "-" | "min" | "max", left, right):
            return is_multiple(left, factor, loops) and is_multiple(right, factor, loops)
        case Binary("*", Const(int(value)), arg) | Binary("*", arg, Const(int(value))):
            return is_multiple(arg, factor // gcd(factor, value), loops)
    return False


def _operands(op: str, expr: Expr) -> Iterator[Expr]:
    """The operands of a tree of this operator, which may have a constant added; else the expression itself."""
    match expr:
        case Binary(operator, left, right) if operator == op:
            yield from _operands(op, left)
            yield from _operands(op, right)
        case Binary("+" | "-" as sign, Binary(operator, _, _) as inner, Const(int(value))) if operator == op:
            for operand in _operands(op, inner):
                yield _shifted(operand, value if sign == "+" else -value)
        case _:
            yield expr


def _shifted(expr: Expr, distance: int) -> Expr:
    match expr:
        case Const(int(value)):
            return Const(value + distance)
        case Binary("+" | "-" as sign, rest, Const(int(value))):
            return _shifted(rest, distance + (value if sign == "+" else -value))
    return expr if distance == 0 else add(expr, distance) if distance > 0 else sub(expr, -distance)
