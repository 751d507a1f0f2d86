"""Where the elements of an array stand that the nest or an edit has made: in another order, in the place of others, or
with room between rows.

    transform_layout("t", "i, j -> j, i")       t[i, j]  ->  t[j, i]         columns next to each other
    fold_storage("t", size=2)                   t[i, j]  ->  t[i % 2, j]     two rows, used by turns
    pad("t", 1)                                 t: f64[32, 32]  ->  f64[32, 33], so that a column of 32-bit words is not
                                                all in one bank of shared memory

Each read must get the value that it got before: elements share a place where one is dead before the other is born
(Lefebvre and Feautrier, Parallel Computing 24, 1998).

Where an array that belongs to a loop lives: in a thread, in a block of threads, or in the memory of all.

An array in global memory belongs to no loop: all iterations have the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial, reduce

from polysched.config.heuristics.nest import FOLDED_SIZES
from polysched.deps.arrivals import scoped_arrays
from polysched.errors import IllegalSchedule, InputError
from polysched.frontend.python_expressions import parse_formula
from polysched.ir.build import add, floormod, var
from polysched.ir.node import substitute
from polysched.ir.nodes import Array, Binary, Const, Expr, Var
from polysched.ir.simplify import simplify
from polysched.ir.text import show
from polysched.model.affine import AffineSpace, NotAffine, element_names, is_name
from polysched.model.extents import extent
from polysched.model.scop import Scop
from polysched.support import isl
from polysched.transform.edits.base.draft import Draft
from polysched.transform.edits.base.edit import Alternative, Step, first_legal
from polysched.transform.edits.base.graft import without_arrays
from polysched.transform.edits.base.loops import loops
from polysched.transform.edits.base.registry import by_name, edit
from polysched.transform.edits.base.same_values import require_same_values
from polysched.transform.edits.values.cache import privatize
from polysched.transform.edits.values.copies import moved
from polysched.transform.edits.values.storage import SCOPES, Scope, own_array, with_array


@edit("values", "")
def transform_layout(draft: Draft, array: str, layout: str) -> Draft:
    """The elements of an array in other places, as in "i, j -> j, i" or "i, j -> i // 8, j, i % 8".

    `layout` names the subscripts, and says by affine expressions of them, // and % by constants too, what they become;
    the shape follows. InputError if neither the nest nor an edit has made the array, or a new subscript is negative;
    IllegalSchedule if a value would be overwritten before it is read, since two elements have one place.

        t: f64[n, m]                  t: f64[m, n]
        t[i, j] = ...          ->     t[j, i] = ...                  transform_layout("t", "i, j -> j, i")
    """
    old, what = own_array(draft, array), f"transform_layout({array}, {layout})"
    parsed = _parsed(layout, old, draft.scop.function.sizes)
    places = _places(parsed, old, draft, what)
    return _laid_out(draft, replace(old, shape=_shape(old, places, draft.scop)), parsed, places, what)


@edit("values", "")
def fold_storage(draft: Draft, array: str, axis: int = 0, size: int = 0) -> Draft:
    """`size` elements of an array along a dimension, used by turns; without it, the least power of two that will do.

    What a sliding window or a step of time no longer needs makes room for what comes next. InputError if neither the
    nest nor an edit has made the array, or it has no such dimension, or no more elements along it; IllegalSchedule if a
    value would be overwritten before it is read, with the two iterations.

        t: f64[n]                     t: f64[2]
        for i:                        for i:
            t[i] = a[i]        ->         t[i % 2] = a[i]
            b[i] = t[i - 1] + t[i]        b[i] = t[(i - 1) % 2] + t[i % 2]         fold_storage("t")
    """
    old = own_array(draft, array)
    _require_dimension(old, axis)
    if size < 0:
        raise InputError(f"an array cannot have {size} elements", hint="leave the size out for the least that will do")
    names, length = element_names(len(old.shape)), old.shape[axis]
    if not size and draft.unshown is not None:
        raise InputError(f"how many elements of '{array}' will do is not known before the edits so far are checked")
    sizes: Sequence[int] = (size,) if size else FOLDED_SIZES
    if isinstance(length, Const):
        sizes = [each for each in sizes if each < length.value]
    if not sizes:
        raise InputError(f"'{array}' has {show(length)} elements along dimension {axis}: there is nothing to fold")

    def folded(size: int) -> Draft:
        what = f"fold_storage({array}, {axis}, size={size})"
        subscripts: list[Expr] = [var(name) for name in names]
        subscripts[axis] = floormod(subscripts[axis], size) if size > 1 else Const(0)
        shape = list(old.shape)
        shape[axis] = Const(size)
        layout = _Layout(names, tuple(subscripts))
        return _laid_out(draft, replace(old, shape=tuple(shape)), layout, _places(layout, old, draft, what), what)

    *fewer, most = sizes
    for each in fewer:
        with suppress(IllegalSchedule):
            return folded(each)
    return folded(most)


@edit("values", "")
def pad(draft: Draft, array: str, dim: int = -1, extra: int = 1) -> Draft:
    """A small array with `extra` more elements along a dimension, which nothing uses; always legal.

    InputError if neither the nest nor an edit has made the array, or if it has no such dimension.

        A_c: f64[32, 32]    ->    A_c: f64[32, 33]                   pad("A_c", 1)
    """
    old = own_array(draft, array)
    _require_dimension(old, dim)
    if extra < 1:
        raise InputError(f"pad by {extra} elements changes nothing, or takes some away", hint="give a positive number")
    shape = list(old.shape)
    shape[dim] = simplify(add(shape[dim], extra))
    return replace(draft, scop=with_array(draft.scop, replace(old, shape=tuple(shape))))


def _require_dimension(array: Array, axis: int) -> None:
    rank = len(array.shape)
    if not -rank <= axis < rank:
        raise InputError(f"'{array.name}' has no dimension {axis}", hint=f"it has {rank}, counted from 0")


@dataclass(frozen=True)
class _Layout:
    """New subscripts, in terms of the old ones."""

    names: tuple[str, ...]
    places: tuple[Expr, ...]

    def of(self, index: Sequence[Expr]) -> tuple[Expr, ...]:
        values = dict(zip(self.names, index, strict=True))
        return tuple(substitute(each, values) for each in self.places)


def _parsed(text: str, array: Array, sizes: tuple[str, ...]) -> _Layout:
    left, arrow, right = text.partition("->")
    names = tuple(name.strip() for name in left.split(","))
    hint = f"name the {len(array.shape)} subscripts of '{array.name}', and say what they become, as in 'i, j -> j, i'"
    if not arrow or len(names) != len(array.shape) or len({*names, *sizes}) < len(names) + len(sizes):
        raise InputError(f"'{text}' is no layout of '{array.name}'", hint=hint)
    if not all(is_name(name) for name in names):
        raise InputError(f"'{text}' is no layout of '{array.name}': a subscript needs a name", hint=hint)
    return _Layout(names, tuple(parse_formula(each.strip(), [*names, *sizes]) for each in right.split(",")))


def _places(layout: _Layout, array: Array, draft: Draft, what: str) -> isl.Map:
    """{ t[i, j] -> t[j, i] }"""
    space = AffineSpace(array.name, layout.names, draft.scop.function.sizes)
    try:
        parts = [isl.Map.from_pw_aff(space.function(each)) for each in layout.places]
    except NotAffine as error:
        hint = "use sums, multiples by constants, and // and % by constants"
        raise InputError(f"{what}: not affine: {error.expr}", hint=hint) from None
    return reduce(isl.Map.flat_range_product, parts).set_tuple_name(isl.dim_type.out, array.name)


def _laid_out(draft: Draft, new: Array, layout: _Layout, places: isl.Map, what: str) -> Draft:
    """The draft with the array of that name in this layout, and shape."""
    scop = draft.scop
    statements = tuple(
        moved(statement, new.name, layout.of, lambda used: used.apply_range(places), new.name)
        for statement in scop.statements
    )
    edited = with_array(replace(scop, statements=statements), new)
    return require_same_values(draft, edited, draft.nested, scop.domain.identity(), what, only={new.name})


def _shape(array: Array, places: isl.Map, scop: Scop) -> tuple[Expr, ...]:
    """The extents that hold all places of the elements."""
    space = AffineSpace(array.name, element_names(len(array.shape)), scop.function.sizes)
    inside = space.universe.intersect_params(scop.context)
    for name, length in zip(space.iterators, array.shape, strict=True):
        try:
            inside = inside.intersect(space.where(Binary("<", Var(name), length)))
        except NotAffine:
            hint = "a new layout needs extents that are affine in the sizes"
            raise InputError(f"'{array.name}' has the extent {show(length)}", hint=hint) from None
        inside = inside.intersect(space.where(Binary(">=", Var(name), Const(0))))
    taken = inside.apply(places)
    sides = [isl.along(taken, k) for k in range(taken.dim(isl.dim_type.set))]
    for k, side in enumerate(sides):
        if not side.is_subset(isl.Set("{ [x] : x >= 0 }")):
            message = f"subscript {k} of '{array.name}' would be negative"
            raise InputError(message, hint="add what makes the least one zero")
    return tuple(extent(side, scop.context) for side in sides)


@edit("values", "")
def set_scope(draft: Draft, array: str, scope: Scope) -> Draft:
    """A small array in "private" (or "local"), "shared" or "global" memory.

    InputError if no edit has made the array, or it belongs to no loop; IllegalSchedule if iterations overwrite each
    other's values in global memory.

        double A_c[32];     ->    __shared__ double A_c[32];         set_scope("A_c", "shared")
    """
    space = by_name("scope", scope, SCOPES)
    changed = replace(own_array(draft, array), space=space)
    scop, tree = with_array(draft.scop, changed), draft.nested
    if space == "global":
        tree = without_arrays(tree, {array})
    elif array not in scoped_arrays(tree):
        raise InputError(f"'{array}' belongs to no loop", hint=first_legal(_at_a_loop(draft, array, scope)))
    return require_same_values(draft, scop, tree, scop.domain.identity(), f"set_scope({array}, {scope})")


def _at_a_loop(draft: Draft, array: str, scope: str) -> Iterator[Alternative]:
    """One for each iteration of a loop around all that uses the array, outermost first."""
    users = {s.name for s in draft.scop.statements if any(a.array == array for a in s.accesses)}
    for place in loops(draft.nested):
        if users <= set(place.statements):
            own = {} if SCOPES[scope] == "private" else {"scope": scope}
            step = Step.of(privatize, array, at=place.name, **own)
            yield f"{step.text} makes one for each iteration", partial(step.edit, draft)
