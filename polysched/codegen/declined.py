"""What a pass does not do of what the schedule asks: `Compiled.declined` tells it."""

from __future__ import annotations

from polysched import trace
from polysched.ir.nodes import For


def decline(loop: For, reason: str) -> None:
    """The loop will not be of its kind."""
    trace.decline(loop.kind, loop.origin or loop.var, reason)
