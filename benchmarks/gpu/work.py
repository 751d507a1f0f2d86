"""The least that a nest must do: its operations, and the bytes that enter and leave memory once.

    least(gemm, {"ni": 1000, ...})      Work(operations=2.64e9, moved=44e6, bits=64)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import comb, prod

from polysched.ir.interp import evaluate
from polysched.ir.node import walk
from polysched.ir.nodes import Binary, Call, Expr, For, Function, If, Let, Load, Select, Stmt, Store, Unary

_DEGREE = 4  # of the number of operations in a loop's variable: no nest here is deeper
Sizes = Mapping[str, int]


@dataclass(frozen=True)
class Work:
    """Operations on elements, bytes that must be moved, and the width of the widest and the narrowest element."""

    operations: int
    moved: int
    bits: int
    narrowest: int


def least(fn: Function, sizes: Sizes) -> Work:
    """Every array that is read comes from memory once, every one that is written goes there once.

    Of two branches, the larger counts.
    """
    loaded = {node.array for node in walk(fn.body) if isinstance(node, Load)}
    stored = {node.array for node in walk(fn.body) if isinstance(node, Store)}
    moved = 0
    for array in fn.arrays:
        size = prod(int(evaluate(extent, dict(sizes))) for extent in array.shape) * array.dtype.bits // 8
        moved += size * ((array.name in loaded) + (array.name in stored))
    widths = [array.dtype.bits for array in fn.arrays]
    return Work(_count(fn.body, dict(sizes)), moved, max(widths), min(widths))


def _count(statements: tuple[Stmt, ...], values: dict[str, int]) -> int:
    return sum(_count_one(stmt, values) for stmt in statements)


def _count_one(stmt: Stmt, values: dict[str, int]) -> int:
    match stmt:
        case Store(value=value) | Let(value=value):
            return sum(1 for node in _computed(value) if isinstance(node, Binary | Unary | Call | Select))
        case If(then=then, other=other):
            return max(_count(then, values), _count(other, values))
        case For():
            lo, hi = int(evaluate(stmt.lo, values)), int(evaluate(stmt.hi, values))
            trips = max(0, -(-(hi - lo) // stmt.step))
            return _sum(lambda k: _count(stmt.body, {**values, stmt.var: lo + k * stmt.step}), 0, trips)
    return 0


def _computed(expr: Expr) -> Iterator[Expr]:
    """The nodes of an expression, but for subscripts."""
    match expr:
        case Load():
            return
        case Binary(left=left, right=right):
            yield expr
            yield from (*_computed(left), *_computed(right))
        case Unary(arg=arg):
            yield expr
            yield from _computed(arg)
        case _:
            yield from (node for node in walk(expr) if not isinstance(node, Load))


def _sum(f: Callable[[int], int], begin: int, end: int) -> int:
    """f(begin) + ... + f(end - 1), for an f that is a polynomial in parts: by Newton's forward differences."""
    count = end - begin
    if count <= 2 * _DEGREE:
        return sum(f(k) for k in range(begin, end))
    row, differences = [f(begin + k) for k in range(_DEGREE + 1)], list[int]()
    while row:
        differences.append(row[0])
        row = [after - before for before, after in pairwise(row)]
    if any(_extrapolated(differences, k) != f(begin + k) for k in (count // 2, count - 2, count - 1)):
        middle = begin + count // 2
        return _sum(f, begin, middle) + _sum(f, middle, end)
    return sum(difference * comb(count, order + 1) for order, difference in enumerate(differences))


def _extrapolated(differences: list[int], k: int) -> int:
    return sum(difference * comb(k, order) for order, difference in enumerate(differences))
