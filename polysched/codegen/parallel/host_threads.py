"""Sums that a schedule asks to have on threads, or lanes, of the host, where a GPU runs the loop: they run serially.

    for j in 0..n (parallel, reduces s):                for j in 0..n:
        s = s + a[j]                          ->            s = s + a[j]          Compiled.declined says so
"""

from __future__ import annotations

from dataclasses import replace

from polysched.codegen.lowered import changed
from polysched.codegen.parallel.declined import serial
from polysched.ir.node import rewrite
from polysched.ir.nodes import PARALLEL, For, Function

_WHY = "a GPU has no threads of the host: bind it to an axis of the grid"


def without_host_threads(fn: Function) -> Function:
    """`fn` with those loops serial."""

    def rule(node: object) -> For | None:
        if not isinstance(node, For) or not node.reduces or node.kind not in (*PARALLEL, "vector"):
            return None
        return serial(replace(node, body=rewrite(node.body, rule)), _WHY)

    return changed(fn, body=rewrite(fn.body, rule))
