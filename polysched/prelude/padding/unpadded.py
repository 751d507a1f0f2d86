"""Padded copies: windows that are written out read the data itself, with guards, and nothing is copied.

    for x in 0..n + 2: p[x] = -inf
    for x in 0..n: p[x + 1] = a[x]
    for i in 0..n:                                for i in 0..n:
        for r in 0..3:                     ->         for r in 0..3: x = i + r
            out[i] = max(out[i], p[i + r])                out[i] = max(out[i], x >= 1 && x < n + 1 ? a[x - 1] : -inf)

Guards are left at the borders alone (`borders`), where they take longer than a copy of as many elements. What is read
there more often, or by anything else, is stored at once: p[x] = x >= 1 && x < n + 1 ? a[x - 1] : -inf, along lines.

Needs: the copy is an array of the function's own, with a constant beside an array that does not change any more.
Keeps: every value that is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf, prod
from typing import Literal, get_args

from polysched.config.heuristics.nest import TYPICAL_SIZE
from polysched.errors import InputError
from polysched.ir.build import binary, conjunction, sub
from polysched.ir.effects import may_change
from polysched.ir.integers.linear import added, expression
from polysched.ir.node import rewrite, substitute, touches, variables, walk
from polysched.ir.nodes import Alloc, Array, Const, Expr, For, Function, If, Load, Select, Stmt, Store, Var
from polysched.ir.simplify import simplify
from polysched.model.affine import AffineSpace, NotAffine
from polysched.model.known import accesses
from polysched.model.loops import trip_count
from polysched.prelude.edit import NestEdit
from polysched.prelude.macro_statements import macro_statements
from polysched.prelude.padding.padded_copy import linear
from polysched.prelude.uses import iterations
from polysched.support import isl

How = Literal["read in place", "stored once"]
Loops = tuple[For, ...]


def unpad(fn: Function, copy: str, how: How) -> Function:
    """`fn` in which the padded copy of that name is none, but the data itself, with guards, or is "stored once".

    InputError if it is no padded copy, or may be read beyond its ends, or is stored once as it is.
    """
    if how not in get_args(How):
        raise InputError(f"unpad(how={how!r}): how is one of {', '.join(map(repr, get_args(How)))}")
    found = _copy_called(fn, copy)
    if found is None:
        hint = "it is an array of the nest's own, with a constant beside an array that does not change any more"
        raise InputError(f"'{copy}' is no padded copy", hint=hint)
    done = _read_in_place(fn, found) if how == "read in place" else _stored_once(fn, found)
    if done is None:
        why = "may be read beyond its ends" if how == "read in place" else "is stored once as it is"
        raise InputError(f"'{copy}' {why}")
    return done


def copies_to_leave_out(fn: Function) -> tuple[NestEdit, ...]:
    """For each padded copy that is better read in place, or stored once, the edit that makes it so, in order."""
    edits = []
    for name in [stmt.array.name for stmt in fn.body if isinstance(stmt, Alloc) and stmt.array.shape]:
        if (copy := _copy_called(fn, name)) and (how := _better(fn, copy)):
            edits.append(NestEdit("unpad", (name,), (("how", how),)))
            fn = unpad(fn, name, how)
    return tuple(edits)


def _better(fn: Function, copy: _Copy) -> How | None:
    """The better way to have the copy; None for that in which it is."""
    guarded = _read_in_place(fn, copy)
    if guarded is not None:
        written = macro_statements(replace(fn, body=_others(fn, copy)))
        is_flat = all(_is_flat(stmt, (), copy.array.name) for stmt in written.body)
        if is_flat and _loops(macro_statements(guarded)) == _loops(written) and _pays(written, copy):
            return "read in place"
    return "stored once" if _has_a_guard_on_lanes(copy) and _stored_once(fn, copy) is not None else None


@dataclass(frozen=True)
class _Copy:
    """An array that holds `store.value`, data or a constant, for the places that its loops run over, from `made` on."""

    array: Array
    store: Store
    loops: Loops
    made: tuple[Stmt, ...]  # what does so: the loops themselves, or two nests

    def element(self, index: tuple[Expr, ...]) -> Expr:
        """What is there."""
        places = {var.name: at for var, at in zip(self.store.index, index, strict=True) if isinstance(var, Var)}
        value: Expr = substitute(self.store.value, places)
        return value


def _copy_called(fn: Function, name: str) -> _Copy | None:
    """The padded copy of that name, if it is one, of data that nothing changes while it is read."""
    arrays = {stmt.array.name: stmt.array for stmt in fn.body if isinstance(stmt, Alloc) and stmt.array.shape}
    return _copy(fn, arrays[name]) if name in arrays else None


def _copy(fn: Function, array: Array) -> _Copy | None:
    uses = [stmt for stmt in fn.body if touches(stmt, array.name) and not isinstance(stmt, Alloc)]
    nests = [_nest(stmt) for stmt in uses[:2]]
    match nests:
        case [(loops, Store(value=Const() as beside) as all_of_it), (box, Store(value=Load()) as data)]:
            value = _merged(array, loops, all_of_it, box, data, beside)
            found = _Copy(array, replace(all_of_it, value=value), loops, tuple(uses[:2])) if value else None
        case [(loops, Store(value=Select(_, Load(), Const())) as store), *_]:
            found = _Copy(array, store, loops, tuple(uses[:1]))
        case _:
            return None
    if found is None or not _is_all(found.store, found.loops, array):
        return None
    later = fn.body[fn.body.index(found.made[-1]) + 1 :]
    return found if _is_data(found.store.value, array.name, later) else None


def _is_data(value: Expr, copy: str, later: Sequence[Stmt]) -> bool:
    """Is it another array's element or a constant, as places alone decide, and do both arrays stay as they are?"""
    match value:
        case Select(cond, Load(array=data, index=index), _) if data != copy and not may_change(cond, *index):
            return not any(isinstance(node, Store) and node.array in (data, copy) for node in walk(tuple(later)))
    return False


