"""Places that inputs and constants give to gathers and scatters: checked before anything runs.

    %y = Gather(%x, %i) : f32[2], %x : f32[4]      ->      elements of i are from -4 to 3

Also through casts and views. `guards.py` sees to all places that are no constants while the network runs; here the
message can say which is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod

import numpy as np

from polysched.ir.graph.operations import Graph, Operation, Value
from polysched.networks.array import shape_of

_ALONG_AN_AXIS = ("Gather", "GatherElements", "ScatterElements", "Scatter")


@dataclass(frozen=True)
class Places:
    name: str  # of the input or constant
    shape: tuple[int, ...]  # in which its last axis counts
    least: np.ndarray  # one for all, or one for each index of the last axis
    most: np.ndarray
    reader: str

    def fault(self, content: np.ndarray) -> str:
        """What is wrong with these places; nothing if they are inside."""
        found = content.reshape(self.shape or (1,))
        outside = (found < self.least) | (found > self.most)
        if not outside.any():
            return ""
        at = tuple(np.argwhere(outside)[0])
        least, most = (np.broadcast_to(bound, found.shape)[at] for bound in (self.least, self.most))
        return f"'{self.name}' gives the place {found[at]} to {self.reader}, which has {least} to {most}"


def places_of(graph: Graph) -> tuple[Places, ...]:
    maker = {result.name: each for each in graph.body.operations for result in each.results}
    return tuple(found for each in graph.body.operations for found in _of(each, maker))


def _of(operation: Operation, maker: Mapping[str, Operation]) -> Iterator[Places]:
    if (bounds := bounds_of(operation)) is None:
        return
    of = operation.operands[bounds.operand]
    if source := _source(of, maker):
        reader = f"%{operation.results[0].name} ({operation.kind})"
        yield Places(source, shape_of(of), np.array(bounds.least), np.array(bounds.most), reader)


@dataclass(frozen=True)
class Bounds:
    """What places may be: numbers, or one for each index of their last axis."""

    operand: int  # which one has the places
    least: tuple[int, ...]
    most: tuple[int, ...]


def bounds_of(operation: Operation) -> Bounds | None:
    """None for operators that take no places, or none that have to be inside."""
    given, extents = dict(operation.attributes), [shape_of(each) for each in operation.operands]

    def extent(name: str, usual: int = 0) -> int:
        return extents[0][int(str(given.get(name, usual)))]

    match operation.kind:
        case kind if kind in _ALONG_AN_AXIS:
            return Bounds(1, (-extent("axis"),), (extent("axis") - 1,))
        case "GatherND" | "ScatterND":
            first, depth = int(str(given.get("batch_dims", 0))), extents[1][-1]
            counted = extents[0][first : first + depth]
            return Bounds(1, tuple(-n for n in counted), tuple(n - 1 for n in counted))
        case "ReverseSequence":
            return Bounds(1, (0,), (extent("time_axis"),))
        case "RoiAlign":
            return Bounds(2, (0,), (extents[0][0] - 1,))
        case "MaxUnpool" if len(extents) < 3:
            return Bounds(1, (0,), (prod(shape_of(operation.results[0])) - 1,))
        case "TensorScatter" if len(extents) > 2 and given.get("mode", "linear") == "linear":
            axis = int(str(given.get("axis", -2)))
            return Bounds(2, (0,), (extents[0][axis] - extents[1][axis],))
    return None


def _source(value: Value, maker: Mapping[str, Operation]) -> str:
    """The input or constant whose elements these are; nothing if they are computed."""
    operation = maker.get(value.name)
    if operation is None or operation.kind == "Const":
        return value.name
    if operation.kind == "View" or (operation.kind == "Cast" and not operation.operands[0].type.dtype.is_float):
        return _source(operation.operands[0], maker)
    return ""
