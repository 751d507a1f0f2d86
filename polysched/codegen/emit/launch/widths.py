"""For which sizes a kernel may count in 32 bits: when no value of its index arithmetic leaves them.

    for i in 0..n:
        for j in 1..m:              ->      n * m is at most 2^31 - 1
            ... A[i * m + j] ...
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Set

from polysched.codegen.emit.launch.sufficient import sufficient
from polysched.ir.dtypes import i64
from polysched.ir.integers.bounds import Bounds, Range, Unbounded
from polysched.ir.integers.polynomial import Polynomial
from polysched.ir.node import walk
from polysched.ir.nodes import Call, Cast, Expr, For, Let, Load, Stmt, Var
from polysched.ir.rename import bound_names


def conditions(
    indices: Iterable[Expr], ranges: Mapping[str, Range], lets: Mapping[str, Expr], sizes: Iterable[str]
) -> tuple[Polynomial, ...] | None:
    """Polynomials in `sizes`, with positive integers: where the sizes are positive and none of these is above 2^31 - 1,
    neither is the absolute value of any part of `indices`. None if some part has no bound that is known.

    `ranges` and `lets` are of the other names in `indices`, in the ends of ranges and in the values of `lets`.
    """
    bounds = Bounds(ranges, lets, frozenset(sizes))
    found: list[Polynomial] = []
    try:
        for part in dict.fromkeys(node for index in indices for node in walk(index) if node.dtype == i64):
            value = bounds.polynomial(part)
            found += bounds.upper(value)
            found += () if bounds.is_sum_of_counts(value) else bounds.upper(-value)
    except Unbounded:
        return None
    return sufficient(found)


def wide_names(body: tuple[Stmt, ...], data: Set[str]) -> set[str]:
    """The i64 names that stay of 64 bits: `data`, what is made of data, and what is bound more than once."""
    wide = {name for name, count in Counter(bound_names(body)).items() if count > 1} | data
    for node in walk(body):
        match node:
            case For(var, lo, hi) if holds_data(lo, wide) or holds_data(hi, wide):
                wide.add(var)
            case Let(name, value) if holds_data(value, wide):
                wide.add(name)
    return wide


def holds_data(expr: Expr, wide: Set[str]) -> bool:
    """Is the expression made of anything but loop variables, sizes and constants?"""
    nodes = walk(expr)
    return any(isinstance(node, Load | Call | Cast) or (isinstance(node, Var) and node.name in wide) for node in nodes)
