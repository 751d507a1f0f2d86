"""Which buffer each value of a network lies in: an input, a result, a constant, or a place in the arena.

A `View` has the buffer of what it shows. A result is stored straight to the caller's array, unless it is an input, a
constant or a second name of another result: that is copied.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from polysched.ir.dtypes import DType
from polysched.ir.graph.operations import Graph, Value
from polysched.networks.arena import Arena, Life, placed
from polysched.networks.array import shape_of
from polysched.networks.kernels import Run


@dataclass(frozen=True)
class Plan:
    inputs: tuple[Value, ...]
    results: tuple[tuple[str, Value], ...]  # the names in the file, and their values
    roots: Mapping[str, str]  # of a view, or a copied result, the value whose buffer it shows
    direct: Mapping[str, int]  # values that are stored to a result, by its number
    copied: tuple[tuple[int, str], ...]  # results that are copied at the end, from the buffer of a value
    arena: Arena

    def root(self, name: str) -> str:
        return self.roots.get(name, name)


def planned(graph: Graph, calls: Sequence[Run], names: Sequence[str]) -> Plan:
    """The plan; results of the graph behind those that have names are what guards tell, and kept to the end."""
    roots = _roots(graph)
    values = {value.name: value for call in calls for value in call.group.outputs}
    results = tuple(zip(names, graph.body.results, strict=False))
    guards = [value.name for value in graph.body.results[len(names) :]]
    direct: dict[str, int] = {}
    copied = []
    for number, (_, value) in enumerate(results):
        root = roots.get(value.name, value.name)
        if root in values and root not in direct:
            direct[root] = number
        else:
            copied.append((number, root))
    lives = _lives(calls, roots, {name: v for name, v in values.items() if name not in direct})
    lives |= {name: replace(lives[name], last=len(calls)) for name in guards if name in lives}
    return Plan(graph.body.arguments, results, roots, direct, tuple(copied), placed(lives))


def _roots(graph: Graph) -> dict[str, str]:
    roots: dict[str, str] = {}
    for operation in graph.body.operations:
        if operation.kind == "View":
            of = operation.operands[0].name
            roots[operation.results[0].name] = roots.get(of, of)
    return roots


def _lives(calls: Sequence[Run], roots: Mapping[str, str], values: Mapping[str, Value]) -> dict[str, Life]:
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for number, call in enumerate(calls):
        for argument in call.arguments.values():
            if isinstance(argument, str) and (root := roots.get(argument, argument)) in values:
                first.setdefault(root, number)
                last[root] = number
    return {name: Life(first[name], last[name], bytes_of(value)) for name, value in values.items() if name in first}


def bytes_of(value: Value) -> int:
    return elements(value) * width(value.type.dtype)


def elements(value: Value) -> int:
    return prod(shape_of(value))


def width(dtype: DType) -> int:
    return np.dtype(dtype.numpy).itemsize
