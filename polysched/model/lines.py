"""The statements that a line of the source is about: those written there, and those in a loop that begins there.

    4   for (i = 0; i < n; i++)
    5       b[i] = a[i];                statements_at(scop, 4) == statements_at(scop, 5) == {"S0"}
"""

from __future__ import annotations

from polysched.errors import InputError
from polysched.ir.node import walk
from polysched.ir.nodes import For, Stmt
from polysched.model.scop import Scop


def statements_at(scop: Scop, line: int | None) -> frozenset[str]:
    """Their names, or those of all statements without a line; InputError if there are none."""
    statements = (*scop.statements, *scop.dead)
    if line is None:
        return frozenset(s.name for s in statements)
    loops = [node for node in walk(scop.function.body) if isinstance(node, For) and _is_at(node, line)]
    inside = {id(node) for loop in loops for node in walk(loop.body)}
    chosen = frozenset(
        s.name
        for s in statements
        if any(isinstance(node, Stmt) and (_is_at(node, line) or id(node) in inside) for node in walk(s.body))
    )
    if not chosen:
        lines = ", ".join(dict.fromkeys(str(s.loc.line) for s in statements if s.loc))
        raise InputError(f"line {line} has no loop or statement of '{scop.name}'", hint=f"there are: {lines}")
    return chosen


def _is_at(stmt: Stmt, line: int) -> bool:
    return stmt.loc is not None and stmt.loc.line == line
