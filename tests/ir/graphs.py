"""What holds of every operation graph, and effects to make graphs with."""

from collections.abc import Iterable

from polysched.ir.graph.operations import Block, Effects, Graph, Region, Value
from polysched.support.dominators import dominators

OTHER = Effects(other=True)


def reads(*names: str) -> Effects:
    return Effects(reads=frozenset(names))


def writes(*names: str) -> Effects:
    return Effects(writes=frozenset(names))


def verify(graph: Graph) -> None:
    """AssertionError if a name is defined twice, a value is used where no definition of it reaches for certain or with
    another type, attributes are not sorted by name, or a successor is no block of its region."""
    _Verifier(graph.name).block(graph.body, {})
    assert not graph.body.successors, f"{graph.name}: the body is no region and has no successors"


class _Verifier:
    def __init__(self, name: str):
        self.name = name
        self.defined: set[str] = set()

    def block(self, block: Block, outer: dict[str, Value]) -> dict[str, Value]:
        """All that is known at the end of the block."""
        known = dict(outer)
        self.define(block.arguments, known)
        for operation in block.operations:
            self.use(operation.operands, known, operation.kind)
            names = [name for name, _ in operation.attributes]
            assert names == sorted(set(names)), f"{self.name}: attributes of {operation.kind} are not sorted: {names}"
            for region in operation.regions:
                self.region(region, known)
            self.define(operation.results, known)
        self.use(block.results, known, "yield")
        return known

    def region(self, region: Region, outer: dict[str, Value]) -> None:
        assert region.blocks, f"{self.name}: a region has no block"
        every = range(len(region.blocks))
        for number, block in enumerate(region.blocks):
            for to in block.successors:
                assert to in every, f"{self.name}: block {number} goes to block {to}, but the last is {every[-1]}"
        above = dominators([block.successors for block in region.blocks])
        known: dict[int, dict[str, Value]] = {}
        for number in (*above, *(number for number in every if number not in above)):
            reaching = dict(outer)
            for other, names in known.items():
                if above.get(number, -1) >> other & 1:  # all of them, if no way leads to the block
                    reaching |= names
            known[number] = self.block(region.blocks[number], reaching)

    def define(self, values: Iterable[Value], known: dict[str, Value]) -> None:
        for value in values:
            assert value.name not in self.defined, f"{self.name}: %{value.name} is defined twice"
            self.defined.add(value.name)
            known[value.name] = value

    def use(self, values: Iterable[Value], known: dict[str, Value], kind: str) -> None:
        for value in values:
            assert value.name in known, f"{self.name}: {kind} uses %{value.name}, which is not defined for certain here"
            found = known[value.name].type
            assert found == value.type, f"{self.name}: {kind} uses %{value.name} as {value.type}, but it is {found}"
