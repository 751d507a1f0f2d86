"""When loops around each other have an iteration at all, so that what their bodies update may be loaded before them.

    for c in 0..p:                                           0 < p && max(0, l) < min(16, n)
        for k in max(16 * c, l)..min(16 * c + 16, n):        no: 16 * c + 16 - l grows with c
        for k in 16 * c..min(16 * c + 16, n):                0 < p && 0 < min(16, n)
"""

from __future__ import annotations

from collections.abc import Sequence

from polysched.codegen.memory.tile_nest import mentions
from polysched.ir.build import binary
from polysched.ir.integers.linear import added, forms
from polysched.ir.node import substitute, variables
from polysched.ir.nodes import Expr, For, Var


def runs_when(loops: Sequence[For]) -> list[Expr] | None:
    """Conditions that hold if the loops, outermost first, run their body; None where the first iterations of the outer
    ones do not tell."""
    firsts: dict[str, Expr] = {}  # of loops whose bounds stay
    own, conditions = {loop.var for loop in loops}, []
    for loop in loops:
        moving = variables((loop.lo, loop.hi)) & own
        if not moving <= firsts.keys() or loop.step < 1 or not all(_is_longest_at_first(loop, name) for name in moving):
            return None
        lo, hi = substitute((loop.lo, loop.hi), firsts)
        conditions.append(binary("<", lo, hi))
        if not moving:
            firsts[loop.var] = loop.lo
    return conditions


def _is_longest_at_first(loop: For, outer: str) -> bool:
    """Does no upper bound move away from a lower one while the outer loop, which steps forward, runs?"""
    spans = (added(high, low, -1) for low in forms(loop.lo, upper=False) for high in forms(loop.hi, upper=True))
    return all(span.pop(Var(outer), 0) <= 0 and not mentions(span, [outer]) for span in spans)
