"""Which elements bodies store and read, where subscripts are affine; and stores that are not needed.

    out[2 * i] = a[i + 1] + sum(a[k], k < m)     stores { [i] -> [2i] }, reads { [i] -> [i + 1] } and { [i] -> [k] }

Updates may change an array in its place, instead of a copy of it:

    c_1 = c_0; c_1[0] = x                       c[0] = x
    v[i] = exp(c_1[i])                  ->      v[i] = exp(c[i])
    c_2 = c_1; c_2[1] = c_1[0] + v[1]           c[1] = c[0] + v[1]

May: what else reads the array comes before the update, and of the update's own reads none is of an element that an
earlier iteration has stored (nor its own iteration, if it is in a reduction, which is summed up in the element).

Dead is what later bodies store again before anything reads it:

    for i in 0..4 * n: out[i] = 0.0                    (dead)
    for i in 0..2 * n: out[2 * i] = a[i]         ->    for i in 0..2 * n: out[2 * i] = a[i]
    for i in 0..2 * n: out[2 * i + 1] = b[i]           for i in 0..2 * n: out[2 * i + 1] = b[i]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from polysched.frontend.tensor.functions import Axis
from polysched.frontend.tensor.inline import Bodies, loads_of, renamed
from polysched.frontend.tensor.tensor import Body, Tensor
from polysched.ir.build import conjunction
from polysched.ir.node import loads
from polysched.ir.nodes import Binary, Const, Expr, Load, Var
from polysched.model.affine import AffineSpace, NotAffine
from polysched.model.loops import sizes_not_negative
from polysched.support import isl


def _stores(body: Body, sizes: Sequence[str]) -> isl.Map:
    """{ [i, j] -> [x, y] }: the elements that are stored; NotAffine if that depends on more than sizes."""
    return _accessed(body, (), body.at, sizes)


def _reads(body: Body, array: str, sizes: Sequence[str]) -> Iterator[tuple[isl.Map, bool]]:
    """The same of each read of an array, and whether it is in a reduction; NotAffine as before."""
    for expr in (*body.at, body.value):
        yield from ((_accessed(body, (), load.index, sizes), False) for load in loads(expr, array))
    for reduction in body.reductions:
        bounds = [bound for axis in reduction.axes for bound in (axis.lo, axis.hi)]
        for expr in (reduction.term, *([] if reduction.where is None else [reduction.where]), *bounds):
            yield from ((_accessed(body, reduction.axes, load.index, sizes), True) for load in loads(expr, array))


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


# --- updates in place

Parts = tuple[tuple[Tensor, Bodies], ...]  # in order; a tensor may have several


def without_copies(parts: Iterable[tuple[Tensor, Bodies]], outputs: Sequence[Tensor], sizes: Sequence[str]) -> Parts:
    """The parts with updates in place of what they copy, where that may be."""
    found = list(parts)
    k = 0
    while k < len(found):
        tensor, bodies = found[k]
        base = _copied(bodies)
        own = [i for i, (other, _) in enumerate(found) if other.name == base]
        if own and _is_ours(found[own[0]][0], outputs) and _may(found, k, base, tuple(sizes)):
            found[k] = (tensor, bodies[1:])
            found = [_in_place_of(part, base, tensor) for part in found]
            k -= _merge(found, own[-1], k)
        k += 1
    return tuple(found)


def _copied(bodies: Bodies) -> str:
    """The array that an update starts as a copy of."""
    match bodies:
        case (Body(value=Load(array, index)) as first, _, *more) if first.is_plain and index == first.at:
            return "" if loads_of(tuple(more), array) else array
    return ""


def _is_ours(tensor: Tensor, outputs: Sequence[Tensor]) -> bool:
    """Does nobody ask for its array?"""
    return tensor not in outputs and tensor.inline is not False


def _may(parts: Sequence[tuple[Tensor, Bodies]], k: int, base: str, sizes: tuple[str, ...]) -> bool:
    """Would it be right that the update of part k changes `base`?"""
    is_read_later = any(loads_of(bodies, base) for _, bodies in parts[k + 1 :])
    return not is_read_later and _reads_what_was(parts[k][1][1], base, sizes)


def _reads_what_was(body: Body, base: str, sizes: tuple[str, ...]) -> bool:
    """Does each iteration read elements that none before it has stored?"""
    if not loads_of((body,), base):
        return True
    try:
        stores, reads = _stores(body, sizes), list(_reads(body, base, sizes))
    except NotAffine:
        return False
    domain = stores.domain()
    before = domain.lex_gt_set(domain)
    not_after = domain.lex_ge_set(domain)
    storing = [(read.apply_range(stores.reverse()), is_summed) for read, is_summed in reads]
    return all(others.is_disjoint(not_after if is_summed else before) for others, is_summed in storing)


def _in_place_of(part: tuple[Tensor, Bodies], base: str, tensor: Tensor) -> tuple[Tensor, Bodies]:
    owner, bodies = part
    return tensor if owner.name == base else owner, tuple(renamed(body, base, tensor.name) for body in bodies)


def _merge(parts: list[tuple[Tensor, Bodies]], first: int, last: int) -> int:
    """Makes two parts of a tensor one, if nothing between them reads it; how many parts that are fewer."""
    tensor, bodies = parts[last]
    if any(loads_of(between, tensor.name) for _, between in parts[first + 1 : last]):
        return 0
    parts[last] = (tensor, (*parts[first][1], *bodies))
    del parts[first]
    return 1


# --- stores that nobody sees


def without_dead_stores(name: str, bodies: Bodies, sizes: Sequence[str]) -> Bodies:
    """The bodies of an array without those whose elements later ones all store anew, unread."""
    for k, body in enumerate(bodies):
        later = bodies[k + 1 :]
        if later and _is_dead(body, later, name, tuple(sizes)):
            return without_dead_stores(name, (*bodies[:k], *later), sizes)
    return bodies


def stored(body: Body, sizes: Sequence[str]) -> isl.Set | None:
    """{ [x, y] }: the elements that are stored; None if that depends on more than sizes."""
    try:
        return _stores(body, sizes).range()
    except NotAffine:
        return None


def _is_dead(body: Body, later: Bodies, name: str, sizes: tuple[str, ...]) -> bool:
    seen = stored(body, sizes)
    if seen is None:
        return False
    for other in later:
        if _may_read(other, name, seen, sizes):
            return False
        over = stored(other, sizes)
        seen = seen if over is None else seen.subtract(over)
    return bool(seen.is_empty())


def _may_read(body: Body, name: str, elements: isl.Set, sizes: tuple[str, ...]) -> bool:
    """Does the body read one of these elements of the array?"""
    if not loads_of((body,), name):
        return False
    try:
        return any(not read.range().is_disjoint(elements) for read, _ in _reads(body, name, sizes))
    except NotAffine:
        return True
