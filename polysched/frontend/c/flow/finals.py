"""What loops leave in their variables, where something reads it.

    for (i = 0; i < n; i++) if (a[i] > x) break;            i = max(0, n)
    b[0] = i;                                       ->      for i_2 in 0..n: if going: if a[i_2] > x: i = i_2, ...
                                                            b[0] = i
"""

from __future__ import annotations

from clang.cindex import CursorKind

from polysched.frontend.c.file.clang import Node
from polysched.frontend.c.file.heads import head_of
from polysched.frontend.c.file.marked import Marked
from polysched.frontend.c.file.names import Key, key, variable
from polysched.frontend.c.variables import Variables, read_after
from polysched.ir.nodes import Binary, Const, Expr, Select


def kept(marked: Marked, variables: Variables) -> frozenset[Key]:
    """Loop variables that are used outside of their loops, in the region or after it."""
    used: set[Key] = set()
    for statement in marked.statements:
        _uses(statement, frozenset(), used)
    return frozenset(
        name
        for name in variables.loops
        if name not in variables.exposed
        and (name in used or name in variables.written or _lives_on(marked, variables, name))
    )


def _lives_on(marked: Marked, variables: Variables, name: Key) -> bool:
    return name not in variables.declared and read_after(marked.path, marked.statements, name) is not None


def _uses(node: Node, inside: frozenset[Key], used: set[Key]) -> None:
    """The variables that are named outside of the loops that they are of."""
    below = list(node.get_children())
    head = head_of(node) if node.kind == CursorKind.FOR_STMT else None
    if head is not None:
        around, inside = inside, inside | {key(head.decl)}
        start, *below = below
        if head.start.node.kind == CursorKind.VAR_DECL or head.before:
            _uses(start, inside, used)
        elif head.start.value is not None:  # its variable is set there, and not read
            _uses(head.start.value, around, used)
    if node.kind == CursorKind.DECL_REF_EXPR and (decl := variable(node)) is not None and key(decl) not in inside:
        used.add(key(decl))
    for child in below:
        _uses(child, inside, used)


def final_value(lo: Expr, hi: Expr, step: int) -> Expr:
    """What the variable holds behind the loop: the first of lo, lo + step, ... that is not before hi."""
    if step == 1:
        return Binary("max", lo, hi)
    if step == -1:
        return Binary("min", lo, hi)
    size = Const(abs(step))
    ahead, op = (Binary("-", hi, lo), "+") if step > 0 else (Binary("-", lo, hi), "-")
    count = Binary("floordiv", Binary("+", ahead, Const(abs(step) - 1)), size)
    return Select(Binary(">", ahead, Const(0)), Binary(op, lo, Binary("*", count, size)), lo)

