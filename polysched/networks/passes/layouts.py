"""Which values lie in memory with their channels as the last axis: those of convolutions, and what is made of them.

    Conv, Relu, MaxPool, Concat      ->      images, rows, columns, channels
    MatMul, Reshape, results         ->      as the file has it

Every kernel may read any layout, so no value is ever transposed by itself: a convolution stores its sums along the
channels, which are its lanes, and reads its weights in that order. It does so where channels fill lanes as well as
pixels do, and where who reads them stores them so, too; else only where they fill far more.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from math import ceil, prod

from polysched.config.heuristics.nest import COPY_IN_LANES
from polysched.config.machine import Machine
from polysched.ir.graph.operations import Graph, Operation, Value
from polysched.networks.array import shape_of
from polysched.networks.groups import Group
from polysched.networks.operators.all import OPERATORS

_FOLLOW = ("MaxPool", "AveragePool", "LRN", "Concat", "Pad", "Resize", "GlobalAveragePool", "GlobalMaxPool")


def values_last(graph: Graph, groups: Sequence[Group], constants: Set[str], machine: Machine) -> frozenset[str]:
    """The names of such values; `constants` names those of the graph."""
    fixed, readers = _fixed(graph), _readers(groups)
    last: set[str] = set()
    for group in groups:
        outputs = {value.name for value in group.outputs}
        if not fixed.isdisjoint(outputs) or any(len(shape_of(value)) < 3 for value in group.outputs):
            continue
        if group.operations[0].kind == "Conv":
            gain = _gain(group, machine) if group.operations[0].operands[1].name in constants else -1
            wanted = any(_may_follow(reader, fixed) for name in outputs for reader in readers.get(name, []))
            is_last = gain >= (0 if wanted else COPY_IN_LANES)
        else:
            is_last = _follows(group, last, constants)
        if is_last:
            last |= outputs
    return frozenset(last)


def _gain(group: Group, machine: Machine) -> float:
    """The part of its lanes that a convolution uses more along channels than along pixels; of each channel by itself,
    these are the pixels of a row."""
    first = group.operations[0]
    shape, dtype = shape_of(first.results[0]), first.results[0].type.dtype
    is_by_itself = shape_of(first.operands[1])[1] == 1
    lanes = 8 * machine.vector_bytes // dtype.bits
    return _used(shape[1], lanes) - _used(shape[-1] if is_by_itself else prod(shape[2:]), lanes)


def _used(extent: int, lanes: int) -> float:
    return extent / (lanes * ceil(extent / lanes))


def _readers(groups: Sequence[Group]) -> dict[str, list[Group]]:
    found: dict[str, list[Group]] = {}
    for group in groups:
        for value in group.inputs:
            found.setdefault(value.name, []).append(group)
    return found


def _may_follow(group: Group, fixed: Set[str]) -> bool:
    """Does it read channels that lie last without a copy, since it stores them so, or has none?"""
    return any(value.name not in fixed for value in group.outputs)


def _fixed(graph: Graph) -> set[str]:
    """Values that have to lie as the file has it, where that makes a difference: results, and what views show."""
    shown = [each.operands[0] for each in graph.body.operations if each.kind == "View"]
    return {value.name for value in (*graph.body.results, *shown) if not _is_either(value)}


def _is_either(value: Value) -> bool:
    """Are both layouts the same?"""
    shape = shape_of(value)
    return len(shape) < 3 or shape[1] == 1 or prod(shape[2:]) == 1


def _follows(group: Group, last: Set[str], constants: Set[str]) -> bool:
    follows = all(each.kind in _FOLLOW or OPERATORS[each.kind].pointwise for each in group.operations)
    read = _data(group.operations[0], constants)
    return follows and bool(read) and all(value.name in last for value in read)


def _data(operation: Operation, constants: Set[str]) -> list[Value]:
    """The operands with channels and pixels."""
    return [v for v in operation.operands if v.name and v.name not in constants and not _is_either(v)]
