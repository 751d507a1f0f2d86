"""Which values of a graph get an array, and which do not, as far as the graph tells.

%v0 = Slice(%x) ...              views do not, nor does what is cheap, unless it is read many times
%v1 = MatMul(%a, %b)             does where a view of it is read
%v2 = BinaryType::Mod(%i, %n)    does where it is a subscript: that would not be affine
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from polysched.config.heuristics.nest import CHEAP_OPERATIONS, OPERATIONS_OF_A_CALL
from polysched.ir.graph.operations import Operation


@dataclass(frozen=True)
class Storing:
    """With `values_first`, what is stored in place is computed before, in an array of its own."""

    operations: Sequence[Operation]
    made_by: Mapping[str, Operation]  # the operation that gives a value
    results: set[str]
    values_first: bool

    def inline(self, operation: Operation) -> bool | None:
        """What `compute` takes: True for no array, False for one, None where the tensor layer decides."""
        name = operation.results[0].name
        is_modular = self.is_subscript(name) and self.is_modular(name)
        if is_modular or self.is_stored_later(operation) or self.is_viewed(operation):
            return False
        return True if self.is_recomputed(operation) else None

    def is_recomputed(self, operation: Operation) -> bool:
        """Should each reader compute the elements for itself?"""
        name = operation.results[0].name
        if name in self.results or operation.kind in _VIEWS:  # what subscripts of views cost, the tensor layer knows
            return False
        return self.costs[name] <= CHEAP_OPERATIONS and not self.is_reduced(name)

    def is_viewed(self, operation: Operation) -> bool:
        """Does a view, which gets no array, read what is not element-wise and so needs one?"""
        if operation.kind in _VIEWS or operation.kind.startswith(_ELEMENTWISE):
            return False
        return any(one.kind in _VIEWS for one in self.readers(operation.results[0].name))

    def is_subscript(self, name: str) -> bool:
        """Does the value choose elements of another one?"""
        chosen = {"Gather": 1, "Scatter": 2}  # the first operand that is an index
        readers = (one for one in self.operations if one.kind in chosen)
        return any(name in [index.name for index in one.operands[chosen[one.kind] :]] for one in readers)

    def is_modular(self, name: str) -> bool:
        """Is it computed with products, quotients or remainders by sizes, which no affine subscript is?"""
        operation = self.made_by.get(name)
        if operation is None or not (operation.kind in _VIEWS or operation.kind.startswith(_ELEMENTWISE)):
            return False
        operands = [operand.name for operand in operation.operands]
        are_constant = [name in self.made_by and self.made_by[name].kind == "Const" for name in operands]
        match operation.kind:
            case "BinaryType::Mod" | "BinaryType::FloorDiv" if not are_constant[1]:
                return True
            case "BinaryType::Mul" if not any(are_constant):
                return True
        return any(map(self.is_modular, operands))

    def is_stored_later(self, operation: Operation) -> bool:
        """Must the elements be computed before what an update stores them to is changed?"""
        if not self.values_first or operation.kind in ("Const", "Size"):
            return False
        return operation.results[0].name in [one.operands[1].name for one in self.operations if one.kind == "Update"]

    def is_reduced(self, name: str) -> bool:
        """Is the value, or a view of it, read by an operation that reads elements many times?"""
        readers = [one for one in self.readers(name) if one.kind not in ("Update", "Stack", "Concatenate", "Pad")]
        return any(
            self.is_reduced(one.results[0].name) if one.kind in _VIEWS else not one.kind.startswith(_ELEMENTWISE)
            for one in readers
        )

    def readers(self, name: str) -> list[Operation]:
        return [one for one in self.operations if name in [operand.name for operand in one.operands]]

    @cached_property
    def costs(self) -> dict[str, int]:
        """About how many operations an element of each value takes, with those of the operands."""
        found: dict[str, int] = {}
        for operation in self.operations:
            cost = 100
            if operation.kind in _VIEWS or operation.kind.startswith(_ELEMENTWISE):
                is_call = operation.kind.startswith(("UnaryType", "SpecFunc"))
                own = OPERATIONS_OF_A_CALL if is_call else operation.kind not in _VIEWS
                cost = own + sum(found.get(operand.name, 0) for operand in operation.operands)
            found[operation.results[0].name] = cost
        return found


_VIEWS = frozenset({"Slice", "Transpose", "Reshape", "Broadcast", "Sums", "Const", "Size", "Iota", "Empty"})
_ELEMENTWISE = ("UnaryType", "BinaryType", "SpecFunc", "Select", "Cast")
