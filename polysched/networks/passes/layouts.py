"""Which values lie in memory with their channels as the last axis: those of convolutions, and what is made of them.

    Conv, Relu, MaxPool, Concat      ->      images, rows, columns, channels
    MatMul, Reshape, results         ->      as the file has it

Every kernel may read any layout, so no value is ever transposed by itself: a convolution stores its sums along the
channels, which are its lanes, and reads its weights in that order.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from math import prod

from polysched.ir.graph.operations import Graph, Operation, Value
from polysched.networks.array import shape_of
from polysched.networks.groups import Group
from polysched.networks.operators.all import OPERATORS

_FOLLOW = ("MaxPool", "AveragePool", "LRN", "Concat", "Pad", "Resize", "GlobalAveragePool", "GlobalMaxPool")


def values_last(graph: Graph, groups: Sequence[Group], constants: Set[str]) -> frozenset[str]:
    """The names of such values; `constants` names those of the graph."""
    fixed = _fixed(graph)
    last: set[str] = set()
    for group in groups:
        outputs = {value.name for value in group.outputs}
        if fixed.isdisjoint(outputs) and _is_last(group, last, constants):
            last |= outputs
    return frozenset(last)


def _fixed(graph: Graph) -> set[str]:
    """Values that have to lie as the file has it, where that makes a difference: results, and what views show."""
    shown = [each.operands[0] for each in graph.body.operations if each.kind == "View"]
    return {value.name for value in (*graph.body.results, *shown) if not _is_either(value)}


def _is_either(value: Value) -> bool:
    """Are both layouts the same?"""
    shape = shape_of(value)
    return len(shape) < 3 or shape[1] == 1 or prod(shape[2:]) == 1


def _is_last(group: Group, last: Set[str], constants: Set[str]) -> bool:
    if any(len(shape_of(value)) < 3 for value in group.outputs):
        return False
    first = group.operations[0]
    if first.kind == "Conv":
        return first.operands[1].name in constants
    follows = all(each.kind in _FOLLOW or OPERATORS[each.kind].pointwise for each in group.operations)
    read = _data(first, constants)
    return follows and bool(read) and all(value.name in last for value in read)


def _data(operation: Operation, constants: Set[str]) -> list[Value]:
    """The operands with channels and pixels."""
    return [v for v in operation.operands if v.name and v.name not in constants and not _is_either(v)]
