"""What a pass does not do of what the schedule asks: `Compiled.declined` tells it."""

from __future__ import annotations

from polysched.ir.nodes import For
from polysched.support import trace


def decline(loop: For, reason: str) -> None:
    """The loop will not be of its kind."""
    trace.decline(loop.kind, loop.origin or loop.var, reason)
