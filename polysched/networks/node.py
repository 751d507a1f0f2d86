"""A node as its operator sees it: attributes by name, and refusals that name the node.

Attributes that an operator does not ask for are refused, so that none is ignored; those that say what holds by default
are left out when the file is read.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

from polysched.errors import InputError
from polysched.networks.array import Array
from polysched.networks.expressions import Expressions


@dataclass(frozen=True)
class Node:
    """A node; `make` makes its tensors."""

    kind: str
    label: str  # the node in messages
    since: int  # the version of the operator set that its meaning is from
    attributes: Mapping[str, Hashable]  # those that are not the default
    defaults: Mapping[str, Hashable]
    results: int  # how many are asked for, the last of them included
    make: Expressions
    asked: set[str] = field(default_factory=set, compare=False)

    def get(self, name: str, otherwise: Any = None) -> Any:
        """The attribute, or its default, or `otherwise`."""
        self.asked.add(name)
        return self.attributes.get(name, self.defaults.get(name, otherwise))

    def has(self, name: str) -> bool:
        """Is it given?"""
        self.asked.add(name)
        return name in self.attributes

    def choice(self, name: str, *known: str, otherwise: str = "") -> str:
        """The attribute, which is one of the known texts."""
        value = self.get(name, otherwise or known[0])
        if value not in known:
            raise self.refusal(f"attribute {name} is {value!r}", f"{name} may be {', '.join(map(repr, known))}")
        return str(value)

    def integers(self, operand: Array | None, what: str) -> list[int]:
        """The numbers in an operand that decides a shape."""
        return [int(number) for number in self.constant(operand, what).reshape(-1)]

    def constant(self, operand: Array | None, what: str) -> Any:
        """The content of an operand that has to be constant."""
        if operand is None:
            raise self.refusal(f"operand {what} is missing", f"give {what}")
        if operand.known is None:
            hint = f"make {what} an initializer, or give its value as constants={{...}}"
            raise self.refusal(f"operand {what} decides the shape and is no constant", hint)
        return operand.known

    def axis(self, rank: int, otherwise: int = 0, name: str = "axis") -> int:
        """The attribute as a number from 0 on."""
        return self.normalized(int(self.get(name, otherwise)), rank)

    def normalized(self, axis: int, rank: int) -> int:
        if not -rank <= axis < max(rank, 1):
            raise self.refusal(
                f"axis {axis} of an array of {rank} dimensions", f"an axis is from {-rank} to {rank - 1}"
            )
        return axis % rank if rank else 0

    def refusal(self, message: str, hint: str = "") -> InputError:
        return InputError(f"{self.label}: {message}", hint=hint)
