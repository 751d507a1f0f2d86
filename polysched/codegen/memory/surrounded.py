"""Walks to loops that are to be replaced, and knows what is around them."""

from __future__ import annotations

from typing import Any

from polysched.ir.integers.apart import facts_of
from polysched.ir.integers.linear import Linear
from polysched.ir.node import map_children
from polysched.ir.nodes import For, If


class Surrounded:
    """Puts what `replacing` makes of loops in their place."""

    def __init__(self) -> None:
        self.loops: dict[str, For] = {}  # around, outermost first
        self.facts: list[Linear] = []  # forms that are zero or more here

    def replacing(self, loop: For) -> Any | None:
        """What stands in place of the loop; None: what is in it is looked at."""
        raise NotImplementedError

    def visit(self, node: Any) -> Any:
        match node:
            case If(cond=cond, other=()):
                known = len(self.facts)
                self.facts += facts_of(cond)
                inside = map_children(node, self.visit)
                del self.facts[known:]
                return inside
            case For(var=var):
                self.loops[var] = node
                new = self.replacing(node) or map_children(node, self.visit)
                del self.loops[var]
                return new
        return map_children(node, self.visit)
