"""Which nodes share a kernel: an anchor, and behind it nodes that compute element by element what it gives.

    %y = Conv(%x, %w, %b)
    %z = Relu(%y)                 ->      one kernel: Conv, Relu, Add
    %s = Add(%z, %r)

A node joins the group of an operand that no other group reads, of its own shape; its other operands are computed before
the group runs, which is where its last node stands. `View`s are no nodes of kernels: they are other shapes of a buffer.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from polysched.ir.graph.operations import Graph, Operation, Value
from polysched.networks.operators.all import OPERATORS

_ALONE = ("Concat", "Split", "Pad")  # several loops, or a copy, in whose stores nothing is to be computed
_NOT_COMPUTED = ("Const", "View")


@dataclass(frozen=True)
class Group:
    """Nodes of one kernel, in order."""

    operations: tuple[Operation, ...]
    inputs: tuple[Value, ...]  # constants among them
    outputs: tuple[Value, ...]

    @property
    def title(self) -> str:
        return " + ".join(each.kind for each in self.operations)


def grouped(graph: Graph, *, fuse: bool = True) -> tuple[Group, ...]:
    """The groups in the order in which they run."""
    operations = [each for each in graph.body.operations if each.kind not in _NOT_COMPUTED]
    readers = _readers(graph)
    group_of: dict[str, int] = {}  # by the name of a result
    members: list[list[Operation]] = []
    for operation in operations:
        home = _home(operation, group_of, members, readers) if fuse else None
        if home is None:
            home = len(members)
            members.append([])
        else:  # it runs where its last node stands
            members.append(members[home])
            members[home], home = [], len(members) - 1
            group_of.update({r.name: home for each in members[home] for r in each.results})
        members[home].append(operation)
        group_of.update({result.name: home for result in operation.results})
    return tuple(_group(each, readers) for each in members if each)


def _readers(graph: Graph) -> dict[str, list[Operation | None]]:
    """Who reads a value; None stands for the caller, who has the results."""
    found: dict[str, list[Operation | None]] = {}
    for operation in graph.body.operations:
        for operand in operation.operands:
            found.setdefault(operand.name, []).append(operation)
    for result in graph.body.results:
        found.setdefault(result.name, []).append(None)
    return found


def _home(
    operation: Operation,
    group_of: dict[str, int],
    members: list[list[Operation]],
    readers: dict[str, list[Operation | None]],
) -> int | None:
    """The group that the node joins."""
    if not OPERATORS[operation.kind].pointwise or len(operation.results) != 1:
        return None
    homes = {group_of[v.name] for v in operation.operands if v.name in group_of and v.type.shape == _shape(operation)}
    for home in sorted(homes, reverse=True):
        inside = members[home]
        if any(each.kind in _ALONE for each in inside) or len(inside[0].results) != 1:
            continue
        if _shape(inside[-1]) != _shape(operation):
            continue
        outside = {
            id(reader)
            for each in inside
            for result in each.results
            for reader in readers.get(result.name, [])
            if not any(reader is own for own in inside)
        }
        if outside == {id(operation)}:
            return home
    return None


def _shape(operation: Operation) -> tuple[object, ...]:
    return operation.results[0].type.shape


def _group(operations: Iterable[Operation], readers: dict[str, list[Operation | None]]) -> Group:
    inside = tuple(operations)
    made = {result.name for each in inside for result in each.results}
    inputs = dict.fromkeys(v for each in inside for v in each.operands if v.name and v.name not in made)
    outputs = [
        result
        for each in inside
        for result in each.results
        if any(not any(reader is own for own in inside) for reader in readers.get(result.name, []))
    ]
    return Group(inside, tuple(inputs), tuple(outputs))
