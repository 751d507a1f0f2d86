"""How much of each array a nest touches, for those who copy arrays.

    for i in range(k): A[i, 0] = 0.0        with A: f64["n", "m"]      ->      A: k * m elements, from the first on

C does not say how many rows a parameter `double A[n][m]` has in truth; what is touched must be there.
"""

from __future__ import annotations

from polysched.ir.dtypes import boolean
from polysched.ir.nodes import Binary, Const, Expr, Select
from polysched.model.affine import condition, value
from polysched.model.scop import Scop
from polysched.support import isl


def touched_elements(scop: Scop) -> dict[str, Expr]:
    """For each array of the nest, how many elements from its first on hold all that it accesses for `valid_sizes`."""
    touched = {s.get_tuple_name(): s for s in isl.sets_of(scop.reads.union(scop.writes).range())}
    counts: dict[str, Expr] = {}
    for array in scop.function.arrays:
        count: Expr = Const(0 if array.shape else 1)
        if array.shape and array.name in touched:
            count = _rows(touched[array.name], scop.valid_sizes, otherwise=array.shape[0])
        for extent in array.shape[1:]:
            count = Binary("*", count, extent)
        counts[array.name] = count
    return counts


def _rows(touched: isl.Set, sizes: isl.Set, otherwise: Expr) -> Expr:
    """One more than the largest first subscript, or zero if nothing is touched."""
    touched = touched.intersect_params(sizes)
    if not touched.dim_has_upper_bound(isl.dim_type.set, 0):
        return otherwise
    last = touched.dim_max(0).coalesce()
    some = condition(last.domain().gist(sizes))
    rows = value(last.add_constant_val(isl.Val.int_from_si(isl.DEFAULT_CONTEXT, 1)).gist(sizes))
    return rows if some == Const(True, boolean) else Select(some, rows, Const(0))
