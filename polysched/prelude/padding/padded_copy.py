"""An array with zeros beside it: a copy of the box that the subscripts of a piecewise access run through.

    for i in 0..n: for r in 0..3:
        ... (i + r - 1 >= 0 && i + r - 1 < n ? a[i + r - 1] : 0.0) ...      is a_0[i + r], with

    alloc a_0: private f32[n + 2]
    for x0 in 0..n + 2:
        a_0[x0] = x0 >= 1 && n >= x0 ? a[x0 - 1] : 0.0

Needs: each condition is an edge of the array; subscripts that have one are linear in the loops and sizes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from polysched.ir.build import binary, conjunction, sub
from polysched.ir.dtypes import i64
from polysched.ir.integers.linear import Linear, added, expression, forms, never_negative
from polysched.ir.node import flattened
from polysched.ir.nodes import Alloc, Array, Binary, Const, Expr, For, Load, Select, Stmt, Store, Var
from polysched.ir.rename import fresh_names
from polysched.ir.simplify import simplify


@dataclass(frozen=True)
class PaddedCopy:
    """The copy, the loops that fill it, and the element of it that is read in place of the access."""

    array: Array
    fill: Stmt
    element: Load

    @property
    def statements(self) -> tuple[Stmt, ...]:
        return (Alloc(self.array), self.fill)


def padded_copy(
    access: Select, shape: Sequence[Expr], loops: Sequence[For], sizes: Sequence[str], taken: set[str]
) -> PaddedCopy | None:
    """The copy that `access` may read inside of the loops, of an array of this shape; None if there is none.

    Its names are none of those `taken`, which grow by them.
    """
    load = access.then
    edges = _edges_of(access, shape)
    if edges is None or not isinstance(load, Load):
        return None
    names = fresh_names("x", taken)
    place: list[Expr] = [Var(next(names)) for _ in shape]
    extents, index, source = list(shape), list(load.index), list(place)
    for k in dict.fromkeys(edge.dimension for edge in edges):
        own = linear(load.index[k])
        first, last = (_end(own, loops, sizes, upper=upper) for upper in (False, True))
        if first is None or last is None:
            return None
        extents[k] = _extent(added(last, first, -1))
        index[k] = simplify(sub(load.index[k], expression(first)))
        source[k] = simplify(binary("+", place[k], expression(first)))
    both = [_Edge(k, is_last) for k in dict.fromkeys(edge.dimension for edge in edges) for is_last in (False, True)]
    inside = conjunction(never_negative(edge.form(source, shape)) for edge in both)  # what is around may say the rest
    array = Array(next(fresh_names(f"{load.array}_", taken)), load.dtype, tuple(extents), "private")
    fill: Stmt = Store(array.name, tuple(place), Select(inside, replace(load, index=tuple(source)), access.other))
    for var, extent in reversed(list(zip(place, extents, strict=True))):
        assert isinstance(var, Var)
        fill = For(var.name, Const(0), extent, 1, (fill,))
    return PaddedCopy(array, fill, Load(array.name, tuple(index), load.dtype))


def is_zero_outside(access: Select, shape: Sequence[Expr]) -> bool:
    """Is it an element of an array of this shape, and zero only where that would be beyond an edge?"""
    other = access.other
    is_zero = isinstance(other, Const) and other.value == 0 and math.copysign(1.0, other.value) > 0
    return is_zero and _edges_of(access, shape) is not None


@dataclass(frozen=True)
class _Edge:
    """Where an array ends along a dimension: before its first element, or after its last."""

    dimension: int
    is_last: bool

    def form(self, index: Sequence[Expr], shape: Sequence[Expr]) -> Linear:
        """Zero or more where an element is not beyond it."""
        own = linear(index[self.dimension])
        if not self.is_last:
            return _cleared(own)
        return _cleared(added(added(linear(shape[self.dimension]), own, -1), {None: 1}, -1))


def _edges_of(access: Select, shape: Sequence[Expr]) -> list[_Edge] | None:
    """The edges that the conditions of the access say its element is not beyond; None if one says anything else."""
    load = access.then
    if not isinstance(load, Load):
        return None
    known = [_Edge(k, is_last) for k in range(len(shape)) for is_last in (False, True)]
    found = []
    for condition in flattened(access.cond, "&&"):
        form = _never_negative_in(condition)
        own = [edge for edge in known if edge.form(load.index, shape) == form]  # several of a[i - 1, i - 1]
        if not own:
            return None
        found += own
    return found


def _never_negative_in(condition: Expr) -> Linear | None:
    """What is zero or more where the comparison holds, and nowhere else."""
    match condition:
        case Binary("<" | "<=" | ">" | ">=" as op, left, right) if left.dtype == i64:
            above, below = (left, right) if op.startswith(">") else (right, left)
            return _cleared(added(added(linear(above), linear(below), -1), {None: int("=" not in op)}, -1))
    return None


def _extent(reach: Linear) -> Expr:
    """How many elements there are up to one so far from the first; none for loops that do not run."""
    found = simplify(expression(added(reach, {None: 1}, 1)))
    return found if isinstance(found, Const) else binary("max", found, 0)


def linear(expr: Expr) -> Linear:
    """The expression as a form; as one atom if it has extrema."""
    found = forms(expr, upper=True)
    return found[0] if len(found) == 1 else {expr: 1}


def _cleared(form: Linear) -> Linear:
    return {atom: factor for atom, factor in form.items() if factor}


def _end(form: Linear, loops: Sequence[For], sizes: Sequence[str], *, upper: bool) -> Linear | None:
    """The least or greatest value of the form in the loops; None if it is not linear in them and sizes."""
    for loop in reversed(loops):
        var = Var(loop.var)
        if factor := form.get(var, 0):
            if loop.step != 1:
                return None
            is_last = (factor > 0) == upper
            end = linear(loop.hi if is_last else loop.lo)
            form = added(added(added(form, {var: factor}, -1), end, factor), {None: factor if is_last else 0}, -1)
    is_known = all(isinstance(atom, Var) and atom.name in sizes for atom in _cleared(form) if atom is not None)
    return _cleared(form) if is_known else None