def _nest(stmt: Stmt) -> tuple[Loops, Stmt]:
    """The loops from 0 around one statement, and that."""
    loops: list[For] = []
    while isinstance(stmt, For) and stmt.lo == Const(0) and stmt.step == 1 and len(stmt.body) == 1:
        loops.append(stmt)
        (stmt,) = stmt.body
    return tuple(loops), stmt


def _is_all(store: Store, loops: Loops, array: Array) -> bool:
    """Is each element of the array stored, once?"""
    extents: dict[Expr, Expr] = {Var(loop.var): loop.hi for loop in loops}
    is_each = store.array == array.name and len({*store.index}) == len(store.index) == len(extents)
    return is_each and all(extents.get(at) == extent for at, extent in zip(store.index, array.shape, strict=True))


def _merged(
    array: Array, loops: Loops, all_of_it: Store, box: Loops, data: Store, beside: Const
) -> Select | None:
    """What elements are where a box of them is stored again; None if it is none."""
    extents = {loop.var: loop.hi for loop in box}
    if not (_is_all(all_of_it, loops, array) and data.array == array.name and len(box) == len(data.index)):
        return None
    places: dict[str, Expr] = {}
    inside: list[Expr] = []
    for at, place, extent in zip(data.index, all_of_it.index, array.shape, strict=True):
        offset = linear(at)
        names = [atom.name for atom in offset if isinstance(atom, Var) and atom.name in extents]
        if len(names) != 1 or names[0] in places or offset[Var(names[0])] != 1:
            return None
        first = {atom: factor for atom, factor in offset.items() if factor and atom != Var(names[0])}
        if not all(atom is None or isinstance(atom, Var) for atom in first):
            return None
        end = added(first, linear(extents[names[0]]), 1)
        inside += [binary(">=", place, expression(first))] if first else []
        inside += [binary("<", place, expression(end))] if any(added(linear(extent), end, -1).values()) else []
        places[names[0]] = sub(place, expression(first)) if first else place
    return Select(conjunction(inside), substitute(data.value, places), beside) if inside else None


def _others(fn: Function, copy: _Copy) -> tuple[Stmt, ...]:
    """The statements without those that make the copy."""
    return tuple(
        stmt
        for stmt in fn.body
        if not any(stmt is made for made in copy.made)
        and not (isinstance(stmt, Alloc) and stmt.array.name == copy.array.name)
    )


