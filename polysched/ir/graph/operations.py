"""The operation graph: operations in SSA form with attributes, effects and regions; a program of operators is one.

    graph f(%x: f64[n, 4]):
        %v0 = Cast(%x) {to = f32} : f32[n, 4]
        %v1 = If(%c) : f32[n, 4]
            do:
                %v2 = Exp(%v0) : f32[n, 4]
                yield %v2
            do:
                yield %v0
        yield %v1

    Graph ::= name, Block         Block ::= arguments, Operation*, results, successors
    Operation ::= kind, operands, results, attributes, Region*, Effects         Region ::= Block+

Meaning, stated once:
- A value is defined once, by an operation or as the argument of a block, and is known by its name.
- The operations of a block run in order. A region's first block is entered with the arguments that the operation gives.
- A block hands its results to the arguments of one of its successors, blocks of the same region by number; one without
  successors hands them to the operation around it. A region of one block is what most operations need.
- Which kinds there are, and what they compute, the makers of graphs know; a pass knows effects, and how often a region
  runs it does not.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field

from polysched.errors import Loc
from polysched.ir.dtypes import DType
from polysched.ir.nodes import Expr
from polysched.support.brief import Brief


@dataclass(frozen=True)
class TensorType:
    dtype: DType
    shape: tuple[Expr | int, ...] = ()  # extents, expressions in the sizes; () is a scalar

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"


@dataclass(frozen=True)
class Value:
    name: str
    type: TensorType


@dataclass(frozen=True)
class Effects:
    """What an operation does beside giving results that its operands and attributes determine."""

    reads: frozenset[str] = frozenset()  # names of memory; different names are different memory
    writes: frozenset[str] = frozenset()
    other: bool = False  # anything else: random numbers, state, input and output, calls of who knows what

    @property
    def can_be_left_out(self) -> bool:
        """Whether nobody notices if an operation does not run whose results are not used."""
        return not self.writes and not self.other

    def __or__(self, more: Effects) -> Effects:
        return Effects(self.reads | more.reads, self.writes | more.writes, self.other or more.other)


PURE = Effects()


@dataclass(frozen=True)
class Block:
    arguments: tuple[Value, ...] = ()
    operations: tuple[Operation, ...] = ()
    results: tuple[Value, ...] = ()
    successors: tuple[int, ...] = ()


@dataclass(frozen=True)
class Region:
    blocks: tuple[Block, ...]


@dataclass(frozen=True, kw_only=True)
class Operation:
    kind: str
    operands: tuple[Value, ...] = ()
    results: tuple[Value, ...] = ()
    attributes: tuple[tuple[str, Hashable], ...] = ()  # sorted by name
    regions: tuple[Region, ...] = ()
    effects: Effects = PURE  # its own; `all_effects` has those of its regions, too
    loc: Loc | None = field(default=None, compare=False)

    @property
    def all_effects(self) -> Effects:
        total = self.effects
        for region in self.regions:
            for block in region.blocks:
                for operation in block.operations:
                    total |= operation.all_effects
        return total


@dataclass(frozen=True, repr=False)
class Graph(Brief):
    name: str
    body: Block

    def __str__(self) -> str:
        return show(self)


class Builder:
    """Appends operations to a block, and names their results: %v0, %v1, ... where no name is given."""

    def __init__(self, *arguments: Value):
        self.arguments = arguments
        self.operations: list[Operation] = []
        self.taken = {argument.name for argument in arguments}

    def add(
        self,
        kind: str,
        *operands: Value,
        types: Iterable[TensorType],
        names: Iterable[str] = (),
        regions: Iterable[Region] = (),
        effects: Effects = PURE,
        loc: Loc | None = None,
        **attributes: Hashable,
    ) -> tuple[Value, ...]:
        """The results of a new operation at the end of the block."""
        given = iter(names)
        results = tuple(Value(next(given, None) or self._fresh(), type) for type in types)
        self.taken.update(result.name for result in results)
        operation = Operation(
            kind=kind,
            operands=operands,
            results=results,
            attributes=tuple(sorted(attributes.items())),
            regions=tuple(regions),
            effects=effects,
            loc=loc,
        )
        self.operations.append(operation)
        return results

    def give(self, argument: Value) -> None:
        """One more argument of the block."""
        assert argument.name not in self.taken, f"%{argument.name} is defined twice"
        self.arguments = (*self.arguments, argument)
        self.taken.add(argument.name)

    def inner(self, *arguments: Value) -> Builder:
        """A builder for a block below this one, which shares its names."""
        builder = Builder(*arguments)
        self.taken.update(builder.taken)
        builder.taken = self.taken
        return builder

    def block(self, *results: Value, successors: tuple[int, ...] = ()) -> Block:
        return Block(self.arguments, tuple(self.operations), results, successors)

    def _fresh(self) -> str:
        k = 0
        while f"v{k}" in self.taken:
            k += 1
        return f"v{k}"


# --- text


def show(graph: Graph) -> str:
    """The text of a graph, without a newline at its end."""
    return "\n".join([f"graph {graph.name}({_typed(graph.body.arguments)}):", *_block(graph.body, "    ")])


def _block(block: Block, indent: str) -> Iterator[str]:
    for operation in block.operations:
        yield from _operation(operation, indent)
    to = f" to {', '.join(f'block {k}' for k in block.successors)}" if block.successors else ""
    yield f"{indent}yield {_names(block.results)}".rstrip() + to


def _operation(operation: Operation, indent: str) -> Iterator[str]:
    results = f"{_names(operation.results)} = " if operation.results else ""
    attributes = ", ".join(f"{name} = {value}" for name, value in operation.attributes)
    types = f" : {', '.join(str(result.type) for result in operation.results)}" if operation.results else ""
    braces = f" {{{attributes}}}" if attributes else ""
    yield f"{indent}{results}{operation.kind}({_names(operation.operands)}){braces}{types}{_effects(operation.effects)}"
    for region in operation.regions:
        for number, block in enumerate(region.blocks):
            label = "do" if len(region.blocks) == 1 else f"block {number}"
            arguments = f"({_typed(block.arguments)})" if block.arguments else ""
            yield f"{indent}    {label}{arguments}:"
            yield from _block(block, indent + " " * 8)


def _effects(effects: Effects) -> str:
    parts = [f"reads {', '.join(sorted(effects.reads))}" if effects.reads else ""]
    parts += [f"writes {', '.join(sorted(effects.writes))}" if effects.writes else ""]
    parts += ["has effects" if effects.other else ""]
    text = "; ".join(part for part in parts if part)
    return f"  # {text}" if text else ""


def _names(values: Iterable[Value]) -> str:
    return ", ".join(f"%{value.name}" for value in values)


def _typed(values: Iterable[Value]) -> str:
    return ", ".join(f"%{value.name}: {value.type}" for value in values)
