"""Places that are not known before a network runs are kept inside of what they count, and it is told if they were not.

    %y = Gather(%x, %i) : f32[2], %x : f32[4]     ->     %in = Within(%i) {least = (-4,), most = (3,)}
                                                         %out = Outside(%i) {least = (-4,), most = (3,)} : bool[]
                                                         %y = Gather(%x, %in)

So no place leads out of an array, whatever computes it; a call that was given such places ends with an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from polysched.ir.dtypes import boolean
from polysched.ir.graph.operations import Graph, Operation, TensorType, Value
from polysched.ir.rename import fresh_names
from polysched.networks.passes.places import bounds_of

Attributes = tuple[tuple[str, tuple[int, ...]], ...]


@dataclass(frozen=True)
class Guard:
    value: str  # that is true if places were outside
    message: str


def guarded(graph: Graph) -> tuple[Graph, tuple[Guard, ...]]:
    """`graph`, with what guards tell among its results, behind its own."""
    maker = {result.name: each for each in graph.body.operations for result in each.results}
    taken = set(maker) | {value.name for value in graph.body.arguments}
    made: dict[tuple[str, Attributes], tuple[Operation, Operation]] = {}  # by what is guarded
    operations: list[Operation] = []
    guards: dict[str, Guard] = {}
    for operation in graph.body.operations:
        bounds = bounds_of(operation)
        if bounds is None or _is_constant(operation.operands[bounds.operand], maker):
            operations.append(operation)
            continue
        places, attributes = operation.operands[bounds.operand], (("least", bounds.least), ("most", bounds.most))
        key = places.name, attributes
        if key not in made:
            made[key] = _pair(places, attributes, taken)
            operations += made[key]
        within, outside = (each.results[0] for each in made[key])
        reader = f"%{operation.results[0].name} ({operation.kind})"
        told = (
            f"'{places.name}' gives places to {reader} that are not from {_text(bounds.least)} to {_text(bounds.most)}"
        )
        guards.setdefault(outside.name, Guard(outside.name, told))
        operands = tuple(within if k == bounds.operand else each for k, each in enumerate(operation.operands))
        operations.append(replace(operation, operands=operands))
    if not guards:
        return graph, ()
    flags = tuple(pair[1].results[0] for pair in made.values())
    body = replace(graph.body, operations=tuple(operations), results=(*graph.body.results, *flags))
    return replace(graph, body=body), tuple(guards.values())


def _pair(places: Value, attributes: Attributes, taken: set[str]) -> tuple[Operation, Operation]:
    within = Value(_free(f"{places.name}.within", taken), places.type)
    outside = Value(_free(f"{places.name}.outside", taken), TensorType(boolean))
    return (
        Operation(kind="Within", operands=(places,), results=(within,), attributes=attributes),
        Operation(kind="Outside", operands=(places,), results=(outside,), attributes=attributes),
    )


def _free(name: str, taken: set[str]) -> str:
    found = name if name not in taken else next(fresh_names(name, taken))
    taken.add(found)
    return found


def _text(numbers: tuple[int, ...]) -> str:
    return str(numbers[0]) if len(numbers) == 1 else str(numbers)


def _is_constant(value: Value, maker: Mapping[str, Operation]) -> bool:
    operation = maker.get(value.name)
    return operation is not None and (
        operation.kind == "Const" or (operation.kind == "View" and _is_constant(operation.operands[0], maker))
    )
