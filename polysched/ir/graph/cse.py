"""Elimination of dead operations and of common subexpressions in an operation graph.

    %Cast_1 = Cast(%x) {to = f32}
    %Cast_2 = Cast(%x) {to = f32}       ->      %Cast_1 = Cast(%x) {to = f32}
    %y = Add(%Cast_1, %Cast_2)                  %y = Add(%Cast_1, %Cast_1)
    %z = Exp(%x)                                yield %y
    yield %y

Dead operations go first. Then one walk in the order of execution merges an operation with an earlier one of the same
kind, operands, attributes and types of results; since operands are replaced on the way, what becomes equal by that
merges in the same walk. The first operation stays, with all of its names and its place in the source.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

from polysched.ir.graph.operations import Graph, Operation, Value


def eliminate(graph: Graph) -> Graph:
    """`graph` without dead operations, with equal ones merged."""
    first: dict[Hashable, Operation] = {}
    same: dict[str, Value] = {}  # for the results of merged operations, what is used in their place

    def replaced(values: tuple[Value, ...]) -> tuple[Value, ...]:
        return tuple(same.get(value.name, value) for value in values)

    for operation in _live(graph):
        operation = replace(operation, operands=replaced(operation.operands))
        types = tuple(result.type for result in operation.results)
        earlier = first.setdefault((operation.kind, operation.operands, operation.attributes, types), operation)
        if earlier is not operation:
            same |= {old.name: new for old, new in zip(operation.results, earlier.results, strict=True)}
    body = replace(graph.body, operations=tuple(first.values()), results=replaced(graph.body.results))
    return replace(graph, body=body)


def _live(graph: Graph) -> list[Operation]:
    """The operations whose results are used."""
    live = {value.name for value in graph.body.results}
    kept: list[Operation] = []
    for operation in reversed(graph.body.operations):
        if any(result.name in live for result in operation.results):
            live.update(operand.name for operand in operation.operands)
            kept.append(operation)
    return kept[::-1]
