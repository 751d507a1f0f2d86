"""Blocks of iterations and what is in a block, as one loop: the way kernels are written for a GPU.

    for b in 0..floordiv(h * w + 255, 256):
        for t in 0..256:                                for p in 0..h * w:
            if b * 256 + t < h * w:             ->          out[p] = a[p]
                out[b * 256 + t] = a[b * 256 + t]

Needs: products of sizes far enough below 2^63 to be rounded up to blocks.
Keeps: the order of all iterations, every load and store.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from polysched.ir.node import rewrite, variables
from polysched.ir.nodes import PARALLEL, Binary, Const, Expr, For, Function, If, Stmt, Var
from polysched.prelude.structure.radix import Product, product_of


def rejoined(fn: Function, fresh: Iterator[str]) -> tuple[Function, dict[Expr, Expr]]:
    """`fn` with blocks rejoined, the same object if it has none; and the new variable for each `b * 256 + t`."""
    joined: dict[Expr, Expr] = {}

    def rule(stmt: Any) -> Stmt | None:
        return _one_loop(stmt, fn.sizes, fresh, joined) if isinstance(stmt, For) else None

    body = rewrite(fn.body, rule)
    return (replace(fn, body=body) if joined else fn), joined


def _one_loop(blocks: For, sizes: tuple[str, ...], fresh: Iterator[str], joined: dict[Expr, Expr]) -> For | None:
    match blocks:
        case For(b, Const(0), count, 1, (For(t, Const(0), Const(int(width)), 1, (If(cond, then, ()),)) as threads,)):
            pass
        case _:
            return None
    kind = _kind(blocks.kind, threads.kind)
    match cond:
        case Binary("<", index, end) | Binary(">", end, index) if _is_index(index, b, width, t):
            total = product_of(end, sizes)
            if kind is None or total is None or not _covers(count, width, total, sizes):
                return None
        case _:
            return None
    var = Var(next(fresh))
    inside = rewrite(then, lambda node: var if node == index else None)
    if variables(inside) & {b, t}:
        return None
    joined[index] = var
    return For(var.name, Const(0), end, 1, inside, kind, blocks.loc)


def _kind(blocks: str, threads: str) -> str | None:
    """That of the one loop; None if these are not to be joined."""
    if blocks.startswith("block.") and threads.startswith("thread."):
        return "parallel"
    return blocks if blocks == threads and blocks in ("serial", *PARALLEL) else None


def _is_index(expr: Expr, b: str, width: int, t: str) -> bool:
    """b * width + t, in any order"""
    match expr:
        case Binary("+", Binary("*", Var(one), Const(times)) | Binary("*", Const(times), Var(one)), Var(other)):
            return (one, times, other) == (b, width, t)
        case Binary("+", Var(), Binary("*") as product):
            return _is_index(Binary("+", product, expr.left), b, width, t)
    return False


def _covers(count: Expr, width: int, total: Product, sizes: tuple[str, ...]) -> bool:
    """Are so many blocks of that width enough for the total?"""
    match count:
        case Binary("floordiv" | "truncdiv", Binary("+", end, Const(more)), Const(divisor)):
            pass
        case Binary("floordiv" | "truncdiv", Binary("-", Binary("+", end, Const(above)), Const(less)), Const(divisor)):
            more = above - less
        case Binary("+", Binary("floordiv" | "truncdiv", Binary("-", end, Const(1)), Const(divisor)), Const(1)):
            more = divisor - 1
        case _:
            return False
    return (more, divisor) == (width - 1, width) and product_of(end, sizes) == total
