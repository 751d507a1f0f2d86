"""Zeros around data, in sums of products with it: which of three lowerings each sum gets, by what it costs.

    for i in 0..n: for r in 0..3:
        out[i] = out[i] + (i + r - 1 >= 0 && i + r - 1 < n ? a[i + r - 1] : 0.0) * b[r]

    domain cut      if i + r - 1 >= 0 && i + r - 1 < n: out[i] = out[i] + a[i + r - 1] * b[r]
    padded copy     for x0 in 0..n + 2: a0[x0] = x0 >= 1 && n >= x0 ? a[x0 - 1] : 0.0
                    ...
                    out[i] = out[i] + a0[i + r] * b[r]
    guard           as it is

A copy is exact, and for a CPU a fraction of the work of the sums, all of which then have all terms: they stay in
registers, and no loop has bounds that depend on the element. With few zeros it comes first there, in products of
matrices, too, which pack an element once for each weight that meets it.

A guard costs little where the operand is copied anyway, with zeros in its place: to the shared memory of a GPU, if its
elements are used often (gpu/staging), or packed on a CPU, for a product of matrices (codegen/products) that has no
padded copy; and where it is the same along rows. Elsewhere it stands in the innermost loop.

A cut leaves out the products with zero, and becomes bounds of loops. It is exact for integers; for floats, with
fast_math, or where zero times the other factor is zero (finite.py) and adding zero changes no sum: where the sum starts
at a constant other than -0.0, since a sum, rounded to nearest, is -0.0 only if both its operands are. It is for what a
copy cannot have, as the places between the elements of dilated data, and for GPUs.

Conditions on data stay as they are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from polysched.ir.node import map_list, rewrite, statements, walk
from polysched.ir.nodes import (
    Alloc,
    Binary,
    Call,
    Cast,
    Const,
    Expr,
    For,
    Function,
    If,
    Load,
    Select,
    Stmt,
    Store,
    Var,
)
from polysched.ir.rename import used_names
from polysched.model.loops import trip_count
from polysched.prelude.padding.finite import finite_tables, is_finite
from polysched.prelude.padding.padded_copy import PaddedCopy, padded_copy
from polysched.target import TARGETS, TargetData
from polysched.transform.products import kind_of, sum_of_products

How = Literal["domain cut", "padded copy", "guard"]

_OFTEN = 8  # uses of an element from which on a GPU copies its array to shared memory
_PAYS = 1.5  # terms of a sum for each element of a padded copy
_PAYS_FRESH = 10.0  # the same where each call gets the memory anew from the system, a page at a time
_FEW_ZEROS = 4  # elements of a copy for each of the data, above which a cut leaves out more than a copy saves
_KEPT = 32 << 20  # bytes up to which memory is used again (M_MMAP_THRESHOLD of glibc)


@dataclass(frozen=True)
class Choice:
    """What became of the zeros around an array, and why."""

    array: str
    lowering: How
    why: str

    def __str__(self) -> str:
        return f"{self.array}: {self.lowering}, {self.why}"


@dataclass(frozen=True)
class Lowered:
    """A function, and what became of the zeros in its sums, in their order."""

    function: Function
    choices: tuple[Choice, ...]

    def __str__(self) -> str:
        return "\n".join(map(str, (self.function, *self.choices)))


def lower_padding(fn: Function, target: TargetData = TARGETS["c"], *, fast_math: bool = False) -> Lowered:
    """`fn` with each sum of products with padded data in the lowering that costs least on the target."""
    lowering = _Lowering(fn, target, fast_math)
    body = map_list(fn.body, lowering.outermost)
    return Lowered(fn if body is fn.body else replace(fn, body=body), tuple(dict.fromkeys(lowering.choices)))


@dataclass(frozen=True)
class _Sum:
    """A store that adds a product, of which one factor is an element of padded data, inside of loops."""

    store: Store
    access: Select
    load: Load
    others: tuple[Expr, ...]  # factors
    loops: tuple[For, ...]
    is_guarded: bool

    def of(self, element: Expr) -> Store:
        """The store with `element` in place of the access."""
        new: Store = rewrite(self.store, lambda node: element if node == self.access else None)
        return new

    @property
    def is_packed(self) -> bool:
        """Will a CPU run it as a product of matrices, with packed factors?"""
        extents = {loop.var: trip_count(loop) for loop in self.loops if loop.lo == Const(0)}
        known = {name: trips for name, trips in extents.items() if trips}
        is_box = len(known) == len(self.loops) and not self.is_guarded
        product = sum_of_products(known, (self.store,)) if is_box else None
        return product is not None and kind_of(product, reorder=False) == "packed"

    @property
    def is_same_along_rows(self) -> bool:
        """Does its condition tell whole rows, of the result, from others?"""
        along = [node for node in walk(self.store.index[-1:]) if isinstance(node, Var)]
        return bool(along) and not any(node in along for node in walk(self.access.cond))

    @property
    def uses(self) -> int:
        """How often an element is used, but for windows that overlap; those of unknown number are many."""
        used = {node.name for node in walk(self.access) if isinstance(node, Var)}
        return math.prod(trip_count(loop) or _OFTEN for loop in self.loops if loop.var not in used)

    def pays(self, copy: PaddedCopy) -> bool:
        """Is filling the copy less work than guards are? It is if nothing is known of either."""
        terms = [trip_count(loop) for loop in self.loops]
        elements = _constant_product(copy.array.shape)
        if None in terms or elements is None:
            return True
        is_kept = elements * copy.array.dtype.bits // 8 <= _KEPT
        return math.prod(filter(None, terms)) >= elements * (_PAYS if is_kept else _PAYS_FRESH)


class _Lowering:
    def __init__(self, fn: Function, target: TargetData, fast_math: bool):
        self.sizes, self.target, self.fast_math = fn.sizes, target, fast_math
        self.tables = finite_tables(fn)
        own = (stmt.array for stmt in statements(fn.body) if isinstance(stmt, Alloc))
        self.shapes = {array.name: array.shape for array in (*fn.arrays, *own)}
        self.taken = used_names(fn)
        self.choices: list[Choice] = []
        self.copies: list[PaddedCopy] = []  # that the statement at hand reads
        self.stored: set[str] = set()  # by that statement

    def outermost(self, stmt: Stmt) -> Stmt | tuple[Stmt, ...]:
        """A statement of the function, behind the copies that it reads."""
        self.copies, self.stored = [], {node.array for node in walk(stmt) if isinstance(node, Store)}
        (new,) = self.block((stmt,), (), frozenset())
        return (*(part for copy in self.copies for part in copy.statements), new) if self.copies else new

    def block(self, body: tuple[Stmt, ...], around: tuple[For | If, ...], started: Elements) -> tuple[Stmt, ...]:
        """The statements inside of those around, where the elements `started` are sums that are not -0.0."""

        def lowered(stmt: Stmt) -> Stmt:
            nonlocal started
            started = _started(started, stmt)
            match stmt:
                case For(body=inner):
                    new = self.block(inner, (*around, stmt), started)
                    return stmt if new is inner else replace(stmt, body=new)
                case If(then=then, other=other):
                    first, second = (self.block(part, (*around, stmt), started) for part in (then, other))
                    return stmt if first is then and second is other else replace(stmt, then=first, other=second)
                case Store() if (found := _padded_sum(stmt, around)) is not None:
                    return self.sum(found, is_started=(stmt.array, stmt.index) in started)
            return stmt

        return map_list(body, lowered)

    def sum(self, found: _Sum, *, is_started: bool) -> Stmt:
        """The sum in the lowering that costs least."""
        store, exact = found.store, self.cut_is_exact_since(found, is_started=is_started)
        is_copied_anyway = found.uses >= _OFTEN if self.target.has_grid else found.is_packed
        may_be_copied = not self.target.has_grid and (is_copied_anyway or not found.is_same_along_rows)
        copy = self.copy(found) if may_be_copied else None
        if copy is not None and (self.has_few_zeros(copy, found.load.array) or not (exact or is_copied_anyway)):
            self.copies.append(copy)
            self.choose(found, "padded copy", "so that all sums have as many terms")
            return found.of(copy.element)
        if is_copied_anyway:
            place = "shared memory" if self.target.has_grid else "its packed copy"
            self.choose(found, "guard", f"of zeros in {place}")
            return store
        if exact:
            self.choose(found, "domain cut", f"exact since {exact}")
            return If(found.access.cond, (found.of(found.load),), (), store.loc)
        if found.is_same_along_rows:
            why = "the same along rows, so that it leaves their loops"
        else:
            why = "a predicate of its thread" if self.target.has_grid else "neither cut nor copy is better"
        self.choose(found, "guard", why)
        return store

    def choose(self, found: _Sum, lowering: How, why: str) -> None:
        self.choices.append(Choice(found.load.array, lowering, why))

    def cut_is_exact_since(self, found: _Sum, *, is_started: bool) -> str:
        """Why leaving out the terms with zero changes nothing; empty if it may."""
        if not found.store.value.dtype.is_float:
            return "integers are"
        if self.fast_math:
            return "fast_math has it so"
        match found.others:  # a product of two may not be finite
            case () | (_,) if is_started and all(is_finite(factor, self.tables) for factor in found.others):
                return "the other factor is finite" if found.others else "nothing else is a factor"
        return ""

    def copy(self, found: _Sum) -> PaddedCopy | None:
        """A padded copy that is worth it."""
        array = found.load.array
        if array not in self.shapes or array in self.stored:
            return None
        made = padded_copy(found.access, self.shapes[array], found.loops, self.sizes, self.taken)
        return made if made is not None and found.pays(made) else None

    def has_few_zeros(self, copy: PaddedCopy, array: str) -> bool:
        """Is the copy known to have no more of them than a cut need not leave out?"""
        elements, size = (_constant_product(extents) for extents in (copy.array.shape, self.shapes[array]))
        return elements is not None and size is not None and elements <= _FEW_ZEROS * size


Elements = frozenset[tuple[str, tuple[Expr, ...]]]


def _started(known: Elements, stmt: Stmt) -> Elements:
    """The elements that hold sums other than -0.0 while and after the statement runs."""
    stores = [node for node in walk(stmt) if isinstance(node, Store)]
    lost = {store.array for store in stores if not _adds(store)}
    kept = frozenset(element for element in known if element[0] not in lost)
    match stmt:
        case Store(array, index, Const(value=value)) if value != 0 or math.copysign(1.0, value) > 0:
            return kept | {(array, index)}
    return kept


def _adds(store: Store) -> bool:
    match store.value:
        case Binary("+" | "-", Load(array, index)):
            return (array, index) == (store.array, store.index)
    return False


def _padded_sum(store: Store, around: tuple[For | If, ...]) -> _Sum | None:
    """The store, if it adds a product with an element of padded data, whose place alone decides what is padding."""
    if not _adds(store) or not isinstance(store.value, Binary):
        return None
    factors = list(_factors(store.value.right))
    for k, factor in enumerate(factors):
        match factor:
            case Select(cond, Load() as load, Const(value=0)) if _is_place(cond):
                loops = tuple(stmt for stmt in around if isinstance(stmt, For))
                others = (*factors[:k], *factors[k + 1 :])
                return _Sum(store, factor, load, others, loops, is_guarded=len(loops) < len(around))
    return None


def _constant_product(extents: Sequence[Expr]) -> int | None:
    known = [int(extent.value) for extent in extents if isinstance(extent, Const)]
    return math.prod(known) if len(known) == len(extents) else None


def _is_place(cond: Expr) -> bool:
    return not any(isinstance(node, Load | Call) for node in walk(cond))


def _factors(term: Expr) -> Iterator[Expr]:
    """The factors of a product; of a factor that is cast, which keeps zeros, what is cast."""
    match term:
        case Binary("*", left, right):
            yield from _factors(left)
            yield from _factors(right)
        case Cast(Select() as arg):
            yield arg
        case _:
            yield term
