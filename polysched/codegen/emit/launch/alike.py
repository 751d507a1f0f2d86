"""What expressions are alike in that differ in names alone, as the steps of a recurrence that run one after the other.

    for i in 0..n: ... a[i * m + 1]                 for k in 0..n: ... b[k * m + 1]
    "+" "*" (0) m 1, where (0) is from 0 to n - 1

Two lists of expressions of one shape have the same bounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from polysched.codegen.lowered import operation
from polysched.ir.integers.bounds import Range
from polysched.ir.node import walk
from polysched.ir.nodes import Expr, Var

Shape = tuple[object, ...]


def shape_of(exprs: Iterable[Expr], ranges: Mapping[str, Range], lets: Mapping[str, Expr]) -> Shape:
    """The same for expressions, and for what their names have ends or values of, that differ in these names alone."""
    numbers: dict[str, int] = {}
    shape: list[object] = []
    rest = list(exprs)
    for expr in rest:  # which grows
        for node in walk(expr):
            if isinstance(node, Var) and (node.name in ranges or node.name in lets):
                if node.name not in numbers:
                    numbers[node.name] = len(numbers)
                    rest += [lets[node.name]] if node.name in lets else ranges[node.name]
                shape.append((numbers[node.name], node.name in lets, node.dtype))
            else:
                shape.append(operation(node))
    return tuple(shape)
