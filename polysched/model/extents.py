"""How long an array must be; and whether a new one takes no more memory than one that is there, for all sizes at which
the nest has work.

    for i in range(n): ... a[i, j] ...      with a: f64[1000, 1200]     ->     n <= 1000, checked at each call

so that an element for each i fits along the first dimension of a. Texts need not agree: 'n' and '1000' do not.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from itertools import permutations

from polysched.ir.node import walk
from polysched.ir.nodes import Alloc, Array, Binary, Const, Expr, Function
from polysched.model.affine import AffineSpace, sizes_where, value
from polysched.model.scop import Scop
from polysched.support import isl


def largest(subscripts: isl.Set) -> isl.Val:
    """The largest of { [x] } for any sizes; infinite if there is none."""
    return subscripts.project_out_all_params().dim_max_val(0)


def extent(subscripts: isl.Set, context: isl.Set) -> Expr:
    """One more than the largest of { [x] }, in the sizes, or of all sizes, if it depends on them in several ways; where
    there is none, zero."""
    if subscripts.is_empty():
        return Const(0)
    length = subscripts.dim_max(0).coalesce().add_constant_val(isl.Val(1)).gist(context)
    pieces = length.get_pieces()
    if len(pieces) > 1 and (last := largest(subscripts)).is_int():
        return Const(last.to_python() + 1)
    alone = isl.PwAff.from_aff(pieces[0][1]) if len(pieces) == 1 else None
    if alone is not None and context.is_subset(alone.nonneg_set()):
        return value(alone)
    return Binary("max", value(length), Const(0))


def fits_an_array(extents: tuple[Expr, ...], arrays: Iterable[Array], known: isl.Set, sizes: tuple[str, ...]) -> bool:
    """Is each extent at most that of a dimension of its own of one of the arrays, for all the sizes `known`?

    False if there are no such sizes.
    """
    return not known.is_empty() and any(
        all(_is_within(extent, dimension, known, sizes) for extent, dimension in zip(extents, chosen, strict=True))
        for array in arrays
        for chosen in permutations(array.shape, len(extents))
    )


def sizes_that_run(scop: Scop, array: str) -> isl.Set:
    """The sizes at which all accesses are in bounds, and every statement that touches the array runs.

    Others do not count where memory is judged: with m = 0, no a[i, k] with k < m says what n may be.
    """
    users = [s for s in scop.statements if any(access.array == array for access in s.accesses)]
    return reduce(isl.Set.intersect, (s.domain.params() for s in users), scop.valid_sizes)


def sizes_that_fit(scop: Scop, source: Function) -> isl.Set:
    """The sizes that keep accesses in bounds, at which no array that `source` does not declare, and the nest of `scop`
    does, needs more memory than one of the user's.

    These are all of them, unless that was judged by what runs, above. Elsewhere little runs: the source may do it.
    """
    fn, known = scop.function, scop.valid_sizes
    declared = {(node.array.name, node.array.shape) for node in walk(source.body) if isinstance(node, Alloc)}
    own = [node.array for node in walk(fn.body) if isinstance(node, Alloc) and node.array.shape]
    for array in own:
        if (array.name, array.shape) not in declared and not _always_fits(array, scop):
            known = known.intersect(sizes_that_run(scop, array.name))
    return known


def _always_fits(array: Array, scop: Scop) -> bool:
    fn = scop.function
    conditions = [Binary(">", extent, Const(0)) for extent in array.shape]
    if not AffineSpace("", (), fn.sizes).has(*conditions):
        return False
    some = reduce(isl.Set.intersect, (sizes_where(each, fn.sizes) for each in conditions), scop.valid_sizes)
    return some.is_empty() or fits_an_array(array.shape, fn.arrays, some, fn.sizes)


def _is_within(extent: Expr, dimension: Expr, known: isl.Set, sizes: tuple[str, ...]) -> bool:
    condition, space = Binary("<=", extent, dimension), AffineSpace("", (), sizes)
    return extent == dimension or (space.has(condition) and bool(known.is_subset(sizes_where(condition, sizes))))
