"""What the text of a nest depends on anywhere in it, found once for all of its kernels.

    for i in 0..n: for j in 0..m:       called {"exp"}, written {"a"}, read {"i", "j", "m", "b"}, positive {"m"}
        a[i * m + j] = exp(b[i])
"""

from __future__ import annotations

from collections.abc import Set
from functools import cached_property, lru_cache

from polysched.codegen.lowered import names_in
from polysched.ir.dtypes import boolean, i64
from polysched.ir.integers.bounds import Range, range_of
from polysched.ir.integers.polynomial import Polynomial
from polysched.ir.node import children, walk
from polysched.ir.nodes import DIVISIONS, TOUCHED, Binary, Call, Cast, Const, Expr, For, Function, Let, Load, Store, Var


class Census:
    """The names of a nest, by what they are used for."""

    def __init__(self, fn: Function):
        self.fn, self.nodes = fn, list(walk(fn.body))
        self.conditions: dict[object, tuple[Polynomial, ...] | None] = {}  # under which kernels may count in 32 bits

    @cached_property
    def called(self) -> frozenset[str]:
        return frozenset(node.fn for node in self.nodes if isinstance(node, Call))

    @cached_property
    def written(self) -> frozenset[str]:
        """Arrays that the kernel's own text stores to."""
        stores = (node for node in self.nodes if isinstance(node, Store))
        return frozenset(s.array for s in stores if not (isinstance(s.value, Call) and s.value.fn == TOUCHED))

    @cached_property
    def read(self) -> frozenset[str]:
        """Variables and arrays."""
        variables = frozenset(node.name for node in self.nodes if isinstance(node, Var))
        return variables | {node.array for node in self.nodes if isinstance(node, Load)}

    @cached_property
    def lets(self) -> dict[str, Expr]:
        return {node.name: node.value for node in self.nodes if isinstance(node, Let)}

    @cached_property
    def ranges(self) -> dict[str, Range]:
        """Of loop variables."""
        return {node.var: range_of(node) for node in self.nodes if isinstance(node, For)}

    @cached_property
    def data(self) -> frozenset[str]:
        """Integers that are not made of loop variables and sizes alone, so may have any value."""
        data = {scalar.name for scalar in self.fn.scalars}
        for node in self.nodes:
            if isinstance(node, Let) and (node.value.dtype not in (i64, boolean) or is_data(node.value, data)):
                data.add(node.name)
        return frozenset(data)

    @cached_property
    def counts(self) -> frozenset[str]:
        """What is never negative: sizes, what is counted from them, and what is made of them."""
        least = [(node.name, node.value) for node in self.nodes if isinstance(node, Let)]
        least += [(node.var, node.lo if node.step > 0 else node.hi) for node in self.nodes if isinstance(node, For)]
        counts = {*self.fn.sizes, *(name for name, _ in least)}
        while others := {name for name, value in least if name in counts and not is_count(value, counts)}:
            counts -= others
        return frozenset(counts)

    @cached_property
    def positive(self) -> frozenset[str]:
        """The sizes that 32 bits ask to be positive: all but those, as a padding may be, that are only added."""
        products = [node for node in self.nodes if isinstance(node, Binary) and node.op in DIVISIONS | {"*"}]
        factors = [factor for node in products for factor in (node.left, node.right)]
        extents = [node for array in self.fn.arrays for node in walk(array.shape)]
        return frozenset(node.name for node in (*factors, *extents) if isinstance(node, Var)) & set(self.fn.sizes)


def is_count(expr: Expr, counts: Set[str]) -> bool:
    """Is it made of sizes by additions, products and quotients? They stay in range, as subscripts do."""
    match expr:
        case Const(value):
            return value >= 0
        case Var(name):
            return name in counts
        case Binary("+" | "*" | "min" | "max" | "floordiv" | "truncdiv" | "floormod" | "truncmod", left, right):
            return is_count(left, counts) and is_count(right, counts)
    return False


def is_not_zero(expr: Expr, counts: Set[str]) -> bool:
    """Is it a constant, or more than a count?"""
    match expr:
        case Const(value):
            return value != 0
        case Binary("+" | "max", left, Const(value)):
            return value > 0 and expr.dtype == i64 and is_count(left, counts)
    return False


def is_data(expr: Expr, data: Set[str]) -> bool:
    """Does it hold a value that is not made of loop variables and sizes alone?"""
    return _is_no_index(expr) or not data.isdisjoint(names_in(expr))


@lru_cache(1 << 14)  # a printer asks of every part of what it prints
def _is_no_index(expr: Expr) -> bool:
    return isinstance(expr, Load | Call | Cast) or any(map(_is_no_index, children(expr)))
