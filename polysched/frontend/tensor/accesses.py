"""Which elements of an array the iterations of a body store and read, where subscripts are affine.

out[2 * i] = a[i + 1] + sum(a[k], k < m)     stores { [i] -> [2i] }, reads { [i] -> [i + 1] } and { [i] -> [k] }
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from polysched.frontend.tensor.reduce import Axis
from polysched.frontend.tensor.tensor import Body
from polysched.ir.build import conjunction
from polysched.ir.node import walk
from polysched.ir.nodes import Binary, Const, Expr, Load, Var
from polysched.model.affine import AffineSpace
from polysched.model.loops import sizes_not_negative
from polysched.support import isl


def stored(body: Body, sizes: Sequence[str]) -> isl.Map:
    """{ [i, j] -> [x, y] }: the elements that are stored; NotAffine if that depends on more than sizes."""
    return _accessed(body, (), body.at, sizes)


def read(body: Body, array: str, sizes: Sequence[str]) -> Iterator[tuple[isl.Map, bool]]:
    """The same of each read of an array, and whether it is in a reduction; NotAffine as before."""
    for expr in (*body.at, body.value):
        yield from ((_accessed(body, (), load.index, sizes), False) for load in _loads(expr, array))
    for reduction in body.reductions:
        bounds = [bound for axis in reduction.axes for bound in (axis.lo, axis.hi)]
        for expr in (reduction.term, *([] if reduction.where is None else [reduction.where]), *bounds):
            yield from ((_accessed(body, reduction.axes, load.index, sizes), True) for load in _loads(expr, array))


def _accessed(body: Body, axes: Sequence[Axis], index: Sequence[Expr], sizes: Sequence[str]) -> isl.Map:
    """... for any values of the axes."""
    ranges: list[tuple[str, Expr, Expr]] = [(axis.name, axis.lo, axis.hi) for axis in axes]
    ranges += [(name, Const(0), extent) for name, extent in zip(body.indices, body.extents, strict=True)]
    bounds = (c for name, lo, hi in ranges for c in (Binary("<=", lo, Var(name)), Binary("<", Var(name), hi)))
    relation = elements((*body.indices, *(axis.name for axis in axes)), bounds, index, sizes)
    return relation.project_out(isl.dim_type.in_, len(body.indices), len(axes))


def elements(
    iterators: Iterable[str], conditions: Iterable[Expr], index: Sequence[Expr], sizes: Sequence[str]
) -> isl.Map:
    """{ [i, j] -> [x, y] }: the elements at these subscripts, where all of the conditions hold; NotAffine as before."""
    space = AffineSpace("", tuple(iterators), tuple(sizes))
    relation = isl.Map.from_domain_and_range(space.where(conjunction(conditions)), isl.Set("{ [] }"))
    for subscript in index:
        relation = relation.flat_range_product(isl.Map.from_pw_aff(space.function(subscript)))
    return relation.intersect_params(sizes_not_negative(space.sizes))


def _loads(expr: Expr, array: str) -> list[Load]:
    return [node for node in walk(expr) if isinstance(node, Load) and node.array == array]
