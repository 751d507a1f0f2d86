"""Elimination of dead operations and of common subexpressions in an operation graph.

    %Cast_1 = Cast(%x) {to = f32}
    %Cast_2 = Cast(%x) {to = f32}       ->      %Cast_1 = Cast(%x) {to = f32}
    %y = Add(%Cast_1, %Cast_2)                  %y = Add(%Cast_1, %Cast_1)
    %z = Exp(%x)                                yield %y
    yield %y

Dead operations go first. Then one walk in the order of execution merges an operation with an earlier one of the same
kind, operands, attributes and types of results, whose values reach it for certain; since operands are replaced on the
way, what becomes equal by that merges in the same walk. The first operation stays, with all of its names, attributes
and its place in the source.

Operations that read memory merge in one block, up to a write of that memory; those that write, have other effects or
regions never do. In a region of several blocks nothing merges and nothing goes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from polysched.ir.available import Available
from polysched.ir.graph.operations import Block, Effects, Graph, Operation, Region, Value

Key = Callable[[Operation], Hashable]
N = TypeVar("N", Graph, Block, Region, Operation)


def all_attributes(operation: Operation) -> Hashable:
    """The key function by which all attributes matter."""
    return operation.attributes


def ignoring(*names: str) -> Key:
    """The key function by which all attributes matter but those of these names."""
    return lambda operation: tuple(item for item in operation.attributes if item[0] not in names)


@dataclass(frozen=True)
class Eliminated:
    """A graph, and how it became what it is."""

    graph: Graph
    removed: tuple[str, ...]  # names of the first results of dead operations, or their kinds, in the order of execution
    merged: tuple[tuple[str, str], ...]  # names of the first results: (the one that went, the one that is used now)


def eliminate(graph: Graph, *, key: Key = all_attributes) -> Eliminated:
    """`graph` without dead operations, with equal ones merged; the same object if there are none.

    `key`: what of an operation's attributes matters; what it leaves out may differ between operations that merge.
    """
    removed: list[str] = []
    body = _without_dead(graph.body, {value.name for value in graph.body.results}, removed)
    merger = _Merger(key)
    body = merger.block(body)
    return Eliminated(_with(graph, body=body), tuple(reversed(removed)), tuple(merger.merged))


# --- dead operations


def _without_dead(block: Block, live: set[str], removed: list[str]) -> Block:
    """`block` without operations whose results are not `live`, which grows by what the others use."""
    kept: list[Operation] = []
    for operation in reversed(block.operations):
        used = any(result.name in live for result in operation.results)
        if operation.all_effects.can_be_left_out and not used:
            removed.append(_label(operation))
            continue
        regions = tuple(_live_region(region, live, removed) for region in reversed(operation.regions))[::-1]
        live.update(operand.name for operand in operation.operands)
        kept.append(_with(operation, regions=regions))
    return _with(block, operations=tuple(reversed(kept)))


def _live_region(region: Region, live: set[str], removed: list[str]) -> Region:
    for block in region.blocks:
        live.update(value.name for value in block.results)
    if len(region.blocks) == 1:
        return _with(region, blocks=(_without_dead(region.blocks[0], live, removed),))
    live.update(_used(region))
    return region


def _used(region: Region) -> Iterable[str]:
    """The names of all values that are used in the region."""
    for block in region.blocks:
        yield from (value.name for value in block.results)
        for operation in block.operations:
            yield from (value.name for value in operation.operands)
            for inner in operation.regions:
                yield from _used(inner)


# --- equal operations


class _Merger:
    def __init__(self, key: Key):
        self.key = key
        self.available: Available[Operation] = Available()
        self.values: dict[str, Value] = {}  # of merged operations: what is used in their place
        self.merged: list[tuple[str, str]] = []

    def block(self, block: Block, merges: bool = True) -> Block:
        kept: list[Operation] = []
        for operation in block.operations:
            new = self.operation(operation, merges)
            earlier = self.merge(new) if merges and _may_merge(new) else None
            if earlier is None:
                kept.append(new)
            self.happened(new.all_effects)
        return _with(block, operations=tuple(kept), results=self.replaced(block.results))

    def operation(self, operation: Operation, merges: bool) -> Operation:
        """`operation` with the values that stand for its operands, and with what is equal in its regions merged."""
        regions = tuple(self.region(region, merges) for region in operation.regions)
        return _with(operation, operands=self.replaced(operation.operands), regions=regions)

    def region(self, region: Region, merges: bool) -> Region:
        """... if it `merges` and has one block; in several, only values from outside of it are replaced."""
        merges = merges and len(region.blocks) == 1
        with self.available.block():
            return _with(region, blocks=tuple(self.block(block, merges) for block in region.blocks))

    def merge(self, operation: Operation) -> Operation | None:
        """The earlier operation that has these results, which stand for them from now on; None if there is none."""
        key = (
            operation.kind,
            operation.operands,
            self.key(operation),
            tuple(result.type for result in operation.results),
            self.available.stamp(operation.effects.reads) if operation.effects.reads else (),
        )
        earlier = self.available.find(key)
        if earlier is None:
            self.available.add(key, operation)
            return None
        for old, new in zip(operation.results, earlier.results, strict=True):
            self.values[old.name] = new
        self.merged.append((_label(operation), _label(earlier)))
        return earlier

    def happened(self, effects: Effects) -> None:
        self.available.write(effects.writes)
        if effects.other:
            self.available.write_all()

    def replaced(self, values: tuple[Value, ...]) -> tuple[Value, ...]:
        return tuple(self.values.get(value.name, value) for value in values)


def _may_merge(operation: Operation) -> bool:
    return bool(operation.results) and not operation.regions and operation.effects.can_be_left_out


def _label(operation: Operation) -> str:
    return operation.results[0].name if operation.results else operation.kind


def _with(node: N, **parts: Any) -> N:
    """The node with these parts, the same object if it has them."""
    return node if all(getattr(node, name) == part for name, part in parts.items()) else replace(node, **parts)
