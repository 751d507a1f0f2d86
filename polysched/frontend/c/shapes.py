"""The shapes of the arrays of a region: extents that the declaration leaves open, and rows found in A[i * n + j].

    double *A, for (i = 0; i < n; i++) A[i] = ...      A: f64[n]
    double *A, A[i * m + j] with 0 <= j < m            A: f64[n, m], A[i, j]
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial, reduce

from polysched.frontend.c.declarations import is_restrict
from polysched.frontend.c.elements import UNKNOWN
from polysched.frontend.c.expressions import Expressions
from polysched.frontend.c.opaque.state import Kept
from polysched.frontend.c.proofs import Proofs, c_text
from polysched.frontend.c.variables import is_pointer
from polysched.ir.dtypes import i64
from polysched.ir.node import rewrite, walk
from polysched.ir.nodes import Array, Binary, Const, Expr, Load, Stmt, Store, Var
from polysched.model.affine import NotAffine, expression
from polysched.model.known import Where, accesses
from polysched.model.rows import Rows, rows_of
from polysched.support import clock, isl

_EXTENT_SECONDS = 4.0  # to find the extents of all arrays of a region, in equal shares; what takes longer is unknown
_LONG = 60  # nodes of an extent, above which a larger one, without remainders, does as well
_ENDLESS = 1 << 40  # the extent of an array that no declaration and no loop bounds: more elements than memory has


def shaped(body: tuple[Stmt, ...], read: Expressions) -> tuple[tuple[Stmt, ...], dict[str, Array]]:
    """The body with rows for subscripts, and the arrays with all their extents."""
    arrays = dict(read.arrays)
    for name, node in read.products.items():
        rows = rows_of(_uses(name, body), read.proofs, named=read.variables.products)
        if rows is None and read.opaque is not None:
            raise Kept(read.variables.decls[name])
        if rows is None:
            message = f"subscript '{read.source.text(node)}' of '{name}' is not affine, and shows no rows"
            hint = f"write {name}[i * n + j] with j from 0 to n - 1, or declare {name}[][n]"
            raise read.source.error(node, message, hint)
        body = _with_rows(body, name, rows)
        arrays[name] = replace(arrays[name], shape=(UNKNOWN, *rows.extents))
    deadline = clock.Deadline.after(_EXTENT_SECONDS)
    outermost = {name: array.shape[0] for name, array in arrays.items() if array.shape}
    unknown = [name for name, extent in outermost.items() if extent == UNKNOWN or not _is_affine(extent, read.proofs)]
    for k, name in enumerate(unknown):
        with clock.running(deadline.left / (len(unknown) - k)):
            extent = _extent(name, body, read)
        arrays[name] = replace(arrays[name], shape=(extent, *arrays[name].shape[1:]))
    for name, limit in read.wraps.items():
        _assume_products_fit(arrays[name], limit, read)
    return body, arrays


def _uses(name: str, body: tuple[Stmt, ...]) -> list[tuple[Expr, Where]]:
    """The first subscripts of an array, and where they stand."""
    return [(access.index[0], where) for access, where in accesses(body) if access.array == name]


def _with_rows(body: tuple[Stmt, ...], name: str, rows: Rows) -> tuple[Stmt, ...]:
    def rule(node: Expr | Stmt) -> Expr | Stmt | None:
        if isinstance(node, Load | Store) and node.array == name:
            return replace(node, index=rows.subscripts[node.index[0]])
        return None

    return rewrite(body, rule)


def _is_affine(extent: Expr, proofs: Proofs) -> bool:
    try:
        proofs.space(Where(), (extent,)).function(extent)
    except NotAffine:
        return False
    return True


# --- the outermost extent


def _extent(name: str, body: tuple[Stmt, ...], read: Expressions) -> Expr:
    """One more than the largest first subscript; a size of its own where that is unknown."""
    extent = extent_of(_uses(name, body), read.proofs)
    return _unknown_extent(name, body, read) if extent is None else extent


def extent_of(uses: Iterable[tuple[Expr, Where]], proofs: Proofs) -> Expr | None:
    """One more than the largest of these subscripts; None where that is unknown."""
    extents: list[Expr] = []
    for subscript, where in uses:
        largest = partial(_largest, subscript, where, proofs)
        most = isl.decided(largest, unknown=None, seconds=clock.left())
        if most is None:
            return None
        extents.append(most)
    kept: list[Expr] = []
    for extent in dict.fromkeys(extents):
        if not any(_is_at_most(extent, other, proofs) for other in kept):
            kept = [other for other in kept if not _is_at_most(other, extent, proofs)] + [extent]
    return reduce(lambda one, other: Binary("max", one, other), kept)


def _largest(subscript: Expr, where: Where, proofs: Proofs) -> Expr | None:
    """An affine expression in sizes that is not negative and above the subscript, the least one unless that is long,
    as where strides cut off the end; None if it has no bound."""
    space = proofs.space(where, (subscript,))
    try:
        value = space.function(subscript)
    except NotAffine:
        return None
    values = isl.Map.from_pw_aff(value).intersect_domain(proofs.instances(where, space)).range()
    if values.is_empty():
        return Const(0)
    extent = _above(values, space.sizes, proofs)
    if extent is None:
        return None
    if _nodes(extent) > _LONG:
        larger = _above(values.remove_divs(), space.sizes, proofs)
        extent = min(extent, larger, key=_nodes) if larger is not None else extent
    return extent if proofs.shows(Binary(">=", extent, Const(0)), Where()) else Binary("max", extent, Const(0))


def _nodes(extent: Expr) -> int:
    return sum(1 for _ in walk(extent))


def _above(values: isl.Set, sizes: tuple[str, ...], proofs: Proofs) -> Expr | None:
    """One more than the largest of these values; None if there is none."""
    try:
        most = values.dim_max(0)
    except isl.Error:
        if isl.is_exhausted():
            raise
        return None
    above = most.add_constant_val(isl.Val(1))
    simple = above.gist(above.domain()).coalesce()
    build = isl.AstBuild.from_context(proofs.ranges(sizes) if simple.n_piece() == 1 else above.domain().params())
    return expression(build.expr_from_pw_aff(simple), {size: Var(size) for size in sizes})


def _is_at_most(one: Expr, other: Expr, proofs: Proofs) -> bool:
    return proofs.shows(Binary("<=", one, other), Where())


def _unknown_extent(name: str, body: tuple[Stmt, ...], read: Expressions) -> Expr:
    """A size that is as large as can be; InputError where the array may overlap another one, for all that C's types
    of variables say, of which one is written."""
    variables, array = read.variables, read.arrays[name]
    decl, written = variables.decls[name], {node.array for node in walk(body) if isinstance(node, Store)}
    is_apart = is_restrict(decl) or not is_pointer(decl)
    for other in () if is_apart else (each for each in read.arrays.values() if each.name != name):
        is_own = not other.shape and not variables.is_exposed(variables.decls[other.name])
        is_other = not is_own and other.space == "global" and not variables.differ(array, other)
        if is_other and {name, other.name} & written:
            if read.opaque is not None:
                raise Kept(decl)
            message = f"nothing shows how far '{decl.spelling}' reaches, so whether it overlaps another array"
            raise read.source.error(decl, message, f"declare it restrict, or with its extent, as in {decl.spelling}[n]")
    variables.unbounded.add(name)
    size = variables.fresh(f"{name}_extent")
    variables.sizes.add(size)
    variables.types[size] = i64
    variables.expressions[size] = f"{_ENDLESS}LL"
    return Var(size)


# --- unsigned subscripts


def _assume_products_fit(array: Array, limit: int, read: Expressions) -> None:
    """The number of elements bounds every subscript: if it fits in the type of the subscripts, none of them wraps."""
    outer, *rows = (c_text(extent, read.variables.expressions) for extent in array.shape)
    empty = "".join(f"{row} == 0 || " for row in rows)
    read.proofs.assumptions.append(f"({empty}{outer} <= {limit}{''.join(f' / {row}' for row in rows)})")
