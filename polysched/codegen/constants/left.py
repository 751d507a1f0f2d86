"""What is left of statements without those that make some temporaries.

    a: f64[n]
    for i in 0..n:                              for i in 0..n:
        t = w[i]                    ->              y[i] = a[i]         without what makes a
        a[i] = t
        y[i] = a[i]
"""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from polysched.ir.build import branch
from polysched.ir.effects import may_be_dropped
from polysched.ir.node import rewrite, variables
from polysched.ir.nodes import Alloc, For, If, Let, Stmt, Store


def without(body: tuple[Stmt, ...], names: Set[str]) -> tuple[Stmt, ...]:
    """The statements without what makes these temporaries, and without names that were for that alone."""

    def rule(node: Any) -> Any:
        match node:
            case Store(array) if array in names:
                return ()
            case Alloc(array) if array.name in names:
                return ()
            case For(body=()):
                return ()
            case If(cond, (), other, loc):
                return branch(cond, (), other, loc)
            case Let(name, value) if name not in used and may_be_dropped(value):
                return ()
        return None

    used = variables(body)
    while (left := rewrite(body, rule)) != body:
        body, used = left, variables(left)
    return body
