"""The operation graph: operations in SSA form with attributes; a program of operators is one.

    graph f(%x: f64[n, 4]):
        %v0 = Cast(%x) {to = f32} : f32[n, 4]
        %v1 = Exp(%v0) : f32[n, 4]
        yield %v1

    Graph ::= name, Block         Block ::= arguments, Operation*, results
    Operation ::= kind, operands, results, attributes

Meaning, stated once:
- A value is defined once, by an operation or as the argument of the block, and is known by its name.
- The operations of a block run in order; all that they do is to give results, which kind, operands and attributes
  determine.
- Which kinds there are, and what they compute, the makers of graphs know.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field

from polysched.errors import Loc
from polysched.ir.dtypes import DType
from polysched.ir.nodes import Expr
from polysched.ir.rename import fresh_names
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
class Block:
    arguments: tuple[Value, ...] = ()
    operations: tuple[Operation, ...] = ()
    results: tuple[Value, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Operation:
    kind: str
    operands: tuple[Value, ...] = ()
    results: tuple[Value, ...] = ()
    attributes: tuple[tuple[str, Hashable], ...] = ()  # sorted by name
    loc: Loc | None = field(default=None, compare=False)


@dataclass(frozen=True, repr=False)
class Graph(Brief):
    name: str
    body: Block

    def __str__(self) -> str:
        arguments = ", ".join(f"%{value.name}: {value.type}" for value in self.body.arguments)
        lines = map(_line, self.body.operations)
        return "\n".join([f"graph {self.name}({arguments}):", *lines, f"    yield {_names(self.body.results)}"])


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
        loc: Loc | None = None,
        **attributes: Hashable,
    ) -> tuple[Value, ...]:
        """The results of a new operation at the end of the block."""
        given = iter(names)
        results = tuple(Value(next(given, None) or next(fresh_names("v", self.taken)), type) for type in types)
        self.taken.update(result.name for result in results)
        operation = Operation(
            kind=kind,
            operands=operands,
            results=results,
            attributes=tuple(sorted(attributes.items())),
            loc=loc,
        )
        self.operations.append(operation)
        return results

    def give(self, argument: Value) -> None:
        """One more argument of the block."""
        assert argument.name not in self.taken, f"%{argument.name} is defined twice"
        self.arguments = (*self.arguments, argument)
        self.taken.add(argument.name)

    def block(self, *results: Value) -> Block:
        return Block(self.arguments, tuple(self.operations), results)


# --- text


def _line(operation: Operation) -> str:
    attributes = ", ".join(f"{name} = {value}" for name, value in operation.attributes)
    braces = f" {{{attributes}}}" if attributes else ""
    types = ", ".join(str(result.type) for result in operation.results)
    return f"    {_names(operation.results)} = {operation.kind}({_names(operation.operands)}){braces} : {types}"


def _names(values: Iterable[Value]) -> str:
    return ", ".join(f"%{value.name}" for value in values)
