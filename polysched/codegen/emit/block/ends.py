"""Loops that a flag ends: nothing is done any more once it is false, so that printers leave them.

    for i in 0..n:                      for (...) {
        if going: ...           ->          if (!going) break;
                                            if (going) ...
"""

from __future__ import annotations

from polysched.ir.dtypes import boolean
from polysched.ir.node import flattened, loaded, statements, stored, variables
from polysched.ir.nodes import Alloc, Barrier, Expr, For, If, Let, Load


def goes_while(loop: For) -> Expr | None:
    """What all iterations of a serial loop test of data that they write, and do nothing where it is false."""
    *before, last = loop.body
    own = {loop.var, *(stmt.name for stmt in before if isinstance(stmt, Let))}
    own |= {stmt.array.name for stmt in before if isinstance(stmt, Alloc)}
    is_quiet = all(isinstance(stmt, Let | Alloc) for stmt in before) and loop.kind == "serial"
    if not (is_quiet and isinstance(last, If) and not last.other):
        return None
    if any(isinstance(node, Barrier) for node in statements(loop.body)):
        return None
    for part in flattened(last.cond, "&&"):
        match part:
            case Load(array, index, dtype) if dtype == boolean and array in stored(last.then) - own:
                if own.isdisjoint(variables(index)) and not loaded(index):
                    return part
    return None
