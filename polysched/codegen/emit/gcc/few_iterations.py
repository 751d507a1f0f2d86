"""Sums over loops that run few times, nobody knows how few: gcc 12 may add too many terms.

    for i in 0..min(n, 2):                  for (...) {
        for j in 0..4:           ->             __asm__ volatile ("");
            s[0] = s[0] + b[i * 4 + j]          for (...) { s[0] += b[i * 4 + j]; }

With -O3 -fwrapv gcc unrolls the inner loop, adds the terms of several iterations from vectors, in their order, and
counts the iterations wrong where a vector holds as many as there can be. A loop with an asm statement in it is no
vector.
"""

from __future__ import annotations

from polysched.codegen.emit.gcc.overwriting import is_unrolled
from polysched.ir.integers.linear import constant_of, forms
from polysched.ir.node import loads, statements
from polysched.ir.nodes import Binary, For, Stmt, Store


def sums_of_few_iterations(body: tuple[Stmt, ...]) -> frozenset[int]:
    """The id() of each loop of few iterations, their number not a constant, with a sum in unrolled loops inside."""
    loops = (node for node in statements(body) if isinstance(node, For) and not _is_constant(node))
    short = (loop for loop in loops if is_unrolled(loop) and _unrolls(loop))
    return frozenset(id(loop) for loop in short if any(map(_is_sum, loop.body)))


def _unrolls(loop: For) -> bool:
    """Is every loop inside unrolled?"""
    return all(_is_constant(node) and is_unrolled(node) for node in statements(loop.body) if isinstance(node, For))


def _is_constant(loop: For) -> bool:
    spans = forms(Binary("-", loop.hi, loop.lo), upper=True)
    return None not in map(constant_of, spans)


def _is_sum(stmt: Stmt) -> bool:
    """Does a loop in the statement add up floats?"""
    loops = (node for node in statements(stmt) if isinstance(node, For))
    stores = (node for loop in loops for node in statements(loop.body) if isinstance(node, Store))
    return any(store.value.dtype.is_float and loads(store.value, store.array) for store in stores)
