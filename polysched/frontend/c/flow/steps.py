"""`k++` and `--k` inside of expressions, as statements after them and before them.

    a[k++] = b[--m];            m = m - 1; a[k] = b[m]; k = k + 1

Where it is stepped in any case, and named nowhere else in the statement: C says nothing of the order otherwise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from clang.cindex import CursorKind

from polysched.frontend.c.expressions import Expressions
from polysched.frontend.c.file.clang import Node, bare, children, is_integer, operands, operator, unary_operator
from polysched.frontend.c.file.names import key, mentions, variable

_STEPS = ("post++", "post--", "++", "--")


def steps_in(read: Expressions, node: Node, *, is_value: bool) -> list[Node]:
    """The steps in an expression whose value is used, or below one, that can be done beside it; any other is left to be
    refused."""
    found = [step for step in _steps(bare(node), is_value) if _is_local(read, step)]
    counts = Counter(key(decl) for _, decl in mentions(node)) if found else Counter()
    return [step for step in found if counts[key(variable(children(step)[0]))] == 1]


def _steps(node: Node, is_below: bool) -> Iterator[Node]:
    if is_below and unary_operator(node) in _STEPS:
        yield node
        return
    if node.kind in (CursorKind.CXX_UNARY_EXPR, CursorKind.StmtExpr) or (operator(node) == "," and not is_below):
        return
    below = operands(node)
    if operator(node) in ("&&", "||", ",") or node.kind == CursorKind.CONDITIONAL_OPERATOR:
        below = below[:1]
    for child in below:
        yield from _steps(child, True)


def _is_local(read: Expressions, step: Node) -> bool:
    """Is it an integer that nobody else sees?"""
    decl = variable(children(step)[0])
    is_plain = decl is not None and is_integer(step) and children(step)[0].kind == CursorKind.DECL_REF_EXPR
    return is_plain and decl is not None and not read.variables.is_exposed(decl)
