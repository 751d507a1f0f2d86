"""Arrays of pointers to rows, as one array where all rows are as far from each other.

    double **R;                                 R: f64[n, R_row], where R_row is R[1] - R[0], and
    for (i = 0; i < n; i++)             ->      R[i] == R[0] + i * R_row for all i, which is tested
        for (j = 0; j < m; j++)                 when the kernel is called, as is m <= R_row
            R[i][j] = 0;

So the rows are apart, and overlaps with other arrays are tested as those of any array. Pointers are read in that test
which the text reads, too: all from the first row that it uses to the last. Where it leaves some out at some sizes, as
R[i - 1] and R[i + 1] leave out R[1] of three, the kernel is not called; InputError where it may do so at usual sizes.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce

from polysched.errors import InputError
from polysched.frontend.c.expressions import Expressions
from polysched.frontend.c.proofs import Proofs, c_text, is_usual
from polysched.frontend.c.region import Rows
from polysched.frontend.c.shapes import extent_of
from polysched.frontend.c.variables import is_pointer
from polysched.ir.node import walk
from polysched.ir.nodes import Array, Expr, Stmt, Store, Var
from polysched.model.affine import NotAffine, expression
from polysched.model.known import Where, accesses, narrowed
from polysched.support import clock, isl

_SECONDS = 2.0  # for the rows of one array
_BETWEEN = ("{ [a] -> [x] : a <= x }", "{ [a] -> [x] : x <= a }")


def pointer_rows(body: tuple[Stmt, ...], arrays: dict[str, Array], read: Expressions) -> Iterator[Rows]:
    """The arrays of pointers of a region, whose shapes are known."""
    for name in sorted(read.variables.rows.keys() & arrays.keys()):
        yield _rows(name, body, arrays, read)


def _rows(name: str, body: tuple[Stmt, ...], arrays: dict[str, Array], read: Expressions) -> Rows:
    variables, rank = read.variables, len(arrays[name].shape)
    decl = variables.decls[name]

    def refused(why: str) -> InputError:
        message = f"the elements of '{decl.spelling}' are pointers, and {why}"
        return read.source.error(decl, message, f"declare it as one array, as in double {decl.spelling}[n][m]")

    if max(variables.rows[name]) != rank - 1:
        raise refused("they lead to arrays of several dimensions")
    stored = {node.array for node in walk(body) if isinstance(node, Store)} & arrays.keys()
    writers = (each for each in sorted(stored) if variables.may_alias(arrays[each].dtype, None))
    if writer := next((each for each in writers if is_pointer(variables.decls[each])), None):
        raise refused(f"a store to '{writer}' may change them")
    uses = [(access.index, where) for access, where in accesses(body) if access.array == name]
    found = isl.decided(lambda: _box(uses, rank - 1, read.proofs), unknown=None, seconds=_SECONDS)
    if found is None:
        raise refused("which of its rows are used depends on data, or is no range")
    box, holes = found
    if not holes.is_empty():
        whole = holes.complement()
        test = read.proofs.text(whole, _sizes(box)) if is_usual(whole, _sizes(box)) else ""
        if not test:
            raise refused("which of its rows are used depends on data, or is no range")
        read.proofs.assumptions.append(test)
    with clock.running(_SECONDS):
        least = extent_of(((index[-1], where) for index, where in uses), read.proofs)
    bounds = [bound for k in range(rank - 1) if (bound := _bounds(box, k, read.proofs)) is not None]
    is_used = read.proofs.text(box.params(), _sizes(box))
    if least is None or not is_used or len(bounds) < rank - 1:
        raise refused("how many there are is no sum of parameters")
    return Rows(
        array=name,
        pointers=decl.spelling,
        first=variables.own(f"{name}_first"),
        ranges=tuple((c_text(lo, variables.expressions), c_text(hi, variables.expressions)) for lo, hi in bounds),
        extents=tuple(c_text(extent, variables.expressions) for extent in arrays[name].shape[1:]),
        distances=dict(sorted(variables.rows[name].items())),
        least=c_text(least, variables.expressions),
        is_used=is_used,
    )


def _box(
    uses: list[tuple[tuple[Expr, ...], Where]], rank: int, proofs: Proofs
) -> tuple[isl.Set, isl.Set] | None:
    """The box around the first subscripts of all accesses, and the sizes, { : ... }, at which these may not be all of
    it; None if that is at all sizes."""
    may: list[isl.Set] = []
    must: list[isl.Set] = []
    for index, where in uses:
        space = proofs.space(where, index[:rank])
        known, is_exact = space.universe, True
        for condition in where.conditions:
            known, is_affine = narrowed(known, condition, space)
            is_exact = is_exact and is_affine
        try:
            functions = [isl.Map.from_pw_aff(space.function(subscript)) for subscript in index[:rank]]
        except NotAffine:
            return None
        elements = reduce(isl.Map.flat_range_product, functions).intersect_domain(known).range()
        elements = elements.intersect_params(proofs.ranges(space.sizes))
        may.append(elements)
        must += [elements] if is_exact else []
    if not must:
        return None
    surely, perhaps = reduce(isl.Set.union, must), reduce(isl.Set.union, may)
    box = reduce(isl.Set.flat_product, (_hull(surely, k) for k in range(rank)))
    holes = box.subtract(surely).union(perhaps.subtract(box)).params()
    holes = holes if holes.is_empty() else holes.remove_divs().coalesce()
    return None if box.params().is_subset(holes) and not box.is_empty() else (box.coalesce(), holes)


def _one(box: isl.Set, k: int) -> isl.Set:
    rank = box.dim(isl.dim_type.set)
    return box.project_out(isl.dim_type.set, k + 1, rank - k - 1).project_out(isl.dim_type.set, 0, k)


def _hull(box: isl.Set, k: int) -> isl.Set:
    """All from the least to the greatest of one dimension."""
    one = _one(box, k)
    above, below = (one.apply(isl.Map(each)) for each in _BETWEEN)
    return above.intersect(below)


def _sizes(box: isl.Set) -> tuple[str, ...]:
    return tuple(str(box.get_dim_name(isl.dim_type.param, k)) for k in range(box.dim(isl.dim_type.param)))


def _bounds(box: isl.Set, k: int, proofs: Proofs) -> tuple[Expr, Expr] | None:
    """The first and one more than the last of a dimension, where there are any."""
    one, sizes = _one(box, k), _sizes(box)
    try:
        ends = one.dim_min(0), one.dim_max(0).add_constant_val(isl.Val(1))
    except isl.Error:
        if isl.is_exhausted():
            raise
        return None
    found = []
    for end in ends:
        simple = end.gist(end.domain()).coalesce()
        build = isl.AstBuild.from_context(proofs.ranges(sizes).intersect(end.domain().params()))
        found.append(expression(build.expr_from_pw_aff(simple), {size: Var(size) for size in sizes}))
    return found[0], found[1]