def _read_in_place(fn: Function, copy: _Copy) -> Function | None:
    """`fn` without the copy, if all that reads it is inside of it for sure."""
    name, kept = copy.array.name, _others(fn, copy)
    if not all(_is_inside(load, loops, copy.array, fn.sizes) for load, loops in _loads(kept, name)):
        return None
    body = rewrite(kept, lambda n: copy.element(n.index) if isinstance(n, Load) and n.array == name else None)
    return replace(fn, body=body)


def _loops(fn: Function) -> int:
    """How many are left: guards may keep windows from being written out."""
    return sum(isinstance(node, For) for node in walk(fn.body))


def _loads(body: tuple[Stmt, ...], name: str) -> Iterator[tuple[Load, Loops]]:
    """The loads of an array, with the loops around them."""
    return ((use, where.loops) for use, where in accesses(body) if isinstance(use, Load) and use.array == name)


def _is_inside(load: Load, loops: Loops, array: Array, sizes: tuple[str, ...]) -> bool:
    """Is the load inside of the array for sure? Its guard would not tell."""
    space = AffineSpace("", tuple(loop.var for loop in loops), sizes)
    ends = zip(load.index, array.shape, strict=True)
    bounds = conjunction(bound for at, end in ends for bound in (binary(">=", at, 0), binary("<", at, end)))
    try:
        return bool(iterations(loops, sizes).is_subset(space.where(bounds)))
    except NotAffine:
        return False


def _is_flat(stmt: Stmt, loops: tuple[str, ...], name: str) -> bool:
    """Do all statements that read the array make an element of their own for each iteration?"""
    match stmt:
        case For(body=body):
            inner = loops if trip_count(stmt) == 1 else (*loops, stmt.var)
            stores = [each for each in body if isinstance(each, Store)]
            is_innermost = any({*inner} <= variables(store.index) for store in stores)
            reads = [each for each in body if touches(each, name) and not isinstance(each, For)]
            return (is_innermost or not reads) and all(_is_flat(each, inner, name) for each in body)
        case If(then=then, other=other):
            return all(_is_flat(each, loops, name) for each in (*then, *other))
    return bool(loops) or not touches(stmt, name)


def _pays(written: Function, copy: _Copy) -> bool:
    """Are there fewer reads in iterations at the borders, each with its guard, than elements to copy?"""
    sizes: dict[str, Expr] = {size: Const(TYPICAL_SIZE) for size in written.sizes}
    extents = simplify(substitute(copy.array.shape, sizes))
    windows: dict[Loops, list[Expr]] = {}  # what holds for reads of data, by the loops around
    for load, loops in _loads(substitute(written.body, sizes), copy.array.name):
        inside = copy.element(load.index)
        assert isinstance(inside, Select)
        windows.setdefault(tuple(replace(loop, body=()) for loop in loops), []).append(substitute(inside.cond, sizes))
    try:
        reads = [_at_borders(loops, conditions) * len(conditions) for loops, conditions in windows.items()]
    except NotAffine:
        return False
    return sum(reads) <= prod(int(extent.value) for extent in extents if isinstance(extent, Const))


def _at_borders(loops: Loops, conditions: Sequence[Expr]) -> float:
    """In how many iterations does one of the conditions not hold? Infinitely many if they are of no box."""
    space = AffineSpace("", tuple(loop.var for loop in loops), ())
    domain = iterations(loops, ())
    inside = domain.intersect(space.where(conjunction(conditions)))
    return isl.box(domain) - isl.box(inside) if domain.is_box() and inside.is_box() else inf


def _has_a_guard_on_lanes(copy: _Copy) -> bool:
    """Do lanes differ in what they store? A guard that is the same for all of them would stand in what the solver may
    make of this nest and of those that read it."""
    assert isinstance(copy.store.value, Select)
    return copy.store.index[-1] in walk(copy.store.value.cond)


def _stored_once(fn: Function, copy: _Copy) -> Function | None:
    """`fn` with one nest that stores all of the copy; None if there is one alone."""
    if len(copy.made) == 1:
        return None
    nest: Stmt = copy.store
    for loop in reversed(copy.loops):
        nest = replace(loop, body=(nest,))
    first, last = copy.made
    return replace(fn, body=tuple(nest if stmt is last else stmt for stmt in fn.body if stmt is not first))
