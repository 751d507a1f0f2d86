"""Zeros around data: which of the lowerings of zeros.py each sum gets, by what it costs on the target.

A copy is a fraction of the work of the sums for a CPU, all of which then have all terms: they stay in registers, and no
loop has bounds that depend on the element. With few zeros it comes first there, in products of matrices, too, which
pack an element once for each weight that meets it.

A guard costs little where the operand is copied anyway, with zeros in its place: to the shared memory of a GPU, if its
elements are used often (codegen/gpu/staging), or packed on a CPU, for a product of matrices (codegen/products) that has
no padded copy; and where it is the same along rows. Elsewhere it stands in the innermost loop.

A cut is for what a copy cannot have, as the places between the elements of dilated data, and for GPUs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from inspect import signature
from itertools import zip_longest

from polysched.config.heuristics.nest import COPY_PAYS, FEW_ZEROS, FRESH_COPY_PAYS, KEPT_BYTES, OFTEN
from polysched.config.target import TargetData
from polysched.ir.node import variables, walk
from polysched.ir.nodes import Const, Expr, Function, Var
from polysched.ir.rename import used_names
from polysched.model.loops import trip_count
from polysched.prelude.edit import NestEdit
from polysched.prelude.padding.padded_copy import PaddedCopy
from polysched.prelude.padding.zeros import (
    How,
    PaddedSum,
    copy_for,
    cut_is_exact_since,
    finite_tables,
    padded_sums,
    sums_around,
    zeros,
)
from polysched.transform.analysis.products import kind_of, sum_of_products


def lowerings_of_zeros(fn: Function, target: TargetData, *, fast_math: bool = False) -> tuple[NestEdit, ...]:
    """For each array with zeros around it, the edit that costs least on the target, to be made in order."""
    edits: dict[str, NestEdit] = {}
    while left := [found.load.array for found in padded_sums(fn) if found.load.array not in edits]:
        sums, tables = sums_around(fn, left[0]), finite_tables(fn)
        chosen = [_lowering(found, fn, target, fast_math) for found in sums]
        hows, whys = zip(*(chosen[:1] if len({*chosen}) == 1 else chosen), strict=True)
        how = hows[0] if len(hows) == 1 else hows
        cuts = [found for found, (lowering, _) in zip(sums, chosen, strict=True) if lowering == "domain cut"]
        is_exact = all(cut_is_exact_since(cut, tables, fast_math=False) for cut in cuts)
        given = (("how", how), *(() if is_exact else (("fast_math", True),)))
        edits[left[0]] = NestEdit("zeros", (left[0],), given, "; ".join(whys))
        fn = zeros(fn, left[0], how, fast_math)
    return tuple(edits.values())


def said_of_zeros(edits: Sequence[NestEdit]) -> str:
    """What became of the zeros around each array, and why."""
    said = []
    for edit in edits:
        if edit.name == "zeros":
            given = signature(zeros).bind(None, *edit.args, **dict(edit.kwargs)).arguments
            hows = [given["how"]] if isinstance(given["how"], str) else given["how"]
            reasons = [f", {why}" for why in edit.why.split("; ") if why]
            said += [f"{given['data']}: {how}{why}" for how, why in zip_longest(hows, reasons, fillvalue="")]
    return "; ".join(dict.fromkeys(said))


def _lowering(found: PaddedSum, fn: Function, target: TargetData, fast_math: bool) -> tuple[How, str]:
    """The lowering that costs least, and why."""
    exact = cut_is_exact_since(found, finite_tables(fn), fast_math=fast_math)
    is_copied_anyway = _uses(found) >= OFTEN if target.has_grid else _is_packed(found)
    may_be_copied = not target.has_grid and (is_copied_anyway or not _is_same_along_rows(found))
    copy = copy_for(found, fn, used_names(fn)) if may_be_copied else None
    if copy is not None and _pays(found, copy) and (_has_few_zeros(found, copy) or not (exact or is_copied_anyway)):
        return "padded copy", "so that all sums have as many terms"
    if is_copied_anyway:
        return "guard", f"of zeros in {'shared memory' if target.has_grid else 'its packed copy'}"
    if exact:
        return "domain cut", f"exact since {exact}"
    if _is_same_along_rows(found):
        return "guard", "the same along rows, so that it leaves their loops"
    return "guard", "a predicate of its thread" if target.has_grid else "neither cut nor copy is better"


def _is_packed(found: PaddedSum) -> bool:
    """Will a CPU run it as a product of matrices, with packed factors?"""
    extents = {loop.var: trip_count(loop) for loop in found.loops if loop.lo == Const(0)}
    known = {name: trips for name, trips in extents.items() if trips}
    is_box = len(known) == len(found.loops) and not found.is_guarded
    product = sum_of_products(known, (found.store,)) if is_box else None
    return product is not None and kind_of(product, reorder=False) == "packed"


def _is_same_along_rows(found: PaddedSum) -> bool:
    """Does its condition tell whole rows, of the result, from others?"""
    along = [node for node in walk(found.store.index[-1:]) if isinstance(node, Var)]
    return bool(along) and not any(node in along for node in walk(found.access.cond))


def _uses(found: PaddedSum) -> int:
    """How often an element is used, but for windows that overlap; those of unknown number are many."""
    used = variables(found.access)
    return math.prod(trip_count(loop) or OFTEN for loop in found.loops if loop.var not in used)


def _pays(found: PaddedSum, copy: PaddedCopy) -> bool:
    """Is filling the copy less work than guards are? It is if nothing is known of either."""
    terms = [trip_count(loop) for loop in found.loops]
    elements = _constant_product(copy.array.shape)
    if None in terms or elements is None:
        return True
    is_kept = elements * copy.array.dtype.bits // 8 <= KEPT_BYTES
    return math.prod(filter(None, terms)) >= elements * (COPY_PAYS if is_kept else FRESH_COPY_PAYS)


def _has_few_zeros(found: PaddedSum, copy: PaddedCopy) -> bool:
    """Is the copy known to have no more of them than a cut need not leave out?"""
    elements, size = (_constant_product(extents) for extents in (copy.array.shape, found.shape or ()))
    return elements is not None and size is not None and elements <= FEW_ZEROS * size


def _constant_product(extents: Sequence[Expr]) -> int | None:
    known = [int(extent.value) for extent in extents if isinstance(extent, Const)]
    return math.prod(known) if len(known) == len(extents) else None
