"""Flat arrays with the dimensions that their subscripts show.

    out: f32[n * h * w]                          out: f32[n, h, w]
    for b in 0..n:                               for b in 0..n:
        for y in 0..h:                               for y in 0..h:
            for x in 0..w:              ->               for x in 0..w:
                out[(b * h + y) * w + x] = 0                 out[b, y, x] = 0

Rows are found by `model/rows.py`, and shown to hold every subscript; the extent must be a multiple of their length.

Keeps: every element's address, so callers go on to pass flat arrays.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import reduce
from itertools import chain
from typing import Any

from polysched.ir.build import mul
from polysched.ir.dtypes import i64
from polysched.ir.node import map_children, map_list, walk
from polysched.ir.nodes import Alloc, Array, Binary, Const, Expr, Function, Load, Store
from polysched.model.known import Known, Where, accesses
from polysched.model.rows import Rows, rows_of
from polysched.prelude.structure.radix import product_of

_Uses = list[tuple[tuple[Expr, ...], Where]]


def with_dimensions(fn: Function) -> Function:
    """`fn` with rows for subscripts that are not affine, where they have any; the same object if none have."""
    known = Known(dict.fromkeys(fn.sizes, i64))
    arrays = _arrays(fn)
    uses: dict[str, _Uses] = {name: [] for name in arrays}
    for access, where in accesses(fn.body):
        if access.array in uses:
            uses[access.array].append((access.index, where))
    shaped = {name: _rows(array, uses[name], fn, known) for name, array in arrays.items()}
    if not any(any(dimensions) for dimensions in shaped.values()):
        return fn

    def in_rows(node: Any) -> Any:
        if isinstance(node, Load | Store) and any(shaped.get(node.array, ())):
            pairs = zip(node.index, shaped[node.array], strict=True)
            parts = ((index,) if rows is None else rows.subscripts[index] for index, rows in pairs)
            node = replace(node, index=tuple(chain.from_iterable(parts)))
        if isinstance(node, Alloc) and any(shaped.get(node.array.name, ())):
            node = replace(node, array=_shaped(node.array, shaped[node.array.name], fn.sizes))
        return map_children(node, in_rows)

    given = tuple(_shaped(array, shaped[array.name], fn.sizes) for array in fn.arrays)
    return replace(fn, arrays=given, body=map_list(fn.body, in_rows))


def _arrays(fn: Function) -> dict[str, Array]:
    """The parameters, and the temporaries whose name means one array throughout."""
    temporaries = [node.array for node in walk(fn.body) if isinstance(node, Alloc)]
    counts = Counter(array.name for array in (*fn.arrays, *temporaries))
    return {array.name: array for array in (*fn.arrays, *temporaries) if counts[array.name] == 1}


def _rows(array: Array, uses: _Uses, fn: Function, known: Known) -> list[Rows | None]:
    """The rows of each dimension of the array; None for one that stays as it is."""
    found: list[Rows | None] = []
    for k, extent in enumerate(array.shape):
        subscripts = [(index[k], where) for index, where in uses]
        candidates: Iterator[Rows | None] = iter(())
        if any(_multiplies_names(subscript) for subscript, _ in subscripts):
            candidates = (rows_of(subscripts, known, constants=constants) for constants in (False, True))
        found.append(next((rows for rows in candidates if rows and _outermost(extent, rows, fn.sizes)), None))
    return found


def _multiplies_names(subscript: Expr) -> bool:
    products = (node for node in walk(subscript) if isinstance(node, Binary) and node.op == "*")
    return any(not isinstance(product.left, Const) and not isinstance(product.right, Const) for product in products)


def _outermost(extent: Expr, rows: Rows, sizes: tuple[str, ...]) -> Expr | None:
    """How many rows there are; None if that is no product."""
    total, row = product_of(extent, sizes), product_of(reduce(mul, rows.extents), sizes)
    count = total.over(row) if total and row else None
    return None if count is None else count.expression()


def _shaped(array: Array, dimensions: list[Rows | None], sizes: tuple[str, ...]) -> Array:
    shape: list[Expr] = []
    for extent, rows in zip(array.shape, dimensions, strict=True):
        outermost = _outermost(extent, rows, sizes) if rows else None
        shape += [extent] if rows is None or outermost is None else [outermost, *rows.extents]
    return replace(array, shape=tuple(shape))
