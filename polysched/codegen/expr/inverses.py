"""Quotients by what stays in a loop, as products with its inverse: under `fast_math`.

    for j in 0..d:                              for j in 0..d:
        out[j] = e[j] / s[i]            ->          out[j] = e[j] * (1 / s[i])

The C compiler then divides once, before the loop. It would not rewrite the quotient itself, short of flags that say
more than `fast_math` does. A quotient is rounded once more, and is infinite where the inverse of the divisor is.

Needs: names are bound once.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from polysched.ir.build import const
from polysched.ir.effects import stays
from polysched.ir.node import map_children, stored
from polysched.ir.nodes import Binary, Const, Expr, For, Function
from polysched.ir.rename import bound_names


def with_inverses(fn: Function) -> Function:
    """`fn` with products in place of the quotients of floats that each iteration makes by the same number."""
    return map_children(fn, lambda node: _rewritten(node, None))


def _rewritten(node: Any, loop: For | None) -> Any:
    around = node if isinstance(node, For) else loop
    node = map_children(node, lambda child: _rewritten(child, around))
    match node:
        case Binary("/", left, right) if loop and node.dtype.is_float and not isinstance(right, Const):
            if _stays(right, loop) and not _stays(left, loop):
                return replace(node, op="*", right=Binary("/", const(1.0, node.dtype), right))
    return node


def _stays(expr: Expr, loop: For) -> bool:
    """Has it the same value in all iterations of the loop, and may it be computed without them?"""
    return stays(expr, {loop.var, *bound_names(loop.body)}, stored(loop.body))
